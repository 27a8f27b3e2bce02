import { Refusal } from '@waybill/model';

/** What was asked for needs a task that runs (AG-160, AG-165). */
export class TaskNotRunningError extends Refusal {
  override readonly name = 'TaskNotRunningError';
  constructor() {
    super('conflict', 'Task not running');
  }
}

/** Waits for what may be asked of a task at any time; one that does not run is left alone. */
export async function ifRunning(done: Promise<void>): Promise<void> {
  try {
    await done;
  } catch (error) {
    if (!(error instanceof TaskNotRunningError)) throw error;
  }
}
