import type { ApiClient } from '../server/api-client.js';
import { causeOf, isInterrupt } from '../failure.js';
import { plugins } from './plugin-stub.js';
import { table } from '../terminal/table.js';
import type { Terminal } from '../terminal/terminal.js';

const PAGE = 30;
const CONDITION_WIDTH = 20;
/** Error of some plugins for a page after the last one. */
const END_OF_DATA = 'EOF';

interface ExternalVolumeAnswer {
  readonly ExternalID: string;
  readonly PublishedExternalNodeIDs: readonly string[] | null;
  readonly IsAbnormal: boolean;
  readonly Status: string;
}
interface Page {
  readonly Volumes: readonly ExternalVolumeAnswer[] | null;
  readonly NextToken: string;
}

/** Prints the volumes of the plugins' providers, plugin by plugin (CL-702). Resolves with the failures of plugins. */
export async function printExternalVolumes(
  api: ApiClient,
  terminal: Terminal,
  id: (external: string) => string,
): Promise<readonly string[]> {
  const failures: string[] = [];
  for (const plugin of await plugins(api, '')) {
    if (plugin.ControllerRequired !== true || (plugin.ControllersHealthy ?? 0) === 0) continue;
    try {
      await printPages(api, terminal, plugin.ID, id);
    } catch (error) {
      if (isInterrupt(error)) throw error;
      if (!causeOf(error).includes(END_OF_DATA)) failures.push(causeOf(error));
    }
  }
  return failures;
}

async function printPages(
  api: ApiClient,
  terminal: Terminal,
  plugin_id: string,
  id: (external: string) => string,
): Promise<void> {
  let next_token: string | undefined;
  do {
    const { value } = await api.get<Page>('/v1/volumes/external', { plugin_id, per_page: PAGE, next_token });
    const rows = (value.Volumes ?? []).map((one) => [
      id(one.ExternalID),
      (one.IsAbnormal ? `Abnormal (${one.Status})` : 'OK').slice(0, CONDITION_WIDTH),
      (one.PublishedExternalNodeIDs ?? []).map(id).join(','),
    ]);
    if (rows.length > 0) terminal.print(`\n${table([['External ID', 'Condition', 'Nodes'], ...rows])}`);
    next_token = value.NextToken || undefined;
    if (next_token !== undefined) terminal.print('...');
  } while (next_token !== undefined);
}
