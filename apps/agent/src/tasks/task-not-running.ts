import { Refusal } from '@waybill/model';

/** TaskNotRunningError says that a request needs a running task and the task does not run (AG-160, AG-165). */
export class TaskNotRunningError extends Refusal {
  override readonly name = 'TaskNotRunningError';
  constructor() {
    super('conflict', 'Task not running');
  }
}

/** Awaits a request to a task, and ignores that the task does not run. */
export async function ifRunning(done: Promise<void>): Promise<void> {
  try {
    await done;
  } catch (error) {
    if (!(error instanceof TaskNotRunningError)) throw error;
  }
}
