import { MAX_PLUGIN_ID_BYTES, MAX_VOLUME_NAME_BYTES, nameLengthErrors } from '../limits/name-limits.js';
import { nestedList } from './message-list.js';
import { isUnsafePath } from './safe-name.js';
import type { Task, VolumeMount } from '../jobs/task.js';
import type { TaskGroup } from '../jobs/task-group.js';
import type { VolumeRequest } from '../jobs/volume.js';

const HOST_ACCESS_MODES = new Set([
  '',
  'single-node-reader-only',
  'single-node-writer',
  'single-node-single-writer',
  'single-node-multi-writer',
]);

/** Returns the errors of a group's volume requests (API-342, VL-170), one message for each invalid request. */
export function validateVolumes(group: TaskGroup, jobType: string): string[] {
  return Object.entries(group.Volumes ?? {}).flatMap(([name, volume]) => {
    const errors = [
      ...nameLengthErrors('volume name', name, MAX_VOLUME_NAME_BYTES),
      ...commonErrors(volume, group, jobType),
      ...typeErrors(volume, group),
    ];
    return errors.length === 0 ? [] : [`Task group volume validation for ${name} failed: ${nestedList(errors)}`];
  });
}

function typeErrors(volume: VolumeRequest, group: TaskGroup): string[] {
  switch (volume.Type) {
    case 'host':
      return hostErrors(volume);
    case 'csi':
      return csiErrors(volume, group);
    default:
      return [`volume has unrecognized type ${volume.Type}`];
  }
}

/** Errors of volumes of any type (VL-170, VL-171). */
function commonErrors(volume: VolumeRequest, group: TaskGroup, jobType: string): string[] {
  const errors: string[] = [];
  if (volume.Source === '') errors.push('volume has an empty source');
  else if (volume.Type === 'csi' && isUnsafePath(volume.Source))
    errors.push(`volume source ${JSON.stringify(volume.Source)} cannot be part of a path`);
  for (const item of nameLengthErrors('volume source', volume.Source, MAX_VOLUME_NAME_BYTES)) errors.push(item);
  if (!volume.PerAlloc) return errors;
  if (jobType === 'system' || jobType === 'sysbatch') {
    errors.push('volume cannot be per_alloc for system or sysbatch jobs');
  }
  if ((group.Update?.Canary ?? 0) > 0) errors.push('volume cannot be per_alloc when canaries are in use');
  if (volume.Sticky) errors.push('volume cannot be per_alloc and sticky at the same time');
  return errors;
}

/** Errors of host volumes (VL-174). */
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

/** Errors of CSI volumes (VL-172, VL-173). */
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

const PROPAGATION_MODES: ReadonlySet<string> = new Set(['', 'private', 'host-to-task', 'bidirectional']);
/** Whether a text is a mode for propagating mounts below a mount (VL-175). Empty stands for no propagation. */
export const isPropagationMode = (mode: string): boolean => PROPAGATION_MODES.has(mode);
const SELINUX_LABELS: ReadonlySet<string> = new Set(['', 'z', 'Z']);

/** Errors of the volume mounts of a task (VL-175). */
export function mountErrors(task: Task, group: TaskGroup): string[] {
  return (task.VolumeMounts ?? []).flatMap((mount, index) => [
    ...invalidMount(mount).map((why) => `Volume Mount (${index}) is invalid: "${why}"`),
    ...(mount.Volume === '' || Object.hasOwn(group.Volumes ?? {}, mount.Volume)
      ? []
      : [`Volume Mount (${index}) references undefined volume ${mount.Volume}`]),
  ]);
}

function invalidMount({ Volume, Destination, PropagationMode, SELinuxLabel }: VolumeMount): string[] {
  const errors: string[] = [];
  if (Destination.includes('\0')) errors.push('volume mount has a destination with a null character');
  if (Volume === '') errors.push('volume mount references an empty volume');
  if (!isPropagationMode(PropagationMode))
    errors.push(`volume mount has an invalid propagation mode: "${PropagationMode}"`);
  if (!SELINUX_LABELS.has(SELinuxLabel)) errors.push(`volume mount has an invalid SELinux label: "${SELinuxLabel}"`);
  return errors;
}

/** Errors of the plugin block of a task (VL-176). */
export function pluginErrors({ CSIPluginConfig: plugin }: Pick<Task, 'CSIPluginConfig'>): string[] {
  if (!plugin) return [];
  const errors: string[] = [];
  if (plugin.ID === '') errors.push('CSIPluginConfig must have a non-empty PluginID');
  else if (isUnsafePath(plugin.ID))
    errors.push(`CSIPluginConfig PluginID ${JSON.stringify(plugin.ID)} cannot be part of a path`);
  for (const item of nameLengthErrors('CSIPluginConfig PluginID', plugin.ID, MAX_PLUGIN_ID_BYTES)) errors.push(item);
  if (!['node', 'controller', 'monolith'].includes(plugin.Type))
    errors.push(`CSIPluginConfig PluginType must be one of 'node', 'controller', or 'monolith', got: "${plugin.Type}"`);
  if (isInside(plugin.StagePublishBaseDir, plugin.MountDir)) {
    const got = `StagePublishBaseDir="${plugin.StagePublishBaseDir}" MountDir="${plugin.MountDir}"`;
    errors.push(`CSIPluginConfig StagePublishBaseDir must not be a subdirectory of MountDir, got: ${got}`);
  }
  return errors;
}

/** Compares directory by directory, so `/csi-data` is not inside `/csi`. */
function isInside(path: string, directory: string): boolean {
  const parts = partsOf(path);
  return partsOf(directory).every((part, i) => parts[i] === part);
}

const partsOf = (path: string): string[] => path.split('/').filter((part) => part !== '' && part !== '.');
