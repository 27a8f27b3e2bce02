import type { HostVolume, HostVolumeSpecification } from '@waybill/model';

const DEFAULT_CAPABILITIES = [{ AttachmentMode: 'file-system', AccessMode: 'single-node-writer' }];
/** VL-285: no machine has a plugin of this name unless somebody installs one. */
const UNNAMED_PLUGIN = 'default';
/** What the log fills in when the volume is stored. */
const UNSTORED = { State: 'pending', CreateIndex: 0, CreateTime: 0, ModifyIndex: 0, ModifyTime: 0 } as const;

/** How a volume comes to be: a plugin makes it, or it is there already. */
export type HostVolumeOrigin = 'create' | 'register';

/** VL-285: a volume that is not there yet. */
export function newHostVolume(given: HostVolumeSpecification, origin: HostVolumeOrigin, id: string): HostVolume {
  return {
    ...given,
    ...UNSTORED,
    ID: id,
    PluginID: given.PluginID || (origin === 'create' ? UNNAMED_PLUGIN : ''),
    RequestedCapabilities: given.RequestedCapabilities?.length ? given.RequestedCapabilities : DEFAULT_CAPABILITIES,
    ...(origin === 'create' && { HostPath: '', CapacityBytes: 0 }),
  };
}

/** VL-285: where it is stays; what a plugin made of it, too, unless it is registered anew. */
export function updatedHostVolume(
  stored: HostVolume,
  given: HostVolumeSpecification,
  origin: HostVolumeOrigin,
): HostVolume {
  const { NodeID, Constraints, HostPath, CapacityBytes } = stored;
  return {
    ...given,
    ...UNSTORED,
    NodeID,
    Constraints,
    PluginID: given.PluginID || stored.PluginID,
    NodePool: given.NodePool || stored.NodePool,
    ...(origin === 'create' && { HostPath, CapacityBytes }),
  };
}
