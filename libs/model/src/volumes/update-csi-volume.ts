import { type CSIVolume, type CSIVolumeSpecification, isInUse } from './csi-volume.js';
import type { Topology } from './csi-plugin.js';
import type { MountOptions } from '../jobs/volume.js';

/** Returns the errors that prevent an update of the stored volume to the submitted specification (VL-27 to VL-32). */
export function volumeUpdateErrors(stored: CSIVolume, given: CSIVolumeSpecification): string[] {
  const errors: string[] = [];
  if (isChanged(stored.Name, given.Name)) errors.push('volume name cannot be updated');
  if (isChanged(stored.ExternalID, given.ExternalID)) errors.push('volume external ID cannot be updated');
  if (stored.PluginID !== given.PluginID) errors.push('volume plugin ID cannot be updated');
  if (isChanged(stored.CloneID, given.CloneID)) errors.push('volume clone ID cannot be updated');
  if (isChanged(stored.SnapshotID, given.SnapshotID)) errors.push('volume snapshot ID cannot be updated');
  if (!keepsModesInUse(stored, given))
    errors.push('volume requested capabilities update was not compatible with existing capability in use');
  if (stored.Topologies?.length && !areEqualRequests(stored, given))
    errors.push('volume topology request update was not compatible with existing topology');
  if (isInUse(stored) && !areEqualMountOptions(stored.MountOptions, given.MountOptions))
    errors.push('can not update mount options while volume is in use');
  if (Object.keys(given.Parameters ?? {}).length > 0 && !areEqualMaps(stored.Parameters, given.Parameters))
    errors.push('volume parameters cannot be updated');
  return errors;
}

/**
 * Returns the stored volume with the changes of a valid submission (VL-26, VL-28, VL-30, VL-31, VL-33). Sizes do not
 * change here, because only an expansion changes them.
 */
export function updatedVolume(stored: CSIVolume, given: CSIVolumeSpecification): CSIVolume {
  return {
    ...stored,
    RequestedCapabilities: given.RequestedCapabilities,
    MountOptions: given.MountOptions,
    Secrets: given.Secrets,
    Context: Object.keys(given.Context ?? {}).length > 0 ? given.Context : stored.Context,
  };
}

const isChanged = (stored: string, given: string): boolean => given !== '' && given !== stored;

/** Whether the new capabilities include the modes in which the volume is used (VL-28). */
function keepsModesInUse(stored: CSIVolume, given: CSIVolumeSpecification): boolean {
  const { AccessMode, AttachmentMode } = stored;
  if (AccessMode === '' && AttachmentMode === '') return true;
  return (given.RequestedCapabilities ?? []).some(
    (capability) => capability.AccessMode === AccessMode && capability.AttachmentMode === AttachmentMode,
  );
}

type HasTopologyRequest = Pick<CSIVolumeSpecification, 'RequestedTopologies'>;

/**
 * Whether two topology requests are equal, including their order (VL-29). An absent list does not equal an empty one.
 */
function areEqualRequests(
  { RequestedTopologies: a }: HasTopologyRequest,
  { RequestedTopologies: b }: HasTopologyRequest,
) {
  if (a === null || b === null) return a === b;
  return areEqualTopologies(a.Required, b.Required) && areEqualTopologies(a.Preferred, b.Preferred);
}

function areEqualTopologies(a: Topology[] | null, b: Topology[] | null): boolean {
  if (a === null || b === null) return a === b;
  return a.length === b.length && a.every(({ Segments }, i) => areEqualMaps(Segments, b[i]?.Segments ?? null));
}

/**
 * Whether two mount options are equal (VL-30). Flags are compared as sets, and absent options equal those without file
 * system and flags.
 */
function areEqualMountOptions(a: MountOptions | null, b: MountOptions | null): boolean {
  if ((a?.FSType ?? '') !== (b?.FSType ?? '')) return false;
  const [flags, others] = [new Set(a?.MountFlags), new Set(b?.MountFlags)];
  return flags.size === others.size && [...flags].every((flag) => others.has(flag));
}

function areEqualMaps(a: Record<string, string> | null, b: Record<string, string> | null): boolean {
  const [left, right] = [Object.entries(a ?? {}), b ?? {}];
  return (
    left.length === Object.keys(right).length &&
    left.every(([key, value]) => Object.hasOwn(right, key) && right[key] === value)
  );
}
