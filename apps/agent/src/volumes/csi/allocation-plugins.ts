import type { Task, TaskState } from '@waybill/model';
import type { Logger } from '@waybill/telemetry';
import type { PluginSupervisor } from './plugin-supervisor.js';

/**
 * AllocationPlugins supervises the storage plugins among an allocation's tasks. There is one supervisor per life of
 * such a task, from its first run until it is dead for good. Cost of a call: O(plugin tasks of the group), nothing
 * without them.
 */
export class AllocationPlugins {
  private readonly tasks: readonly Task[];
  private readonly supervisors = new Map<string, PluginSupervisor>();
  private readonly withdrawn = new Set<string>();

  constructor(
    tasks: readonly Task[],
    private readonly supervisorOf: (task: Task) => PluginSupervisor,
    private readonly logger: Logger,
  ) {
    this.tasks = tasks.filter(({ CSIPluginConfig }) => CSIPluginConfig !== null);
  }

  /** Updates the supervisors. It is called after each change of a task. */
  superviseTasks(states: Readonly<Record<string, TaskState>>): void {
    for (const task of this.tasks) {
      const state = states[task.Name]?.State;
      if (state === 'dead') this.withdrawPlugin(task);
      else if (state === 'running') this.superviseTask(task)?.taskIs(true);
      else this.supervisors.get(task.Name)?.taskIs(false);
    }
  }

  /** Closes the supervisors at the end of the agent or of the whole allocation. */
  close(): void {
    for (const supervisor of this.supervisors.values()) supervisor.close();
  }

  private superviseTask(task: Task): PluginSupervisor | undefined {
    const known = this.supervisors.get(task.Name);
    if (known) return known;
    this.withdrawn.delete(task.Name);
    try {
      const supervisor = this.supervisorOf(task);
      this.supervisors.set(task.Name, supervisor);
      return supervisor;
    } catch (error) {
      this.logger.error('a storage plugin cannot be looked after', { task: task.Name, error });
      return undefined;
    }
  }

  /** Withdraws the plugin of a task, even if it was never healthy or an earlier agent supervised it (VL-210). */
  private withdrawPlugin(task: Task): void {
    if (this.withdrawn.has(task.Name)) return;
    const supervisor = this.superviseTask(task);
    this.withdrawn.add(task.Name);
    this.supervisors.delete(task.Name);
    supervisor?.stop().catch((error: unknown) => {
      this.logger.error('what is left of a storage plugin cannot be removed', { task: task.Name, error });
    });
  }
}
