import type { CSIVolumeClaim } from './csi-claim.js';
import type { CSIPlugin, Topology } from './csi-plugin.js';
import type { MountOptions, VolumeCapability } from '../jobs/volume.js';

export interface TopologyRequest {
  Required: Topology[] | null;
  Preferred: Topology[] | null;
}

/** What an operator, or the plugin that made the disk, says of a volume. Sizes in bytes. */
export interface CSIVolumeSpecification {
  ID: string;
  /** On create the name suggested to the provider. */
  Name: string;
  /** The provider's name of the disk. */
  ExternalID: string;
  Namespace: string;
  RequestedTopologies: TopologyRequest | null;
  /** Where the disk can be reached; none: from anywhere. */
  Topologies: Topology[] | null;
  MountOptions: MountOptions | null;
  /** For the plugin only: no answer, event or log line shows them (VL-1). */
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

/** A volume as the volumes service registers it: with what the plugin's record said (VL-15). */
export interface CSIVolumeRegistration extends CSIVolumeSpecification {
  Provider: string;
  ProviderVersion: string;
  ControllerRequired: boolean;
}

/**
 * A CSI volume as stored, secrets and claims included; only the encoder's form may leave the services. Whether it can
 * be scheduled, and its plugin's health, are worked out from the plugin's record whenever somebody asks.
 */
export interface CSIVolume extends CSIVolumeRegistration {
  /** Modes of the claims there are; "" when there are none. */
  AccessMode: string;
  AttachmentMode: string;
  /** By allocation ID. */
  ReadClaims: Record<string, CSIVolumeClaim>;
  WriteClaims: Record<string, CSIVolumeClaim>;
  /** Claims that are being given back. One of these may have its read or write claim still (VL-83). */
  PastClaims: Record<string, CSIVolumeClaim>;
  ResourceExhausted: string | null;
  CreateIndex: number;
  ModifyIndex: number;
  CreateTime: number;
  ModifyTime: number;
}

/** The modes in which somebody may write. */
const WRITER_MODES: ReadonlySet<string> = new Set([
  'single-node-writer',
  'multi-node-single-writer',
  'multi-node-multi-writer',
]);

/** The provider's name of the disk: the volume's own where it has no other. */
export const remoteIdOf = (volume: Pick<CSIVolume, 'ID' | 'ExternalID'>): string => volume.ExternalID || volume.ID;

/** VL-72: an allocation reads or writes it, or has not given it back yet. */
export function isInUse(volume: Pick<CSIVolume, 'ReadClaims' | 'WriteClaims'>): boolean {
  return Object.keys(volume.ReadClaims).length + Object.keys(volume.WriteClaims).length > 0;
}

/** VL-63. `plugin` undefined: there is no record of it. */
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

/** Whether the access mode leaves room for one more read claim (VL-80). */
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

/** VL-81, VL-82: readers do not keep a writer out. */
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

/** Name under which a blocked evaluation waits for a volume (VL-161, VL-169). */
export const volumeResource = (namespace: string, id: string): string => `csi-volume:${namespace}:${id}`;
