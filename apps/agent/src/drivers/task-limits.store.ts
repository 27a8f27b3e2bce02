import { errorText } from '@waybill/model';
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { readFile, rmdir } from 'node:fs/promises';
import { type Mount, mounts } from '../allocations/disk/mount-table.store.js';
import type { TaskResources } from './driver.js';
import { below, pathName } from '../paths/path-name.js';

const MB = 1024 * 1024;
/** Range of shares in the first version of cgroups, and of weights in the second. */
const MIN_SHARES = 2;
const MAX_SHARES = 262_144;
const MAX_WEIGHT = 10_000;
/** How often, and how long apart, a cgroup whose last process is on its way out is tried to be removed. */
const REMOVE_ATTEMPTS = 50;
const REMOVE_RETRY_MS = 10;

/** Why this machine can bound no task. */
export class NoLimitsError extends Error {
  override readonly name = 'NoLimitsError';
}

/** A file of a run's cgroup, and what is written into it. `optional`: not every kernel has it. */
interface Setting {
  readonly directory: string;
  readonly file: string;
  readonly value: string;
  readonly optional?: boolean;
}

/**
 * Bounds the memory of each run of a task, and weighs its share of the processor, by a cgroup that is named after the run,
 * so that an agent that was restarted finds it again. In the second version's tree this is the cgroup of TaskCgroups; in
 * the first version's there is one for each controller. Memory is a hard limit, shares count only when the machine is busy.
 */
export class TaskLimits {
  private constructor(
    readonly version: 1 | 2,
    /** Of cgroups of runs, by controller. */
    private readonly roots: Readonly<Record<'memory' | 'cpu', string>>,
  ) {}

  /** @throws NoLimitsError */
  static async find(): Promise<TaskLimits> {
    const mounted = await mounts();
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

  /** Before the run starts. */
  make(run: string, resources: TaskResources): void {
    for (const directory of this.directoriesOf(run)) mkdirSync(directory, { recursive: true });
    for (const { directory, file, value, optional } of this.settings(run, resources)) {
      const at = below(directory, pathName(file));
      if (!optional || existsSync(at)) writeFileSync(at, value);
    }
  }

  /** From now on the process, and whatever it starts, is bounded. @throws when it is gone already */
  place(run: string, pid: number): void {
    for (const directory of this.directoriesOf(run)) writeFileSync(below(directory, 'cgroup.procs'), String(pid));
  }

  /** Whether something of the run was killed because it took more memory than it may. */
  async wasOutOfMemory(run: string): Promise<boolean> {
    const file = this.version === 2 ? 'memory.events' : 'memory.oom_control';
    const text = await readFile(below(this.roots.memory, pathName(run, 'the run'), pathName(file)), 'utf8').catch(
      () => '',
    );
    return Number(/^oom_kill (\d+)$/m.exec(text)?.[1] ?? 0) > 0;
  }

  /** Of a run that ended, or was never started. What cannot be removed is empty and takes nothing. */
  async remove(run: string): Promise<void> {
    for (const directory of this.directoriesOf(run)) {
      for (let attempt = 0; attempt < REMOVE_ATTEMPTS && existsSync(directory); attempt++) {
        if (attempt > 0) await new Promise((resolve) => setTimeout(resolve, REMOVE_RETRY_MS));
        await rmdir(directory).catch(() => {});
      }
    }
  }

  /** For those who place a process by themselves. */
  directoriesOf(run: string): string[] {
    return [...new Set(Object.values(this.roots))].map((root) => below(root, pathName(run, 'the run')));
  }

  private settings(run: string, { cpuShares, memoryMB, memoryMaxMB }: TaskResources): Setting[] {
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

/** Shares of the first version as a weight of the second: the ends of one range are those of the other. */
const weightOf = (shares: number): number =>
  Math.trunc(1 + ((shares - MIN_SHARES) * (MAX_WEIGHT - 1)) / (MAX_SHARES - MIN_SHARES));

function hasControllers(mountPoint: string): boolean {
  const controllers = readFileSync(below(mountPoint, 'cgroup.controllers'), 'utf8').trim().split(' ');
  return controllers.includes('memory') && controllers.includes('cpu');
}

const isController = ({ type, options }: Mount, name: string): boolean => type === 'cgroup' && options.includes(name);
