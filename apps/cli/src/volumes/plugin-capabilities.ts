import type { CSIControllerInfo, CSIInfo, CSINodeInfo, CSIPlugin } from '@waybill/model';
import { sortedEntries } from '../terminal/sorted-entries.js';
import { table } from '../terminal/table.js';

/** Nomad's names for the capabilities of an instance. */
const OF_CONTROLLERS: Readonly<Record<keyof CSIControllerInfo, string>> = {
  SupportsCreateDelete: 'CREATE_DELETE_VOLUME',
  SupportsAttachDetach: 'CONTROLLER_ATTACH_DETACH',
  SupportsListVolumes: 'LIST_VOLUMES',
  SupportsGetCapacity: 'GET_CAPACITY',
  SupportsCreateDeleteSnapshot: 'CREATE_DELETE_SNAPSHOT',
  SupportsListSnapshots: 'LIST_SNAPSHOTS',
  SupportsClone: 'CLONE_VOLUME',
  SupportsReadOnlyAttach: 'ATTACH_READONLY',
  SupportsExpand: 'EXPAND_VOLUME',
  SupportsListVolumesAttachedNodes: 'LIST_VOLUMES_PUBLISHED_NODES',
  SupportsCondition: 'VOLUME_CONDITION',
  SupportsGet: 'GET_VOLUME',
};
const OF_NODES: Readonly<Record<Exclude<keyof CSINodeInfo, 'ID' | 'MaxVolumes' | 'AccessibleTopology'>, string>> = {
  RequiresNodeStageVolume: 'STAGE_UNSTAGE_VOLUME',
  SupportsStats: 'GET_VOLUME_STATS',
  SupportsExpand: 'EXPAND_VOLUME',
  SupportsCondition: 'VOLUME_CONDITION',
};

type Plugin = Partial<Pick<CSIPlugin, 'Controllers' | 'Nodes'>>;

/** Returns the capabilities that at least one instance reports, sorted (CL-722). */
export const controllerCapabilities = ({ Controllers }: Plugin): string[] =>
  named(
    OF_CONTROLLERS,
    infosOf(Controllers, ({ ControllerInfo }) => ControllerInfo),
  );

export const nodeCapabilities = ({ Nodes }: Plugin): string[] =>
  named(
    OF_NODES,
    infosOf(Nodes, ({ NodeInfo }) => NodeInfo),
  );

/** Lists the accessible topology of each node. Nodes without one are left out. */
export function topologyTable({ Nodes }: Plugin, shownId: (id: string) => string): string {
  const rows = sortedEntries(Nodes).flatMap(([id, { NodeInfo }]) => {
    const segments = sortedEntries(NodeInfo?.AccessibleTopology?.Segments).map(([key, value]) => `${key}=${value}`);
    return segments.length === 0 ? [] : [[shownId(id), segments.join(',')]];
  });
  return table([['Node ID', 'Accessible Topology'], ...rows]);
}

function infosOf<T>(
  instances: Readonly<Record<string, CSIInfo>> | undefined,
  info: (of: CSIInfo) => T | undefined,
): T[] {
  return Object.values(instances ?? {}).flatMap((one) => info(one) ?? []);
}

const named = <K extends string>(names: Readonly<Record<K, string>>, infos: readonly Record<K, boolean>[]): string[] =>
  (Object.keys(names) as K[])
    .filter((member) => infos.some((info) => info[member]))
    .map((member) => names[member])
    .toSorted();
