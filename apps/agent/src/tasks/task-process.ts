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
 * What runs of one task, as its driver has it.
 *
 * none → prepared → up → down → none. prepared: its handle is known, to be kept before the driver is asked to start
 * (AG-440). up: started, or taken up again from an earlier agent. down: it has ended, and what is left of it is there.
 * forgotten at any moment: nothing is left. Commands that run beside it end with it. Cost: nothing while it runs.
 */
export class TaskProcess {
  private up = false;
  /** As it was started; null: by an earlier agent. */
  private config: TaskConfig | null = null;
  private readonly commands: TaskExec;

  /** @param current by which an earlier agent's is found again */
  constructor(
    private readonly context: TaskContext,
    private current: TaskHandle | null,
  ) {
    this.commands = new TaskExec(context);
  }

  get isUp(): boolean {
    return this.up;
  }

  /** What finds it again; null: there is none. */
  get handle(): TaskHandle | null {
    return this.current;
  }

  /** Of its own, that the driver has given it. */
  get network(): DriverNetwork | null {
    return this.current && this.up ? (this.context.driver.network?.(this.current.taskId) ?? null) : null;
  }

  prepare(config: TaskConfig): TaskHandle {
    this.config = config;
    this.current = this.context.driver.prepare(config);
    return this.current;
  }

  /** @param tell what the driver says of it @throws what the driver says; something may be left of it then */
  async start(config: TaskConfig, handle: TaskHandle, tell: (message: string) => void): Promise<void> {
    await this.context.driver.start(config, handle, tell);
    this.up = true;
  }

  /** Takes up what an earlier agent has started (AG-193). @returns false: it cannot be found */
  async takeUp(handle: TaskHandle): Promise<boolean> {
    this.up = await this.context.driver.recover(handle);
    return this.up;
  }

  /** Resolves when it has ended. */
  async exit({ taskId }: TaskHandle): Promise<ExitResult> {
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

  /** What it uses now; undefined when it is not up (AG-330). */
  async usage(): Promise<TaskResourceUsage | undefined> {
    if (!this.current || !this.up) return undefined;
    return this.context.driver.stats(this.current.taskId).catch((error: unknown) => {
      if (error instanceof TaskNotFoundError) return undefined; // it ended meanwhile
      throw error;
    });
  }

  /** Removes what is left of it. Never fails. @param force also when it runs */
  async forget(force = false): Promise<void> {
    try {
      await this.remove(force);
    } catch (error) {
      const { agent, allocId, task } = this.context;
      agent.logger.warn('what is left of a task cannot be removed', { alloc: allocId, task: task.Name, error });
    }
  }

  /** The same. @throws what the driver says */
  async remove(force: boolean): Promise<void> {
    const { current } = this;
    this.current = null;
    if (current) await this.context.driver.destroy(current, force);
  }
}
