import {
  coreEvaluation,
  nsFromMs,
  type CancelTimer,
  type Clock,
  type CoreTask,
  type Evaluation,
  type Timers,
} from '@waybill/model';

const MINUTE_MS = 60_000;

/** Intervals of the kinds of housekeeping, ms. */
export type CorePeriods = Readonly<Partial<Record<CoreTask, number>>>;

/** The usual intervals (EB-146). `force-gc` is on demand only. */
export const CORE_PERIODS_MS: CorePeriods = {
  'eval-gc': 5 * MINUTE_MS,
  'node-gc': 5 * MINUTE_MS,
  'job-gc': 5 * MINUTE_MS,
  'deployment-gc': 5 * MINUTE_MS,
  'csi-plugin-gc': 5 * MINUTE_MS,
  'csi-volume-claim-gc': 5 * MINUTE_MS,
  'one-time-token-gc': 10 * MINUTE_MS,
  'local-token-expired-gc': 5 * MINUTE_MS,
  'global-token-expired-gc': 5 * MINUTE_MS,
  'root-key-rotate-gc': 10 * MINUTE_MS,
  'variables-rekey': 10 * MINUTE_MS,
};

export interface CoreTimersDeps {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly newId: () => string;
  /** Index that was applied last. */
  readonly index: () => number;
  readonly enqueue: (evaluation: Evaluation) => void;
  /** Override CORE_PERIODS_MS (GC-127, GC-128). */
  readonly periodsMs: CorePeriods;
}

/**
 * Raises the holder's housekeeping: one core evaluation for each kind and interval, which is enqueued and never written to
 * the log. An evaluation that is raised while the broker is paused is lost, and the next interval raises another (EB-132).
 *
 * Modes: running (`start`) → stopped (`stop`), for one term; the first tick comes an interval after the start (GC-1).
 * Memory: one timer for each kind.
 */
export class CoreTimers {
  private readonly cancelTimers = new Map<CoreTask, CancelTimer>();
  /** Proves within this term that the holder itself raised an evaluation. */
  private readonly leaderAcl: string;

  constructor(private readonly deps: CoreTimersDeps) {
    this.leaderAcl = deps.newId();
  }

  start(): void {
    for (const [task, ms] of Object.entries({ ...CORE_PERIODS_MS, ...this.deps.periodsMs }))
      this.every(ms, task as CoreTask);
  }

  stop(): void {
    for (const cancel of this.cancelTimers.values()) cancel();
    this.cancelTimers.clear();
  }

  /** Enqueues one evaluation for the task (EB-145, EB-147). */
  raise(task: CoreTask): void {
    const { newId, index, clock } = this.deps;
    this.deps.enqueue(
      coreEvaluation(task, { id: newId(), index: index(), nowNs: nsFromMs(clock.nowMs()), leaderAcl: this.leaderAcl }),
    );
  }

  /** Whether this term raised the evaluation (GC-7). */
  raised({ LeaderACL }: Evaluation): boolean {
    return LeaderACL === this.leaderAcl;
  }

  private every(ms: number, task: CoreTask): void {
    const tick = (): void => {
      this.raise(task);
      this.every(ms, task);
    };
    this.cancelTimers.set(task, this.deps.timers.after(ms, tick));
  }
}
