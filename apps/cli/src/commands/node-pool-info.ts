import type { NodePool } from '@waybill/model';
import { formatDuration } from '@waybill/model/duration';
import type { Call, ServerCommand } from '../command-spec.js';
import { DATA_FLAGS } from '../terminal/data-printer.js';
import { failed } from '../failure.js';
import { resolveNodePool } from '../nodes/node-pool.js';
import { sortedList } from '../nodes/node-sections.js';
import { keyValues } from '../terminal/table.js';

export const command: ServerCommand = {
  usage: '<pool>',
  description: 'Shows a node pool.',
  flags: [...DATA_FLAGS],
  takes: { min: 1, max: 1, otherwise: 'This command takes one argument: <node-pool>' },
  run,
};

/** Shows a node pool, its metadata and its scheduler configuration (CL-531). */
async function run(call: Call): Promise<number> {
  const { api, terminal, args } = call;
  const { Name } = await resolveNodePool(call, args[0] ?? '');
  const pool = await api.get<NodePool>(`/v1/node/pool/${encodeURIComponent(Name)}`).catch((error: unknown) => {
    throw failed('retrieving node pool', error);
  });
  if (call.data) {
    call.data(pool.exact);
    return 0;
  }
  const { Description, NodeIdentityTTL, Meta, SchedulerConfiguration } = pool.value;
  const ttl = NodeIdentityTTL > 0 ? ([['Node Identity TTL', formatDuration(NodeIdentityTTL)]] as const) : [];
  terminal.print(keyValues([['Name', Name], ['Description', Description], ...ttl]));
  terminal.section('Metadata');
  terminal.print(Object.keys(Meta ?? {}).length > 0 ? sortedList(Meta) : 'No metadata');
  terminal.section('Scheduler Configuration');
  terminal.print(schedulerText(SchedulerConfiguration));
  return 0;
}

/** Describes the scheduler configuration of the pool, if it differs from the cluster's. */
const schedulerText = (configuration: NodePool['SchedulerConfiguration'] | undefined): string =>
  configuration
    ? keyValues([
        ['Scheduler Algorithm', configuration.SchedulerAlgorithm],
        ['Memory Oversubscription Enabled', String(configuration.MemoryOversubscriptionEnabled ?? '')],
      ])
    : 'No scheduler configuration';
