import type { HostVolume, HostVolumeSpecification } from '@waybill/model';

const DEFAULT_CAPABILITIES = [{ AttachmentMode: 'file-system', AccessMode: 'single-node-writer' }];
/**
 * Name of the plugin of a volume that names none (VL-285). No machine has such a plugin unless an operator installs
 * one.
 */
const UNNAMED_PLUGIN = 'default';
/** Fields that the state machine fills in when the volume is stored. */
const UNSTORED = { State: 'pending', CreateIndex: 0, CreateTime: 0, ModifyIndex: 0, ModifyTime: 0 } as const;

/** How a volume originates: a plugin creates its directory, or the directory exists already. */
export type HostVolumeOrigin = 'create' | 'register';

/** The record of a new volume (VL-285). */
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

/**
 * The stored volume with the submitted changes (VL-285). Its machine stays; so does its directory, unless it is
 * registered anew.
 */
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
