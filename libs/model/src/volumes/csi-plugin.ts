/** Where a disk can be reached, or a machine stands: every segment must be equal. */
export interface Topology {
  Segments: Record<string, string> | null;
}

/** What a controller plugin can do. */
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

/** What a node plugin says of its machine. */
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

/** One plugin instance as its agent fingerprinted it, with `ControllerInfo` or `NodeInfo`. */
export interface CSIInfo {
  PluginID: string;
  /** The plugin's own allocation; "" when the agent does not know it. */
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

/** How many instances a job is to run of a plugin. */
export interface CSIPluginJob {
  Namespace: string;
  ID: string;
  Expected: number;
}

/** By namespace and job ID. */
export type CSIPluginJobs = Record<string, Record<string, CSIPluginJob>>;

/**
 * A storage plugin of the cluster: nobody registers it, it follows from the jobs that declare it and from what nodes
 * fingerprint (VL-182). The four counts follow from the maps.
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

/** Nothing runs it and nothing is expected to (GC-70). */
export function isEmptyPlugin(
  plugin: Pick<CSIPlugin, 'Controllers' | 'Nodes' | 'ControllersExpected' | 'NodesExpected'>,
): boolean {
  return (
    plugin.ControllersExpected + plugin.NodesExpected === 0 &&
    Object.keys(plugin.Controllers).length === 0 &&
    Object.keys(plugin.Nodes).length === 0
  );
}
