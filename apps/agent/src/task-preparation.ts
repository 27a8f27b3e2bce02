import type { Allocation, Job, Node, Task } from '@waybill/model';
import type { AllocDirectories } from './alloc-directories.js';
import type { TaskConfig, TaskPaths } from './drivers/driver.js';
import { runHooks, type TaskHook, type TaskStart } from './hooks/task-hook.js';
import { TaskEnv } from './task-env.js';

export interface TaskPreparationDependencies {
  readonly directories: AllocDirectories;
  /** In the order in which they run; default: none. */
  readonly hooks?: readonly TaskHook[];
  readonly node: () => Node;
  readonly region: string;
  readonly hostEnv: Readonly<Record<string, string | undefined>>;
}

/** A task as the servers want it now. */
export interface WantedTask {
  readonly alloc: Allocation;
  readonly job: Job;
  readonly task: Task;
}

/** One start of a task, as its hooks see it. */
export type TaskRound = Pick<TaskStart, 'signal' | 'over' | 'emit' | 'control'>;

/** What is done between "it may start" and the driver: directories, environment, hooks. Stateless. */
export class TaskPreparation {
  constructor(private readonly deps: TaskPreparationDependencies) {}

  async configure(taskId: string, wanted: WantedTask): Promise<TaskConfig> {
    const { alloc, task } = wanted;
    const paths = await this.deps.directories.build(alloc.ID, task.Name);
    const identity = { taskId, allocId: alloc.ID, task: task.Name, user: task.User };
    return { ...identity, ...this.inEnv(wanted, paths), paths, logs: task.LogConfig };
  }

  /** @returns the task as it is to be started, with what the hooks add. @throws HookError */
  async prestart(config: TaskConfig, wanted: WantedTask, round: TaskRound): Promise<TaskConfig> {
    const { paths } = config;
    const { env: added, mounts } = await runHooks(this.deps.hooks ?? [], this.startOf(config, wanted, round));
    return { ...config, ...this.inEnv(wanted, paths, added), mounts };
  }

  /** For a task that ran on without the agent. @throws what a hook throws */
  async attach(config: TaskConfig, wanted: WantedTask, round: TaskRound): Promise<void> {
    const start = this.startOf(config, wanted, round);
    for (const hook of this.deps.hooks ?? []) await hook.attach?.(start);
  }

  private startOf(config: TaskConfig, wanted: WantedTask, round: TaskRound): TaskStart {
    const env = this.envOf(wanted, config.paths);
    const interpolate = (text: string): string => env.interpolate(text);
    return { ...wanted, config, interpolate, lookup: (name) => env.lookup(name), ...round };
  }

  private inEnv(
    wanted: WantedTask,
    paths: TaskPaths,
    added?: Readonly<Record<string, string>>,
  ): Pick<TaskConfig, 'config' | 'env'> {
    const env = this.envOf(wanted, paths, added);
    return { config: env.interpolateAll(wanted.task.Config ?? {}) as Record<string, unknown>, env: env.variables };
  }

  private envOf(wanted: WantedTask, paths: TaskPaths, added: Readonly<Record<string, string>> = {}): TaskEnv {
    const { node, region, hostEnv } = this.deps;
    return new TaskEnv({ ...wanted, node: node(), region, paths, hostEnv, added });
  }
}
