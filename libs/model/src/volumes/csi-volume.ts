import type { CSIVolumeClaim } from './csi-claim.js';
import type { CSIPlugin, Topology } from './csi-plugin.js';
import type { MountOptions, VolumeCapability } from '../jobs/volume.js';

export interface TopologyRequest {
  Required: Topology[] | null;
  Preferred: Topology[] | null;
}

/** The members of a volume that an operator or the plugin that created the disk sets. Sizes are in bytes. */
export interface CSIVolumeSpecification {
  ID: string;
  /** When a volume is created, the name suggested to the provider. */
  Name: string;
  /** The provider's name of the disk. */
  ExternalID: string;
  Namespace: string;
  RequestedTopologies: TopologyRequest | null;
  /** The topologies where the disk can be reached. Empty if it can be reached everywhere. */
  Topologies: Topology[] | null;
  MountOptions: MountOptions | null;
  /** Secrets for the plugin. No response, event or log line shows them (VL-1). */
  Secrets: Record<string, string> | null;
  Parameters: Record<string, string> | null;
  Context: Record<string, string> | null;
  Capacity: number;
  RequestedCapacityMin: number;
  RequestedCapacityMax: number;
  RequestedCapabilities: VolumeCapability[] | null;
  CloneID: string;
  SnapshotID: string;
  PluginID: string;
}

/** A volume as the volumes service registers it, with information from the plugin's record (VL-15). */
export interface CSIVolumeRegistration extends CSIVolumeSpecification {
  Provider: string;
  ProviderVersion: string;
  ControllerRequired: boolean;
}

/**
 * A stored CSI volume, with secrets and claims. Only the encoder's form may leave the services. Whether the volume can
 * be scheduled, and the health of its plugin, are computed from the plugin's record for each request.
 */
export interface CSIVolume extends CSIVolumeRegistration {
  /** Access mode of the present claims. Empty if there are none. */
  AccessMode: string;
  AttachmentMode: string;
  /** By allocation ID. */
  ReadClaims: Record<string, CSIVolumeClaim>;
  WriteClaims: Record<string, CSIVolumeClaim>;
  /** Claims that are being released. The read or write claim of such a claim may still exist (VL-83). */
  PastClaims: Record<string, CSIVolumeClaim>;
  ResourceExhausted: string | null;
  CreateIndex: number;
  ModifyIndex: number;
  CreateTime: number;
  ModifyTime: number;
}

/** The modes in which an allocation may write. */
const WRITER_MODES: ReadonlySet<string> = new Set([
  'single-node-writer',
  'multi-node-single-writer',
  'multi-node-multi-writer',
]);

/** Returns the provider's name of the disk, or the volume's own ID if there is no such name. */
export const remoteIdOf = (volume: Pick<CSIVolume, 'ID' | 'ExternalID'>): string => volume.ExternalID || volume.ID;

/** Whether an allocation reads or writes the volume, or has not released it yet (VL-72). */
export function isInUse(volume: Pick<CSIVolume, 'ReadClaims' | 'WriteClaims'>): boolean {
  return Object.keys(volume.ReadClaims).length + Object.keys(volume.WriteClaims).length > 0;
}

/** Whether volumes of the plugin can be scheduled (VL-63). `plugin` is undefined if there is no record of it. */
export function isSchedulable(plugin: CSIPlugin | undefined): boolean {
  if (!plugin || plugin.NodesHealthy === 0) return false;
  return !plugin.ControllerRequired || plugin.ControllersHealthy > 0;
}

/** Whether a reader of the volume can be placed (VL-66). */
export function isReadSchedulable(volume: CSIVolume, plugin: CSIPlugin | undefined): boolean {
  return isSchedulable(plugin) && volume.ResourceExhausted === null;
}

/** Whether a writer of the volume can be placed (VL-67). */
export function isWriteSchedulable(volume: CSIVolume, plugin: CSIPlugin | undefined): boolean {
  if (!isReadSchedulable(volume, plugin)) return false;
  if (volume.AccessMode !== '') return WRITER_MODES.has(volume.AccessMode);
  return (volume.RequestedCapabilities ?? []).some(({ AccessMode }) => WRITER_MODES.has(AccessMode));
}

/** Whether the access mode allows one more read claim (VL-80). */
export function hasFreeReadClaim(volume: CSIVolume): boolean {
  const readers = Object.keys(volume.ReadClaims).length;
  switch (volume.AccessMode) {
    case 'single-node-reader-only':
      return readers === 0;
    case 'single-node-writer':
      return readers === 0 && Object.keys(volume.WriteClaims).length === 0;
    default:
      return true;
  }
}

/** Whether the access mode allows one more write claim (VL-81). Read claims do not prevent it (VL-82). */
export function hasFreeWriteClaim(volume: CSIVolume): boolean {
  switch (volume.AccessMode) {
    case 'single-node-writer':
    case 'multi-node-single-writer':
      return Object.keys(volume.WriteClaims).length === 0;
    case 'multi-node-multi-writer':
    case '':
      return true;
    default:
      return false;
  }
}

/** Returns the name under which a blocked evaluation waits for a volume (VL-161, VL-169). */
export const volumeResource = (namespace: string, id: string): string => `csi-volume:${namespace}:${id}`;
