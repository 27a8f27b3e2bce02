import type { Task } from '@waybill/model';
import { type TaskHandle, TaskNotFoundError } from './drivers/driver.js';
import type { TaskHost } from './task-host.js';

/** AG-156: a driver's stop that fails is tried this often, with these waits between. */
export const MAX_STOP_ATTEMPTS = 5;
const STOP_RETRY_MS = 5_000;
const MAX_STOP_RETRY_MS = 120_000;

/**
 * Has the driver stop a task, again and again while that fails and the task lives (AG-156). What cannot be stopped is given
 * up here, but still waited for by its runner.
 */
export async function stopByDriver(
  { driver, allocId, logger }: Pick<TaskHost, 'driver' | 'allocId' | 'logger'>,
  { taskId }: TaskHandle,
  { Name, KillSignal }: Pick<Task, 'Name' | 'KillSignal'>,
  killTimeoutMs: number,
  isUp: () => boolean,
  pause: (ms: number) => Promise<void>,
): Promise<void> {
  for (let attempt = 0; attempt < MAX_STOP_ATTEMPTS && isUp(); attempt++) {
    try {
      return await driver.stop(taskId, killTimeoutMs, KillSignal);
    } catch (error) {
      if (error instanceof TaskNotFoundError) return;
      logger.warn('a task could not be stopped', { alloc: allocId, task: Name, error });
      await pause(Math.min(STOP_RETRY_MS * 4 ** attempt, MAX_STOP_RETRY_MS));
    }
  }
}
