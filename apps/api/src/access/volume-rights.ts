import type { Job } from '@waybill/model';
import { forbidden } from '../http/api-error.js';
import type { RequestAccess } from './request-access.js';

const PERMISSION_DENIED = 'Permission denied';

/**
 * Checks the rights that the volumes and plugins of a job need besides the right to register it (OP section 8). A group
 * volume of an unknown type is refused, because its right is unknown.
 * @throws Refusal forbidden
 */
export function checkVolumes(access: RequestAccess, job: Job): void {
  if (access.caller.acl.isManagement()) return;
  const namespace = job.Namespace;
  for (const group of job.TaskGroups) {
    for (const [name, volume] of Object.entries(group.Volumes ?? {})) {
      if (volume.Type === 'csi') {
        access.must({ kind: 'namespace', anyOf: ['csi-mount-volume'] }, { namespace });
        access.must({ kind: 'plugin', level: 'read' });
      } else if (volume.Type === 'host') {
        const isReadOnly = volume.ReadOnly && !isSharedBothWays(group.Tasks, name);
        const capabilities = isReadOnly ? READ_ONLY : READ_WRITE;
        if (!capabilities.some((capability) => access.caller.acl.allowsHostVolume(volume.Source, capability)))
          throw forbidden(PERMISSION_DENIED);
      } else throw forbidden(PERMISSION_DENIED);
    }
    if (group.Tasks.some(({ CSIPluginConfig }) => CSIPluginConfig))
      access.must({ kind: 'namespace', anyOf: ['csi-register-plugin'] }, { namespace });
  }
}

const READ_ONLY = ['mount-readonly', 'mount-readwrite'] as const;
const READ_WRITE = ['mount-readwrite'] as const;

/** Says whether a task mounts the volume so that the task's own mounts appear on the machine. */
const isSharedBothWays = (tasks: Job['TaskGroups'][number]['Tasks'], volume: string): boolean =>
  tasks.some((task) =>
    (task.VolumeMounts ?? []).some((mount) => mount.Volume === volume && mount.PropagationMode === 'bidirectional'),
  );
