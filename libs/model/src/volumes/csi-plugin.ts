/** Where a disk can be reached, or where a machine is. Two topologies match if all their segments are equal. */
export interface Topology {
  Segments: Record<string, string> | null;
}

/** Capabilities of a controller plugin. */
export interface CSIControllerInfo {
  SupportsCreateDelete: boolean;
  SupportsAttachDetach: boolean;
  SupportsListVolumes: boolean;
  SupportsGetCapacity: boolean;
  SupportsCreateDeleteSnapshot: boolean;
  SupportsListSnapshots: boolean;
  SupportsClone: boolean;
  SupportsReadOnlyAttach: boolean;
  SupportsExpand: boolean;
  SupportsListVolumesAttachedNodes: boolean;
  SupportsCondition: boolean;
  SupportsGet: boolean;
}

/** Information of a node plugin about its machine. */
export interface CSINodeInfo {
  /** The provider's name of the machine: the external node ID. */
  ID: string;
  /** At most 2^53 − 1, which stands for no limit (VL-8). */
  MaxVolumes: number;
  AccessibleTopology: Topology | null;
  RequiresNodeStageVolume: boolean;
  SupportsStats: boolean;
  SupportsExpand: boolean;
  SupportsCondition: boolean;
}

/** One plugin instance as its agent fingerprinted it. Either `ControllerInfo` or `NodeInfo` is set. */
export interface CSIInfo {
  PluginID: string;
  /** ID of the plugin's own allocation. Empty if the agent does not know it. */
  AllocID: string;
  Healthy: boolean;
  HealthDescription: string;
  UpdateTime: string | null;
  Provider: string;
  ProviderVersion: string;
  RequiresControllerPlugin: boolean;
  RequiresTopologies: boolean;
  ControllerInfo?: CSIControllerInfo;
  NodeInfo?: CSINodeInfo;
}

/** Number of instances of a plugin that a job should run. */
export interface CSIPluginJob {
  Namespace: string;
  ID: string;
  Expected: number;
}

/** Jobs by namespace and job ID. */
export type CSIPluginJobs = Record<string, Record<string, CSIPluginJob>>;

/**
 * A storage plugin of the cluster. It is not registered: it follows from the jobs that declare it and from the
 * fingerprints of nodes (VL-182). The four counts follow from the maps.
 */
export interface CSIPlugin {
  ID: string;
  Provider: string;
  Version: string;
  ControllerRequired: boolean;
  /** By node ID. */
  Controllers: Record<string, CSIInfo>;
  Nodes: Record<string, CSIInfo>;
  ControllerJobs: CSIPluginJobs;
  NodeJobs: CSIPluginJobs;
  ControllersHealthy: number;
  ControllersExpected: number;
  NodesHealthy: number;
  NodesExpected: number;
  CreateIndex: number;
  ModifyIndex: number;
  CreateTime: number;
  ModifyTime: number;
}

/** Whether no instance of the plugin runs and none is expected (GC-70). */
export function isEmptyPlugin(
  plugin: Pick<CSIPlugin, 'Controllers' | 'Nodes' | 'ControllersExpected' | 'NodesExpected'>,
): boolean {
  return (
    plugin.ControllersExpected + plugin.NodesExpected === 0 &&
    Object.keys(plugin.Controllers).length === 0 &&
    Object.keys(plugin.Nodes).length === 0
  );
}
