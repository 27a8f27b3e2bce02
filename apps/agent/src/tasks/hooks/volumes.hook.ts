import {
  findTaskGroup,
  isPropagationMode,
  nestedList,
  type Node,
  volumeSource,
  type VolumeMount,
  type VolumeRequest,
} from '@waybill/model';
import type { MountInfo } from '../../volumes/csi/volume-mounter.js';
import type { MountSupport, TaskMount } from '../../drivers/driver.js';
import type { TaskAdditions, TaskHook, TaskStart } from '../task-hook.js';

/** VolumeMountError says that a task's mount is not possible. */
export class VolumeMountError extends Error {
  override readonly name = 'VolumeMountError';
}

export interface VolumesHookDependencies {
  readonly node: () => Pick<Node, 'HostVolumes'>;
  readonly mountSupport: (driver: string) => MountSupport;
  /** Returns the place of an allocation's CSI volume on this machine. */
  readonly mountOf: (allocId: string, alias: string) => MountInfo | undefined;
}

/** VolumesStart is the part of a start that the hook uses. */
type VolumesStart = Pick<TaskStart, 'alloc' | 'job' | 'task' | 'interpolateInTask'>;

/** VolumesHook gives a task the volumes of its group that it mounts (VL-225, VL-281). */
export class VolumesHook implements TaskHook {
  readonly name = 'volumes';

  constructor(private readonly deps: VolumesHookDependencies) {}

  async prestart({ alloc, job, task, interpolateInTask }: VolumesStart): Promise<TaskAdditions> {
    const requests = findTaskGroup(job, alloc.TaskGroup)?.Volumes ?? {};
    this.checkHostVolumes(Object.values(requests), alloc.Name);
    const mounts = (task.VolumeMounts ?? []).map((asked) => {
      const mount = interpolatedMount(asked, interpolateInTask);
      const request = requests[mount.Volume];
      if (!request) throw new VolumeMountError(`the group has no volume "${mount.Volume}"`);
      const kind = request.Type === 'csi' ? 'CSI' : 'host volumes';
      if (this.deps.mountSupport(task.Driver) === 'none')
        throw new VolumeMountError(`task driver "${task.Driver}" for "${task.Name}" does not support ${kind}`);
      return request.Type === 'csi' ? this.ofCsi(alloc.ID, mount, request) : this.ofHost(alloc.Name, mount, request);
    });
    return { mounts };
  }

  /** Refuses to start without all host volumes of the group, whichever task mounts them (VL-281). @throws VolumeMountError */
  private checkHostVolumes(requests: readonly VolumeRequest[], allocName: string): void {
    const { HostVolumes } = this.deps.node();
    const missing = requests
      .filter(({ Type }) => Type === 'host')
      .map((request) => volumeSource(request, allocName))
      .filter((source) => !Object.hasOwn(HostVolumes, source));
    if (missing.length === 0) return;
    const problems = nestedList(missing.map((source) => `missing ${source}`));
    throw new VolumeMountError(`host volume validation error: ${problems}`);
  }

  private ofHost(allocName: string, mount: VolumeMount, request: VolumeRequest): TaskMount {
    const volume = this.deps.node().HostVolumes[volumeSource(request, allocName)];
    return mountAt(volume?.Path ?? '', mount, request, volume?.ReadOnly);
  }

  private ofCsi(allocId: string, mount: VolumeMount, request: VolumeRequest): TaskMount {
    const info = this.deps.mountOf(allocId, mount.Volume);
    if (!info) throw new VolumeMountError(`No CSI Mount Point found for volume: ${mount.Volume}`);
    return mountAt(info.Source, mount, request);
  }
}

/** Replaces variables in a mount (AG-234). The destination is a path in the task's view. @throws VolumeMountError */
function interpolatedMount(mount: VolumeMount, interpolate: (text: string) => string): VolumeMount {
  const PropagationMode = interpolate(mount.PropagationMode);
  if (!isPropagationMode(PropagationMode))
    throw new VolumeMountError(`volume mount has an invalid propagation mode: "${PropagationMode}"`);
  return {
    ...mount,
    Volume: interpolate(mount.Volume),
    Destination: interpolate(mount.Destination),
    PropagationMode,
  };
}

/** Returns the mount. It is read-only if the volume, the request or the mount says so. */
function mountAt(source: string, mount: VolumeMount, request: VolumeRequest, isReadOnly = false): TaskMount {
  return {
    source,
    destination: mount.Destination,
    readOnly: isReadOnly || request.ReadOnly || mount.ReadOnly,
    propagation: mount.PropagationMode,
  };
}
