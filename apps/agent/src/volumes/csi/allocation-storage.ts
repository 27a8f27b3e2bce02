import type { Allocation, CancelTimer, Task, TaskGroup, TaskState, Timers, VolumeRequest } from '@waybill/model';
import type { Logger } from '@waybill/telemetry';
import type { Driver } from '../../drivers/driver.js';
import { AllocationPlugins } from './allocation-plugins.js';
import type { AllocationVolumes, AllocationVolumesRecord } from './allocation-volumes.js';
import type { CsiHost } from './csi-host.js';

/** How long the removal of an allocation waits for its volumes (VL-231). */
export const MAX_RELEASE_WAIT_MS = 30_000;

/** The machine's side: where volumes and plugins of allocations come from. */
export interface StorageHost extends Pick<CsiHost, 'supervisor' | 'forget'> {
  volumesOf(
    ...given: Parameters<CsiHost['volumesOf']>
  ): Pick<AllocationVolumes, 'restore' | 'record' | 'prepare' | 'release' | 'isClosed' | 'close' | 'left'>;
}

/** What volumes and plugins may do to their allocation. */
export interface StorageOwner {
  /** Told with each thing that may take long. */
  waitsFor(what: string): void;
  emit(task: string, type: string, details: Record<string, string>): void;
  /** Puts a task down as one that failed; its policy decides what follows. */
  failTask(task: string, reason: string): void;
  /** Resolves when the present record is on disk. */
  save(): Promise<void>;
}

export interface AllocationStorageOptions {
  /** Absent: simulated machines have none. Only groups without CSI volumes can be prepared then. */
  readonly csi?: StorageHost;
  readonly alloc: Allocation;
  readonly group: TaskGroup;
  readonly drivers: ReadonlyMap<string, Driver>;
  readonly timers: Timers;
  readonly logger: Logger;
  readonly owner: StorageOwner;
}

/**
 * The storage side of one allocation: the volumes it uses, and the plugins that its tasks are.
 * Restored or not: prepare, then superviseTasks after each change of a task, then release; end or close from anywhere.
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

  /** Takes up what an earlier agent has kept, before anybody's volumes are unmounted (VL-242). */
  restore(record: AllocationVolumesRecord): void {
    this.volumes?.restore(record);
  }

  record(): AllocationVolumesRecord {
    return this.volumes?.record() ?? {};
  }

  /** Before any task starts. @returns false: it was closed meanwhile, nothing is to follow. @throws VolumesError */
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

  /** After all tasks have ended. Never fails; resolves when each volume was tried once. */
  release(): Promise<void> {
    this.released ??= this.volumes?.release() ?? Promise.resolve();
    return this.released;
  }

  /** The allocation goes as a whole: what has not been unmounted by then is handed on, and on disk, before this resolves. */
  async end(): Promise<void> {
    let cancel: CancelTimer = () => {};
    const patience = new Promise<void>((resolve) => {
      cancel = this.options.timers.after(MAX_RELEASE_WAIT_MS, resolve);
    });
    await Promise.race([this.release(), patience]);
    cancel();
    this.close();
    if (this.volumes) await this.options.csi?.forget(this.options.alloc.ID, this.volumes);
  }

  /** The agent ends: mounts and plugins stay as they are. */
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
