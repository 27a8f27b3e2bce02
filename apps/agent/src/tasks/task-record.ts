import type { TaskState } from '@waybill/model';
import type { ExitResult, TaskHandle } from '../drivers/driver.js';

/** TaskRecord is the state of a task on disk. */
export interface TaskRecord {
  readonly state: TaskState;
  readonly handle: TaskHandle | null;
  /**
   * The exit of its process, if the runner has not decided yet what follows. Absent if it has not ended, or if that is
   * decided.
   */
  readonly exit?: ExitResult;
  /** Whether the agent stopped it at its own end. It runs again if the servers still want it. */
  readonly suspended: boolean;
}

/** Initial state of a task that has not started. */
export const NEW_STATE: TaskState = {
  State: 'pending',
  Failed: false,
  Restarts: 0,
  LastRestart: null,
  StartedAt: null,
  FinishedAt: null,
  Events: [],
  Paused: '',
};
