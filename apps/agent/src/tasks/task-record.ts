import type { TaskState } from '@waybill/model';
import type { ExitResult, TaskHandle } from '../drivers/driver.js';

/** What is kept of a task on disk. */
export interface TaskRecord {
  readonly state: TaskState;
  readonly handle: TaskHandle | null;
  /** How its process ended, if `state` does not say yet what comes of that. Absent: it has not ended, or it is decided. */
  readonly exit?: ExitResult;
  /** It was put down by the agent, not by itself: it runs again once the servers still want it. */
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
