import { formatDuration, msFromNs, nsFromMs, type Task } from '@waybill/model';
import { type TaskHandle, TaskNotFoundError } from '../drivers/driver.js';
import { type Gate, pause } from '../waiting/gate.js';
import type { TaskHost } from './task-host.js';

/** AG-155, where nothing else is said. */
export const MAX_KILL_TIMEOUT_MS = 30_000;
/** AG-156: a driver's stop that fails is tried this often, with these waits between. */
export const MAX_STOP_ATTEMPTS = 5;
const STOP_RETRY_MS = 5_000;
const MAX_STOP_RETRY_MS = 120_000;

export interface TaskStopDeps extends Pick<
  TaskHost,
  'allocId' | 'maxKillTimeoutMs' | 'driver' | 'timers' | 'logger' | 'withdraw' | 'delaysSkipped'
> {
  readonly task: () => Task;
  /** Its process lives, as far as is known. */
  readonly isUp: () => boolean;
  /** Ends every wait. */
  readonly ended: () => Gate;
  readonly emit: (type: string, details: Record<string, string>) => void;
}

/** The way down of a task that runs. No state of its own; what the task does meanwhile is looked at after every wait. */
export class TaskStop {
  constructor(private readonly deps: TaskStopDeps) {}

  get killTimeoutMs(): number {
    return Math.min(msFromNs(this.deps.task().KillTimeout), this.deps.maxKillTimeoutMs);
  }

  /** Details of the event that says it is going. */
  killing(details: Record<string, string>): Record<string, string> {
    return { kill_timeout: formatDuration(nsFromMs(this.killTimeoutMs)), ...details };
  }

  /** For good: its services, its delay, then the driver's stop (AG-152 to AG-154). */
  async kill(handle: TaskHandle): Promise<void> {
    await this.deps.withdraw();
    await this.shutdownDelay();
    await this.byDriver(handle);
  }

  /** To be started again: without its delay. */
  async forRestart(handle: TaskHandle): Promise<void> {
    await this.deps.withdraw();
    await this.byDriver(handle);
  }

  /**
   * Again and again while the driver fails and the task lives (AG-156). What cannot be stopped is given up here, but
   * still waited for by its runner.
   */
  async byDriver({ taskId }: TaskHandle): Promise<void> {
    const { driver, allocId, logger, timers, isUp } = this.deps;
    const { Name, KillSignal } = this.deps.task();
    for (let attempt = 0; attempt < MAX_STOP_ATTEMPTS && isUp(); attempt++) {
      try {
        return await driver.stop(taskId, this.killTimeoutMs, KillSignal);
      } catch (error) {
        if (error instanceof TaskNotFoundError) return;
        logger.warn('a task could not be stopped', { alloc: allocId, task: Name, error });
        await pause(timers, Math.min(STOP_RETRY_MS * 4 ** attempt, MAX_STOP_RETRY_MS), this.deps.ended());
      }
    }
  }

  private async shutdownDelay(): Promise<void> {
    const { delaysSkipped, timers, isUp, ended, emit } = this.deps;
    const { ShutdownDelay } = this.deps.task();
    if (ShutdownDelay <= 0 || !isUp()) return;
    const [type, doing] = delaysSkipped.isOpen
      ? (['Skipping shutdown delay', 'Skipping'] as const)
      : (['Waiting for shutdown delay', 'Waiting for'] as const);
    emit(type, { message: `${doing} shutdown_delay of ${formatDuration(ShutdownDelay)} before killing the task.` });
    if (!delaysSkipped.isOpen) await pause(timers, msFromNs(ShutdownDelay), ended(), delaysSkipped);
  }
}
