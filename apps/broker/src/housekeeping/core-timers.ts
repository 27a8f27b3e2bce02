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

/** How often kinds of housekeeping are due, ms. */
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
  /** Of the state that was applied last. */
  readonly index: () => number;
  readonly enqueue: (evaluation: Evaluation) => void;
  /** Instead of those of CORE_PERIODS_MS (GC-127, GC-128). */
  readonly periodsMs: CorePeriods;
}

/**
 * Raises the holder's housekeeping: one core evaluation per kind and interval, into the broker only and never into the
 * log. What comes while the broker is paused is lost, the next interval brings another (EB-132).
 *
 * Modes: running (start → stop), one term long; the first tick is an interval after the start (GC-1). One timer per kind.
 */
export class CoreTimers {
  private readonly cancelTimers = new Map<CoreTask, CancelTimer>();
  /** Proves within this term that an evaluation is the holder's own. */
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

  /** One evaluation for the task, now (EB-145, EB-147). */
  raise(task: CoreTask): void {
    const { newId, index, clock } = this.deps;
    this.deps.enqueue(
      coreEvaluation(task, { id: newId(), index: index(), nowNs: nsFromMs(clock.nowMs()), leaderAcl: this.leaderAcl }),
    );
  }

  /** Whether the evaluation is one of this term's (GC-7). */
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
