import { type CSIVolume, type CSIVolumeSpecification, isInUse } from './csi-volume.js';
import type { Topology } from './csi-plugin.js';
import type { MountOptions } from '../jobs/volume.js';

/** VL-27 to VL-32: why the submitted specification cannot become the stored volume's; none when it can. */
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
 * VL-26: the stored volume with what a submission without errors changes of it (VL-28, VL-30, VL-31, VL-33). Sizes are
 * not among it: they are changed by expanding.
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

/** Whether the new capabilities contain the modes that the volume is used with (VL-28). */
function keepsModesInUse(stored: CSIVolume, given: CSIVolumeSpecification): boolean {
  const { AccessMode, AttachmentMode } = stored;
  if (AccessMode === '' && AttachmentMode === '') return true;
  return (given.RequestedCapabilities ?? []).some(
    (capability) => capability.AccessMode === AccessMode && capability.AttachmentMode === AttachmentMode,
  );
}

type HasTopologyRequest = Pick<CSIVolumeSpecification, 'RequestedTopologies'>;

/** VL-29: in the same order, and absent is not the same as empty. */
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

/** VL-30: flags are a set, and absent options are those without file system and flags. */
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
