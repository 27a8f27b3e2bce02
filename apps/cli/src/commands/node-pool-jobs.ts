import type { JobListStub } from '@waybill/model';
import type { ServerCommand } from '../command-spec.js';
import { DATA_FLAGS } from '../terminal/data-printer.js';
import { jobTable } from '../jobs/job-table.js';
import { resolveNodePool } from '../nodes/node-pool.js';
import { LIST_FLAGS, printPage } from '../flags/pagination.js';

/** Lists the jobs of a node pool (CL-531). */
export const command: ServerCommand = {
  usage: '<pool>',
  description: 'Lists the jobs of a pool.\n\nNeeds the capability list-jobs.',
  flags: [...LIST_FLAGS, ...DATA_FLAGS],
  takes: { min: 1, max: 1, otherwise: 'This command takes one argument: <node-pool>' },
  async run(call) {
    const { Name } = await resolveNodePool(call, call.args[0] ?? '');
    const withNamespace = call.api.connection.namespace === '*';
    return printPage<JobListStub>(call, {
      path: `/v1/node/pool/${encodeURIComponent(Name)}/jobs`,
      doing: 'querying jobs',
      none: 'No jobs',
      tableOf: (jobs) => jobTable(jobs, { withNamespace }),
    });
  },
};
