import type { Allocation, CancelTimer, Task, TaskGroup, TaskState, Timers, VolumeRequest } from '@waybill/model';
import type { Logger } from '@waybill/telemetry';
import type { Driver } from '../../drivers/driver.js';
import { AllocationPlugins } from './allocation-plugins.js';
import type { AllocationVolumes, AllocationVolumesRecord } from './allocation-volumes.js';
import type { CsiHost } from './csi-host.js';

/** The longest wait in milliseconds of an allocation's removal for its volumes (VL-231). */
export const MAX_RELEASE_WAIT_MS = 30_000;

/** StorageHost is the machine's part, which provides volumes and plugins of allocations. */
export interface StorageHost extends Pick<CsiHost, 'supervisor' | 'removeVolumes'> {
  volumesOf(
    ...given: Parameters<CsiHost['volumesOf']>
  ): Pick<AllocationVolumes, 'restore' | 'record' | 'prepare' | 'release' | 'isClosed' | 'close' | 'remainingMounts'>;
}

/** StorageOwner is the allocation, as far as volumes and plugins act on it. */
export interface StorageOwner {
  /** Is called before each step that may take long. */
  waitsFor(what: string): void;
  emit(task: string, type: string, details: Record<string, string>): void;
  /** Fails a task. Its policy decides what follows. */
  failTask(task: string, reason: string): void;
  /** Saves the current record. Resolves when it is on disk. */
  save(): Promise<void>;
}

export interface AllocationStorageOptions {
  /** Absent on simulated machines. Then only groups without CSI volumes can be prepared. */
  readonly csi?: StorageHost;
  readonly alloc: Allocation;
  readonly group: TaskGroup;
  readonly drivers: ReadonlyMap<string, Driver>;
  readonly timers: Timers;
  readonly logger: Logger;
  readonly owner: StorageOwner;
}

/**
 * AllocationStorage is the storage of one allocation: the volumes that it uses, and the plugins among its tasks. The
 * order of calls, after an optional restore: prepare, then superviseTasks after each change of a task, then release.
 * `end` and `close` may come at any time.
 */
export class AllocationStorage {
  private readonly volumes: ReturnType<StorageHost['volumesOf']> | undefined;
  private readonly plugins: AllocationPlugins;
  private released: Promise<void> | undefined;

  constructor(private readonly options: AllocationStorageOptions) {
    const { csi, alloc, group, owner, logger } = options;
    const requests = csiVolumes(group);
    if (csi && Object.keys(requests).length > 0) this.volumes = csi.volumesOf(alloc, requests, () => owner.save());
    this.plugins = new AllocationPlugins(csi ? group.Tasks : [], (task) => this.supervisorOf(task), logger);
  }

  /** Restores the record of an earlier agent. It is called before any allocation's volumes are unmounted (VL-242). */
  restore(record: AllocationVolumesRecord): void {
    this.volumes?.restore(record);
  }

  record(): AllocationVolumesRecord {
    return this.volumes?.record() ?? {};
  }

  /**
   * Prepares the volumes before any task starts.
   * @returns false if it was closed meanwhile, so that nothing may follow.
   * @throws VolumesError
   */
  async prepare(): Promise<boolean> {
    const { group, owner } = this.options;
    const canMount = group.Tasks.some((task) => this.mountsOf(task) !== 'none');
    try {
      await this.volumes?.prepare(canMount, (what) => owner.waitsFor(what));
    } catch (error) {
      if (!this.volumes?.isClosed) throw error;
    }
    return !this.volumes?.isClosed;
  }

  superviseTasks(states: Readonly<Record<string, TaskState>>): void {
    this.plugins.superviseTasks(states);
  }

  /** Releases the volumes after all tasks have ended. Never fails; resolves after one attempt for each volume. */
  release(): Promise<void> {
    this.released ??= this.volumes?.release() ?? Promise.resolve();
    return this.released;
  }

  /**
   * Ends the storage of an allocation that is removed. Before it resolves, volumes that are still mounted are handed
   * over, and that is on disk.
   */
  async end(): Promise<void> {
    let cancel: CancelTimer = () => {};
    const patience = new Promise<void>((resolve) => {
      cancel = this.options.timers.after(MAX_RELEASE_WAIT_MS, resolve);
    });
    await Promise.race([this.release(), patience]);
    cancel();
    this.close();
    if (this.volumes) await this.options.csi?.removeVolumes(this.options.alloc.ID, this.volumes);
  }

  /** Closes at the end of the agent: mounts and plugins stay as they are. */
  close(): void {
    this.plugins.close();
    this.volumes?.close();
  }

  private supervisorOf(task: Task) {
    const { csi, alloc, owner } = this.options;
    const config = task.CSIPluginConfig;
    if (!csi || !config) throw new Error(`task "${task.Name}" is no storage plugin`);
    return csi.supervisor(alloc.ID, config, this.mountsOf(task) !== 'bind', {
      emit: (type, details) => owner.emit(task.Name, type, details),
      fail: (reason) => owner.failTask(task.Name, reason),
    });
  }

  private mountsOf(task: Task) {
    return this.options.drivers.get(task.Driver)?.mounts ?? 'none';
  }
}

const csiVolumes = ({ Volumes }: TaskGroup): Record<string, VolumeRequest> =>
  Object.fromEntries(Object.entries(Volumes ?? {}).filter(([, { Type }]) => Type === 'csi'));
