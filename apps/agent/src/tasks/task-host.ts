import type { Clock, Timers } from '@waybill/model';
import type { Logger } from '@waybill/telemetry';
import type { Driver, TaskConfig } from '../drivers/driver.js';
import type { Gate } from '../waiting/gate.js';
import type { RestartTracker } from './restart-tracker.js';

/** What a task runner is given by the allocation that it belongs to. */
export interface TaskHost {
  readonly allocId: string;
  readonly driver: Driver;
  /** AG-155: a task's own `kill_timeout` is cut to this. */
  readonly maxKillTimeoutMs: number;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly newId: () => string;
  readonly logger: Logger;
  readonly restarts: RestartTracker;
  /** Directories, environment, interpolated configuration; called before each start. */
  readonly configure: (taskId: string) => Promise<TaskConfig>;
  /** What has to be there before the start (AG-102). @returns what the driver is told. @throws HookError */
  readonly prestart: (config: TaskConfig, killed: AbortSignal, over: AbortSignal) => Promise<TaskConfig>;
  /** What has to be taken up again around a task that ran on without the agent. Never rejects. */
  readonly attach: (taskId: string, killed: AbortSignal, over: AbortSignal) => Promise<void>;
  /** AG-101: the servers still want it to run. */
  readonly isWanted: () => boolean;
  /** The lifecycle lets it start (task-lifecycle.ts). */
  readonly mayStart: () => boolean;
  /** AG-154: open when the servers want the delays of a kill skipped. */
  readonly delaysSkipped: Gate;
  /** Opens when the servers have been asked since the start of the agent. */
  readonly serversAsked: Gate;
  /** AG-194: false for tasks that run on without asking. */
  readonly asksAfterLoss: boolean;
  /** AG-142: its services are offered no longer. Resolves when the servers know, or took too long. */
  readonly withdraw: () => Promise<void>;
  /** Resolves when the present record is on disk (AG-191). */
  readonly save: () => Promise<void>;
  /** Called after every change of state. */
  readonly changed: () => void;
}
