import type { NodeListStub } from '@waybill/model';
import type { ServerCommand } from '../command-spec.js';
import { Display, VERBOSE_FLAG } from '../terminal/display.js';
import { DATA_FLAGS } from '../terminal/data-printer.js';
import { resolveNodePool } from '../nodes/node-pool.js';
import { LIST_FLAGS, printPage } from '../flags/pagination.js';
import { table } from '../terminal/table.js';

/** Lists the nodes of a node pool (CL-531). */
export const command: ServerCommand = {
  usage: '<pool>',
  description: 'Lists the nodes of a pool.\n\nNeeds the capability node:read.',
  flags: [...LIST_FLAGS, ...DATA_FLAGS, VERBOSE_FLAG],
  takes: { min: 1, max: 1, otherwise: 'This command takes one argument: <node-pool>' },
  async run(call) {
    const { Name } = await resolveNodePool(call, call.args[0] ?? '');
    const display = Display.of(call);
    const path = `/v1/node/pool/${encodeURIComponent(Name)}/nodes`;
    return printPage<NodeListStub>(call, {
      path,
      doing: 'querying nodes',
      none: 'No nodes',
      tableOf: (nodes) =>
        table([
          ['ID', 'DC', 'Name', 'Class', 'Drain', 'Eligibility', 'Status'],
          ...nodes.map((node) => [
            display.id(node.ID),
            node.Datacenter,
            node.Name,
            node.NodeClass,
            String(node.Drain),
            node.SchedulingEligibility,
            node.Status,
          ]),
        ]),
    });
  },
};
