import { nestedList } from './message-list.js';
import type { TaskGroup } from './task-group.js';
import type { VolumeRequest } from './volume.js';

const HOST_ACCESS_MODES = new Set([
  '',
  'single-node-reader-only',
  'single-node-writer',
  'single-node-single-writer',
  'single-node-multi-writer',
]);

/** API-342: the volume requests of a group, one message each that has errors. */
export function validateVolumes(group: TaskGroup, jobType: string): string[] {
  return Object.entries(group.Volumes ?? {}).flatMap(([name, volume]) => {
    const errors = [
      ...commonErrors(volume, group, jobType),
      ...(volume.Type === 'host' ? hostErrors(volume) : csiErrors(volume, group)),
    ];
    return errors.length === 0 ? [] : [`Task group volume validation for ${name} failed: ${nestedList(errors)}`];
  });
}

function commonErrors(volume: VolumeRequest, group: TaskGroup, jobType: string): string[] {
  const errors: string[] = [];
  if (volume.Source === '') errors.push('volume has an empty source');
  if (!volume.PerAlloc) return errors;
  if (jobType === 'system' || jobType === 'sysbatch') {
    errors.push('volume cannot be per_alloc for system or sysbatch jobs');
  }
  if ((group.Update?.Canary ?? 0) > 0) errors.push('volume cannot be per_alloc when canaries are in use');
  if (volume.Sticky) errors.push('volume cannot be per_alloc and sticky at the same time');
  return errors;
}

function hostErrors(volume: VolumeRequest): string[] {
  const errors: string[] = [];
  if (volume.MountOptions !== null) errors.push('host volumes cannot have mount options');
  if (!HOST_ACCESS_MODES.has(volume.AccessMode)) {
    errors.push(`host volumes cannot be mounted with ${volume.AccessMode} access mode`);
  }
  if (volume.AccessMode === 'single-node-reader-only' && !volume.ReadOnly) {
    errors.push(`${volume.AccessMode} volumes must be read-only`);
  }
  return errors;
}

function csiErrors(volume: VolumeRequest, group: TaskGroup): string[] {
  const errors: string[] = [];
  if (volume.AttachmentMode === '') errors.push('CSI volumes must have an attachment mode');
  if (volume.AttachmentMode === 'block-device' && volume.MountOptions !== null) {
    errors.push('block devices cannot have mount options');
  }
  const severalUsers = group.Count > 1 && !volume.PerAlloc;
  const mode = volume.AccessMode;
  switch (mode) {
    case '':
      errors.push('CSI volumes must have an access mode');
      break;
    case 'single-node-reader-only':
      if (!volume.ReadOnly) errors.push(`${mode} volumes must be read-only`);
      if (severalUsers) errors.push(`volume with ${mode} access mode allows only one reader`);
      break;
    case 'single-node-writer':
      if (severalUsers) errors.push(`volume with ${mode} access mode allows only one reader or writer`);
      break;
    case 'multi-node-reader-only':
      if (!volume.ReadOnly) errors.push(`${mode} volumes must be read-only`);
      break;
    case 'multi-node-single-writer':
      if (!volume.ReadOnly && severalUsers) errors.push(`volume with ${mode} access mode allows only one writer`);
      break;
    default:
      break;
  }
  return errors;
}
