import type { Call, ServerCommand } from '../command-spec.js';
import { NO_ARGUMENTS } from '../command-spec.js';
import { SECRET_FLAG, withSecrets } from '../volumes/csi-secrets.js';
import { VERBOSE_FLAG } from '../terminal/display.js';
import { CommandFailure, failed } from '../failure.js';
import { paginationHint } from '../flags/pagination.js';
import { pluginMeant } from '../volumes/plugin-stub.js';
import { type SnapshotAnswer, snapshotTable } from '../operator/snapshot-table.js';

const PAGE = 30;

/** Lists the snapshots of a plugin's provider, page by page (CL-712). */
export const command: ServerCommand = {
  usage: '',
  description: 'Lists the snapshots of a provider.\n\nNeeds the capability csi-list-volume.',
  flags: [
    { name: 'plugin', kind: 'text', value: 'id', help: 'Plugin whose provider is queried.' },
    { name: 'per-page', kind: 'integer', value: 'n', help: `Rows per page (${PAGE}).` },
    { name: 'page-token', kind: 'text', value: 'token', help: 'Token of the page, as printed after the previous one.' },
    SECRET_FLAG,
    VERBOSE_FLAG,
  ],
  takes: NO_ARGUMENTS,
  run,
};

async function run(call: Call): Promise<number> {
  const { api, flags, terminal } = call;
  const given = flags.text('plugin') ?? '';
  const plugin = await pluginMeant(api, given);
  if (!plugin) throw new CommandFailure(`No plugins(s) with prefix or ID "${given}" found`);
  const query = {
    plugin_id: plugin.ID,
    per_page: flags.integer('per-page') ?? PAGE,
    next_token: flags.text('page-token'),
  };
  const { value } = await withSecrets(api, flags)
    .get<{ Snapshots: SnapshotAnswer[] | null; NextToken: string }>('/v1/volumes/snapshot', query)
    .catch((error: unknown) => {
      throw failed('querying CSI external snapshots for plugin', error);
    });
  const snapshots = value.Snapshots ?? [];
  if (snapshots.length === 0) return 0;
  terminal.print(snapshotTable(snapshots, call));
  if (value.NextToken) terminal.print(paginationHint(call, value.NextToken));
  return 0;
}
