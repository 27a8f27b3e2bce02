import { errorText } from '@waybill/model';
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { readFile, rmdir, writeFile } from 'node:fs/promises';
import { type Mount, readMounts } from '../allocations/disk/mount-table.store.js';
import type { TaskResources } from './driver.js';
import { below, pathName } from '../paths/path-name.js';

const MB = 1024 * 1024;
/** The range of shares in version 1 of cgroups, and the maximum weight in version 2. */
const MIN_SHARES = 2;
const MAX_SHARES = 262_144;
const MAX_WEIGHT = 10_000;
/** The number and the interval in milliseconds of attempts to remove a cgroup whose last process is ending. */
const REMOVE_ATTEMPTS = 50;
const REMOVE_RETRY_MS = 10;

/** NoLimitsError says that this machine cannot limit tasks. The message says why. */
export class NoLimitsError extends Error {
  override readonly name = 'NoLimitsError';
}

/** Setting is a value for a file of a run's cgroup. An `optional` file does not exist on every kernel. */
interface Setting {
  readonly directory: string;
  readonly file: string;
  readonly value: string;
  readonly optional?: boolean;
}

/**
 * TaskLimits limits the memory of each run of a task and sets its share of the processor. The cgroup has the run's
 * name, so a restarted agent finds it again. In version 2 this is the cgroup of TaskCgroups; in version 1 there is one
 * per controller. The memory limit is hard. Shares matter only if the machine is busy.
 */
export class TaskLimits {
  private constructor(
    readonly version: 1 | 2,
    /** The directories that contain the runs' cgroups, by controller. */
    private readonly roots: Readonly<Record<'memory' | 'cpu', string>>,
  ) {}

  /** @throws NoLimitsError */
  static async find(): Promise<TaskLimits> {
    const mounted = await readMounts();
    try {
      const second = mounted.find(({ type }) => type === 'cgroup2');
      if (second && hasControllers(second.point)) return TaskLimits.inSecondVersion(second.point);
      const memory = mounted.find((mount) => isController(mount, 'memory'));
      const cpu = mounted.find((mount) => isController(mount, 'cpu'));
      if (!memory || !cpu) throw new NoLimitsError('no cgroup tree of this machine has the controllers memory and cpu');
      const roots = { memory: below(memory.point, 'waybill'), cpu: below(cpu.point, 'waybill') };
      for (const root of Object.values(roots)) mkdirSync(root, { recursive: true });
      return new TaskLimits(1, roots);
    } catch (error) {
      if (error instanceof NoLimitsError) throw error;
      throw new NoLimitsError(`cgroups cannot be written: ${errorText(error)}`);
    }
  }

  private static inSecondVersion(mountPoint: string): TaskLimits {
    const root = below(mountPoint, 'waybill');
    mkdirSync(root, { recursive: true });
    for (const above of [mountPoint, root]) appendFileSync(below(above, 'cgroup.subtree_control'), '+memory +cpu');
    return new TaskLimits(2, { memory: root, cpu: root });
  }

  /** Makes the cgroups of a run and sets its limits. It has to be called before the run starts. */
  make(run: string, resources: TaskResources): void {
    for (const directory of this.directoriesOf(run)) mkdirSync(directory, { recursive: true });
    for (const { directory, file, value, optional } of this.cgroupSettings(run, resources)) {
      const at = below(directory, pathName(file));
      if (!optional || existsSync(at)) writeFileSync(at, value);
    }
  }

  /**
   * Moves a process into the run's cgroups; the limits include its later children.
   * @throws Error if the process is gone
   */
  async place(run: string, pid: number): Promise<void> {
    await Promise.all(
      this.directoriesOf(run).map((directory) => writeFile(below(directory, 'cgroup.procs'), String(pid))),
    );
  }

  /** Says whether a process of the run was killed because the run exceeded its memory limit. */
  async wasOutOfMemory(run: string): Promise<boolean> {
    const file = this.version === 2 ? 'memory.events' : 'memory.oom_control';
    const text = await readFile(below(this.roots.memory, pathName(run, 'the run'), pathName(file)), 'utf8').catch(
      () => '',
    );
    return Number(/^oom_kill (\d+)$/m.exec(text)?.[1] ?? 0) > 0;
  }

  /**
   * Removes the cgroups of a run that ended or never started. A cgroup that cannot be removed is empty and uses
   * nothing.
   */
  async remove(run: string): Promise<void> {
    for (const directory of this.directoriesOf(run)) {
      for (let attempt = 0; attempt < REMOVE_ATTEMPTS && existsSync(directory); attempt++) {
        if (attempt > 0) await new Promise((resolve) => setTimeout(resolve, REMOVE_RETRY_MS));
        await rmdir(directory).catch(() => {});
      }
    }
  }

  /** Returns the cgroups of a run, for callers that move a process themselves. */
  directoriesOf(run: string): string[] {
    return [...new Set(Object.values(this.roots))].map((root) => below(root, pathName(run, 'the run')));
  }

  private cgroupSettings(run: string, { cpuShares, memoryMB, memoryMaxMB }: TaskResources): Setting[] {
    const memory = below(this.roots.memory, pathName(run, 'the run'));
    const cpu = below(this.roots.cpu, pathName(run, 'the run'));
    const hard = String((memoryMaxMB > 0 ? memoryMaxMB : memoryMB) * MB);
    const soft = String(memoryMB * MB);
    const shares = Math.min(Math.max(cpuShares, MIN_SHARES), MAX_SHARES);
    const isBounded = memoryMB > 0;
    if (this.version === 1)
      return [
        ...(isBounded
          ? [
              { directory: memory, file: 'memory.limit_in_bytes', value: hard },
              { directory: memory, file: 'memory.soft_limit_in_bytes', value: soft },
              { directory: memory, file: 'memory.memsw.limit_in_bytes', value: hard, optional: true },
            ]
          : []),
        { directory: cpu, file: 'cpu.shares', value: String(shares) },
      ];
    return [
      ...(isBounded
        ? [
            { directory: memory, file: 'memory.max', value: hard },
            { directory: memory, file: 'memory.low', value: soft },
            { directory: memory, file: 'memory.swap.max', value: '0', optional: true },
          ]
        : []),
      { directory: cpu, file: 'cpu.weight', value: String(weightOf(shares)) },
    ];
  }
}

/** Converts shares of version 1 to a weight of version 2. The ends of both ranges correspond. */
const weightOf = (shares: number): number =>
  Math.trunc(1 + ((shares - MIN_SHARES) * (MAX_WEIGHT - 1)) / (MAX_SHARES - MIN_SHARES));

function hasControllers(mountPoint: string): boolean {
  const controllers = readFileSync(below(mountPoint, 'cgroup.controllers'), 'utf8').trim().split(' ');
  return controllers.includes('memory') && controllers.includes('cpu');
}

const isController = ({ type, options }: Mount, name: string): boolean => type === 'cgroup' && options.includes(name);
