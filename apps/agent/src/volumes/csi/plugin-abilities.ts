import type { ControllerCapability, NodeCapability, NodeInfo } from '@waybill/csi';
import type { CSIControllerInfo, CSINodeInfo } from '@waybill/model';

/** Returns a controller's capabilities as the node shows them (2.5). */
export function controllerInfo(can: ReadonlySet<ControllerCapability>): CSIControllerInfo {
  return {
    SupportsCreateDelete: can.has('CREATE_DELETE_VOLUME'),
    SupportsAttachDetach: can.has('PUBLISH_UNPUBLISH_VOLUME'),
    SupportsListVolumes: can.has('LIST_VOLUMES'),
    SupportsGetCapacity: can.has('GET_CAPACITY'),
    SupportsCreateDeleteSnapshot: can.has('CREATE_DELETE_SNAPSHOT'),
    SupportsListSnapshots: can.has('LIST_SNAPSHOTS'),
    SupportsClone: can.has('CLONE_VOLUME'),
    SupportsReadOnlyAttach: can.has('PUBLISH_READONLY'),
    SupportsExpand: can.has('EXPAND_VOLUME'),
    SupportsListVolumesAttachedNodes: can.has('LIST_VOLUMES_PUBLISHED_NODES'),
    SupportsCondition: can.has('VOLUME_CONDITION'),
    SupportsGet: can.has('GET_VOLUME'),
  };
}

/** Returns a node plugin's capabilities as the node shows them. */
export function nodeAbilities(can: ReadonlySet<NodeCapability>): Omit<CSINodeInfo, keyof MachineInfo> {
  return {
    RequiresNodeStageVolume: can.has('STAGE_UNSTAGE_VOLUME'),
    SupportsStats: can.has('GET_VOLUME_STATS'),
    SupportsExpand: can.has('EXPAND_VOLUME'),
    SupportsCondition: can.has('VOLUME_CONDITION'),
  };
}

/** MachineInfo is a node plugin's description of its machine. */
export type MachineInfo = Pick<CSINodeInfo, 'ID' | 'MaxVolumes' | 'AccessibleTopology'>;

export function machineInfo({ nodeId, maxVolumes, topology }: NodeInfo): MachineInfo {
  return {
    ID: nodeId,
    MaxVolumes: limitOf(maxVolumes),
    AccessibleTopology: topology && { Segments: { ...topology } },
  };
}

/**
 * Returns the limit as a JSON number. The largest exact number stands for no limit and for any greater limit (VL-213,
 * VL-8).
 */
function limitOf(given: bigint): number {
  return given <= 0n || given > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(given);
}
