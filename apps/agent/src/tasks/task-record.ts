import type { TaskState } from '@waybill/model';
import type { TaskHandle } from '../drivers/driver.js';

/** What is kept of a task on disk. */
export interface TaskRecord {
  readonly state: TaskState;
  readonly handle: TaskHandle | null;
  /** It was put down by the agent, not by itself: it runs again once the servers still want it. */
  readonly suspended: boolean;
}

/** Of a task that nothing has happened to yet. */
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
