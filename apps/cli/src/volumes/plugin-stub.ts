import type { CSIPlugin } from '@waybill/model';
import type { ApiClient } from '../server/api-client.js';
import { CommandFailure, failed } from '../failure.js';
import { table } from '../terminal/table.js';

/** A plugin in a list. All but the ID may be absent. */
export type PluginStub = Pick<CSIPlugin, 'ID'> &
  Partial<
    Pick<
      CSIPlugin,
      | 'Provider'
      | 'ControllerRequired'
      | 'ControllersHealthy'
      | 'ControllersExpected'
      | 'NodesHealthy'
      | 'NodesExpected'
    >
  >;

/** Lists plugins and their healthy instances, sorted by ID (CL-721). */
export const pluginTable = (rows: readonly PluginStub[]): string =>
  table([
    ['ID', 'Provider', 'Controllers Healthy/Expected', 'Nodes Healthy/Expected'],
    ...rows
      .toSorted((a, b) => (a.ID < b.ID ? -1 : a.ID > b.ID ? 1 : 0))
      .map((one) => [
        one.ID,
        one.Provider,
        `${one.ControllersHealthy ?? 0}/${one.ControllersExpected ?? 0}`,
        `${one.NodesHealthy ?? 0}/${one.NodesExpected ?? 0}`,
      ]),
  ]);

export async function plugins(api: ApiClient, prefix: string): Promise<readonly PluginStub[]> {
  const query = { type: 'csi', prefix: prefix || undefined };
  const { value } = await api.get<PluginStub[] | null>('/v1/plugins', query).catch((error: unknown) => {
    throw failed('querying CSI plugins', error);
  });
  return value ?? [];
}

/**
 * Chooses the plugin with the given ID or prefix (CL-157), or returns undefined if there is none. @throws
 * CommandFailure with a table of several matches
 */
export async function pluginMeant(api: ApiClient, given: string): Promise<PluginStub | undefined> {
  const found = await plugins(api, given);
  const exact = found.find(({ ID }) => ID === given);
  if (exact || found.length < 2) return exact ?? found[0];
  throw new CommandFailure(`Prefix matched multiple CSI plugins\n\n${pluginTable(found)}`);
}
