import type { Allocation, Job, Node, Task } from '@waybill/model';
import type { AllocDirectories } from './alloc-directories.js';
import type { TaskConfig, TaskPaths } from './drivers/driver.js';
import { runHooks, type TaskHook } from './hooks/task-hook.js';
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

/** What is done between "it may start" and the driver: directories, environment, hooks. Stateless. */
export class TaskPreparation {
  constructor(private readonly deps: TaskPreparationDependencies) {}

  async configure(taskId: string, wanted: WantedTask): Promise<TaskConfig> {
    const { alloc, task } = wanted;
    const paths = await this.deps.directories.build(alloc.ID, task.Name);
    const env = this.envOf(wanted, paths);
    return {
      taskId,
      allocId: alloc.ID,
      task: task.Name,
      user: task.User,
      config: env.interpolateAll(task.Config ?? {}) as Record<string, unknown>,
      env: env.variables,
      paths,
      logs: task.LogConfig,
    };
  }

  /** @throws HookError */
  prestart(
    config: TaskConfig,
    wanted: WantedTask,
    signal: AbortSignal,
    emit: (type: string, details?: Record<string, string>) => void,
  ): Promise<void> {
    const { hooks = [] } = this.deps;
    const env = this.envOf(wanted, config.paths);
    const { job, task } = wanted;
    return runHooks(hooks, { job, task, config, interpolate: (text) => env.interpolate(text), signal, emit });
  }

  private envOf(wanted: WantedTask, paths: TaskPaths): TaskEnv {
    const { node, region, hostEnv } = this.deps;
    return new TaskEnv({ ...wanted, node: node(), region, paths, hostEnv });
  }
}
