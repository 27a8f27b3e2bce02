import { isUnsafePath } from '../validation/safe-name.js';
import { MAX_PLUGIN_ID_BYTES, MAX_VOLUME_NAME_BYTES, nameLengthErrors } from '../limits/name-limits.js';
import type { Topology } from './csi-plugin.js';
import type { CSIVolumeSpecification } from './csi-volume.js';

/** Returns the errors of a volume that do not depend on the state (VL-11), as one message, or "" if there are none. */
export function validateVolume(volume: CSIVolumeSpecification): string {
  const errors: string[] = [];
  if (volume.ID === '') errors.push('missing volume id');
  else if (isUnsafePath(volume.ID)) errors.push(`volume id ${JSON.stringify(volume.ID)} cannot be part of a path`);
  for (const item of nameLengthErrors('volume id', volume.ID, MAX_VOLUME_NAME_BYTES)) errors.push(item);
  for (const item of nameLengthErrors('volume name', volume.Name, MAX_VOLUME_NAME_BYTES)) errors.push(item);
  if (volume.PluginID === '') errors.push('missing plugin id');
  for (const item of nameLengthErrors('plugin id', volume.PluginID, MAX_PLUGIN_ID_BYTES)) errors.push(item);
  if (volume.Namespace === '') errors.push('missing namespace');
  if (volume.SnapshotID !== '' && volume.CloneID !== '') errors.push('only one of snapshot_id and clone_id is allowed');
  if (!volume.RequestedCapabilities?.length) errors.push('must include at least one capability block');
  const { Required, Preferred } = volume.RequestedTopologies ?? { Required: null, Preferred: null };
  for (const item of withoutSegments(Required, 'required topology is missing segments field')) errors.push(item);
  for (const item of withoutSegments(Preferred, 'preferred topology is missing segments field')) errors.push(item);
  return errors.length === 0 ? '' : `validation: ${errors.join(', ')}`;
}

const withoutSegments = (topologies: Topology[] | null, message: string): string[] =>
  (topologies ?? []).filter(({ Segments }) => Object.keys(Segments ?? {}).length === 0).map(() => message);
