import { formatDuration, msFromNs, nsFromMs } from '@waybill/model';
import { type TaskHandle, TaskNotFoundError } from '../drivers/driver.js';
import { pause } from '../waiting/gate.js';
import type { TaskContext } from './task-context.js';
import type { TaskProcess } from './task-process.js';

/** The largest kill timeout by default, in milliseconds (AG-155). */
export const MAX_KILL_TIMEOUT_MS = 30_000;
/** Attempts to stop a task with its driver, and the first and longest wait between them (AG-156). */
export const MAX_STOP_ATTEMPTS = 5;
const STOP_RETRY_MS = 5_000;
const MAX_STOP_RETRY_MS = 120_000;

/** TaskStopper stops a running task. It has no state of its own, and checks the task's state after every wait. */
export class TaskStopper {
  constructor(
    private readonly context: TaskContext,
    private readonly process: TaskProcess,
  ) {}

  get killTimeoutMs(): number {
    const { task, agent } = this.context;
    return Math.min(msFromNs(task.KillTimeout), agent.maxKillTimeoutMs);
  }

  /** Returns the details of the kill event. */
  killingDetails(details: Record<string, string>): Record<string, string> {
    return { kill_timeout: formatDuration(nsFromMs(this.killTimeoutMs)), ...details };
  }

  /**
   * Stops the task for good: it withdraws the services, waits for the delay, then lets the driver stop it (AG-152 to
   * AG-154).
   */
  async kill(handle: TaskHandle): Promise<void> {
    await this.context.allocation.control.taskGoesDown();
    await this.waitForShutdownDelay();
    await this.stopByDriver(handle);
  }

  /** Stops the task for a restart, without the delay. */
  async stopForRestart(handle: TaskHandle): Promise<void> {
    await this.context.allocation.control.taskGoesDown();
    await this.stopByDriver(handle);
  }

  /**
   * Stops the task through its driver, and retries while the driver fails and the task is alive (AG-156). After the
   * last attempt it gives up, but the task's runner still waits for the exit.
   */
  async stopByDriver({ taskId }: TaskHandle): Promise<void> {
    const { driver, allocId, agent } = this.context;
    const { Name, KillSignal } = this.context.task;
    for (let attempt = 0; attempt < MAX_STOP_ATTEMPTS && this.process.isUp; attempt++) {
      try {
        return await driver.stop(taskId, this.killTimeoutMs, KillSignal);
      } catch (error) {
        if (error instanceof TaskNotFoundError) return;
        agent.logger.warn('a task could not be stopped', { alloc: allocId, task: Name, error });
        const retryMs = Math.min(STOP_RETRY_MS * 4 ** attempt, MAX_STOP_RETRY_MS);
        await pause(agent.timers, retryMs, this.context.ended);
      }
    }
  }

  private async waitForShutdownDelay(): Promise<void> {
    const { agent, allocation, ended } = this.context;
    const { delaysSkipped } = allocation;
    const { ShutdownDelay } = this.context.task;
    if (ShutdownDelay <= 0 || !this.process.isUp) return;
    const [type, doing] = delaysSkipped.isOpen
      ? (['Skipping shutdown delay', 'Skipping'] as const)
      : (['Waiting for shutdown delay', 'Waiting for'] as const);
    this.context.emit(type, {
      message: `${doing} shutdown_delay of ${formatDuration(ShutdownDelay)} before killing the task.`,
    });
    if (!delaysSkipped.isOpen) await pause(agent.timers, msFromNs(ShutdownDelay), ended, delaysSkipped);
  }
}
