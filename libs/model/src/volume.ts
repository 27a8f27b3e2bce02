/** What a group asks of a volume. */
export interface VolumeRequest {
  Name: string;
  /** `csi`, `host`. */
  Type: string;
  Source: string;
  ReadOnly: boolean;
  Sticky: boolean;
  AccessMode: string;
  AttachmentMode: string;
  MountOptions: MountOptions | null;
  PerAlloc: boolean;
}

export interface MountOptions {
  FSType: string;
  MountFlags: string[] | null;
}

export interface VolumeCapability {
  AttachmentMode: string;
  AccessMode: string;
}

/** A CSI volume as stored; claims are kept apart and never shown. Sizes in bytes. */
export interface CSIVolume {
  ID: string;
  Name: string;
  ExternalID: string;
  Namespace: string;
  AccessMode: string;
  AttachmentMode: string;
  MountOptions: MountOptions | null;
  Secrets: Record<string, string> | null;
  Parameters: Record<string, string> | null;
  Context: Record<string, string> | null;
  Capacity: number;
  RequestedCapacityMin: number;
  RequestedCapacityMax: number;
  RequestedCapabilities: VolumeCapability[] | null;
  CloneID: string;
  SnapshotID: string;
  /** Ids of the allocations that hold a read claim. */
  ReadAllocs: Record<string, null>;
  WriteAllocs: Record<string, null>;
  Schedulable: boolean;
  PluginID: string;
  Provider: string;
  ProviderVersion: string;
  ControllerRequired: boolean;
  ControllersHealthy: number;
  ControllersExpected: number;
  NodesHealthy: number;
  NodesExpected: number;
  ResourceExhausted: string | null;
  CreateIndex: number;
  ModifyIndex: number;
  CreateTime: number;
  ModifyTime: number;
}

/** A directory of one node offered as a volume. Sizes in bytes. */
export interface HostVolume {
  Namespace: string;
  ID: string;
  Name: string;
  PluginID: string;
  NodePool: string;
  NodeID: string;
  RequestedCapacityMinBytes: number;
  RequestedCapacityMaxBytes: number;
  CapacityBytes: number;
  RequestedCapabilities: VolumeCapability[] | null;
  Parameters: Record<string, string> | null;
  HostPath: string;
  State: 'pending' | 'ready' | 'unavailable';
  CreateIndex: number;
  CreateTime: number;
  ModifyIndex: number;
  ModifyTime: number;
}
