import type { Allocation, CancelTimer, Task, TaskGroup, TaskState, Timers, VolumeRequest } from '@waybill/model';
import type { Logger } from '@waybill/telemetry';
import type { Driver } from '../../drivers/driver.js';
import { AllocPlugins } from './allocation-plugins.js';
import type { AllocVolumes, AllocVolumesRecord } from './allocation-volumes.js';
import type { CsiHost } from './csi-host.js';

/** How long the removal of an allocation waits for its volumes (VL-231). */
export const MAX_RELEASE_WAIT_MS = 30_000;

/** The machine's side: where volumes and plugins of allocations come from. */
export interface StorageHost extends Pick<CsiHost, 'supervisor' | 'forget'> {
  volumesOf(
    ...given: Parameters<CsiHost['volumesOf']>
  ): Pick<AllocVolumes, 'record' | 'prepare' | 'release' | 'isClosed' | 'close' | 'left'>;
}

/** What of an allocation its volumes and plugins depend on, and what they may do to it. */
export interface AllocStorageWiring {
  readonly alloc: Allocation;
  readonly group: TaskGroup;
  readonly drivers: ReadonlyMap<string, Driver>;
  readonly timers: Timers;
  readonly logger: Logger;
  readonly emit: (task: string, type: string, details: Record<string, string>) => void;
  /** Puts a task down as one that failed; its policy decides what follows. */
  readonly fail: (task: string, reason: string) => void;
  /** Resolves when the present record is on disk. */
  readonly save: () => Promise<void>;
  readonly restored?: AllocVolumesRecord | undefined;
}

/**
 * The storage side of one allocation: the volumes it uses, and the plugins that its tasks are.
 * prepare, then look after each change of a task, then release; end or close from anywhere. Without a host (simulated
 * machines have none) only groups without CSI volumes can be prepared.
 */
export class AllocStorage {
  private readonly volumes: ReturnType<StorageHost['volumesOf']> | undefined;
  private readonly plugins: AllocPlugins;
  private released: Promise<void> | undefined;

  constructor(
    private readonly host: StorageHost | undefined,
    private readonly wiring: AllocStorageWiring,
  ) {
    const { alloc, group, save, restored, logger } = wiring;
    const requests = csiVolumes(group);
    if (host && Object.keys(requests).length > 0) this.volumes = host.volumesOf(alloc, requests, save, restored);
    this.plugins = new AllocPlugins(host ? group.Tasks : [], (task) => this.supervisorOf(task), logger);
  }

  record(): AllocVolumesRecord {
    return this.volumes?.record() ?? {};
  }

  /**
   * Before any task starts.
   *
   * @param waitsFor called with each thing that may take long
   * @returns false: it was closed meanwhile, nothing is to follow. @throws VolumesError
   */
  async prepare(waitsFor: (what: string) => void): Promise<boolean> {
    const canMount = this.wiring.group.Tasks.some((task) => this.mountsOf(task) !== 'none');
    try {
      await this.volumes?.prepare(canMount, waitsFor);
    } catch (error) {
      if (!this.volumes?.isClosed) throw error;
    }
    return !this.volumes?.isClosed;
  }

  look(states: Readonly<Record<string, TaskState>>): void {
    this.plugins.look(states);
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
      cancel = this.wiring.timers.after(MAX_RELEASE_WAIT_MS, resolve);
    });
    await Promise.race([this.release(), patience]);
    cancel();
    this.close();
    if (this.volumes) await this.host?.forget(this.wiring.alloc.ID, this.volumes);
  }

  /** The agent ends: mounts and plugins stay as they are. */
  close(): void {
    this.plugins.close();
    this.volumes?.close();
  }

  private supervisorOf(task: Task) {
    const { alloc, emit, fail } = this.wiring;
    const { host } = this;
    const config = task.CSIPluginConfig;
    if (!host || !config) throw new Error(`task "${task.Name}" is no storage plugin`);
    return host.supervisor(alloc.ID, config, this.mountsOf(task) !== 'bind', {
      emit: (type, details) => emit(task.Name, type, details),
      fail: (reason) => fail(task.Name, reason),
    });
  }

  private mountsOf(task: Task) {
    return this.wiring.drivers.get(task.Driver)?.mounts ?? 'none';
  }
}

const csiVolumes = ({ Volumes }: TaskGroup): Record<string, VolumeRequest> =>
  Object.fromEntries(Object.entries(Volumes ?? {}).filter(([, { Type }]) => Type === 'csi'));
