import type { TaskResourceUsage } from '@waybill/rpc';
import {
  type DriverNetwork,
  type ExitResult,
  type TaskConfig,
  type TaskHandle,
  TaskNotFoundError,
} from '../drivers/driver.js';
import type { ExecCommand, ExecSession } from './exec/exec-session.js';
import type { TaskContext } from './task-context.js';
import { TaskExec } from './task-exec.js';

/**
 * TaskProcess is the process of one task in its driver.
 *
 * States: none → prepared → up → down → none. prepared: its handle is known and has to be saved before the driver
 * starts it (AG-440). up: it was started, or recovered from an earlier agent. down: it has ended, and its remains are
 * still there. `removeRemains` removes them at any moment. Commands that run beside it end with it. Cost: nothing while
 * it runs.
 */
export class TaskProcess {
  private up = false;
  /** The configuration of its start; null if an earlier agent started it. */
  private config: TaskConfig | null = null;
  private readonly commands: TaskExec;

  /** @param current the handle of an earlier agent's process */
  constructor(
    private readonly context: TaskContext,
    private current: TaskHandle | null,
  ) {
    this.commands = new TaskExec(context);
  }

  get isUp(): boolean {
    return this.up;
  }

  /** The handle that finds the process again; null if there is none. */
  get handle(): TaskHandle | null {
    return this.current;
  }

  /** The network that the driver made for the task alone. */
  get network(): DriverNetwork | null {
    return this.current && this.up ? (this.context.driver.network?.(this.current.taskId) ?? null) : null;
  }

  prepare(config: TaskConfig): TaskHandle {
    this.config = config;
    this.current = this.context.driver.prepare(config);
    return this.current;
  }

  /**
   * Starts the process.
   * @param tell receives the driver's messages
   * @param unwanted is aborted when the task is not wanted any more
   * @throws the driver's error; there may be remains then
   */
  async start(
    config: TaskConfig,
    handle: TaskHandle,
    tell: (message: string) => void,
    unwanted: AbortSignal,
  ): Promise<void> {
    this.current = (await this.context.driver.start(config, handle, tell, unwanted)) ?? handle;
    this.up = true;
  }

  /** Recovers the process that an earlier agent started (AG-193). @returns false if it cannot be found */
  async recoverProcess(handle: TaskHandle): Promise<boolean> {
    this.up = await this.context.driver.recover(handle);
    return this.up;
  }

  /** Returns the exit. Resolves when the process has ended. */
  async awaitExit({ taskId }: TaskHandle): Promise<ExitResult> {
    const result = await this.context.driver.wait(taskId);
    this.up = false;
    this.commands.end();
    return result;
  }

  /** @throws NoExecError, the driver's error */
  async runCommand(command: ExecCommand, handle: TaskHandle): Promise<ExecSession> {
    const session = await this.commands.runCommand(command, handle, this.config);
    if (!this.up) await session.kill();
    return session;
  }

  /** Returns its current usage, or undefined if it is not up (AG-330). */
  async usage(): Promise<TaskResourceUsage | undefined> {
    if (!this.current || !this.up) return undefined;
    return this.context.driver.stats(this.current.taskId).catch((error: unknown) => {
      if (error instanceof TaskNotFoundError) return undefined; // it has ended meanwhile
      throw error;
    });
  }

  /** Removes its remains. It never fails; it logs failures. @param force whether to remove it even if it runs */
  async removeRemains(force = false): Promise<void> {
    try {
      await this.remove(force);
    } catch (error) {
      const { agent, allocId, task } = this.context;
      agent.logger.warn('what is left of a task cannot be removed', { alloc: allocId, task: task.Name, error });
    }
  }

  /** Removes its remains like `removeRemains`. @throws the driver's error */
  async remove(force: boolean): Promise<void> {
    const { current } = this;
    this.current = null;
    if (current) await this.context.driver.destroy(current, force);
  }
}
