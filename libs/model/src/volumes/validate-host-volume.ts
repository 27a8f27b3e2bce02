import { MAX_PLUGIN_ID_BYTES, MAX_VOLUME_NAME_BYTES, nameLengthErrors } from '../limits/name-limits.js';
import type { HostVolume, HostVolumeSpecification } from './host-volume.js';
import { hasControlCharacters } from '../validation/safe-name.js';
import { nestedList } from '../validation/message-list.js';
import { constraintErrors } from '../validation/validate-placement.js';
import type { VolumeCapability } from '../jobs/volume.js';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const ATTACHMENT_MODES = new Set(['file-system', 'block-device']);
const ACCESS_MODES = new Set([
  'single-node-reader-only',
  'single-node-writer',
  'single-node-single-writer',
  'single-node-multi-writer',
]);
const PLACES_OTHERS = new Set(['distinct_hosts', 'distinct_property']);

/**
 * Returns the errors of a host volume that do not depend on the state (VL-284), as one message, or "" if there are
 * none. A single error is not formatted as a list.
 */
export function validateHostVolume(volume: HostVolumeSpecification): string {
  const { ID, Name, PluginID, RequestedCapacityMinBytes: min, RequestedCapacityMaxBytes: max } = volume;
  const errors: string[] = [];
  if (ID !== '' && !UUID.test(ID)) errors.push(`invalid ID "${ID}"`);
  if (Name === '') errors.push('missing name');
  else if (hasControlCharacters(Name)) errors.push('name cannot include control characters');
  for (const item of nameLengthErrors('name', Name, MAX_VOLUME_NAME_BYTES)) errors.push(item);
  for (const item of nameLengthErrors('plugin ID', PluginID, MAX_PLUGIN_ID_BYTES)) errors.push(item);
  if (max < min) errors.push(`capacity_max (${max}) must be larger than capacity_min (${min})`);
  for (const capability of volume.RequestedCapabilities ?? [])
    for (const item of capabilityErrors(capability)) errors.push(item);
  for (const constraint of volume.Constraints ?? []) {
    const problems = constraintErrors(constraint);
    if (problems.length > 0) errors.push(`invalid constraint: ${nestedList(problems)}`);
    if (PLACES_OTHERS.has(constraint.Operand))
      errors.push(
        `invalid constraint ${constraint.Operand}: host volumes of the same name are always on distinct hosts`,
      );
  }
  return errors.length > 1 ? nestedList(errors) : (errors[0] ?? '');
}

/**
 * Returns the errors that prevent an update of a host volume (VL-286), as one message, or "" if there are none.
 * @param users IDs of allocations that use the volume and may still run
 */
export function validateHostVolumeUpdate(
  stored: HostVolume,
  given: HostVolumeSpecification,
  users: readonly string[],
): string {
  const errors: string[] = [];
  const max = given.RequestedCapacityMaxBytes;
  if (users.length > 0) errors.push(`cannot update a volume in use: claimed by allocs (${users.join(', ')})`);
  if (isOther(given.NodeID, stored.NodeID)) errors.push('node ID cannot be updated');
  if (isOther(given.NodePool, stored.NodePool)) errors.push('node pool cannot be updated');
  if (max > 0 && max < stored.CapacityBytes)
    errors.push(`capacity_max (${max}) cannot be less than existing provisioned capacity (${stored.CapacityBytes})`);
  return errors.length === 0 ? '' : nestedList(errors);
}

function capabilityErrors({ AttachmentMode, AccessMode }: VolumeCapability): string[] {
  if (!ATTACHMENT_MODES.has(AttachmentMode)) return [`invalid attachment mode: "${AttachmentMode}"`];
  return ACCESS_MODES.has(AccessMode) ? [] : [`invalid access mode: "${AccessMode}"`];
}

const isOther = (given: string, stored: string): boolean => given !== '' && given !== stored;
