import { type Clock, formatDuration, msFromNs, nsFromMs, type RestartPolicy } from '@waybill/model';
import type { ExitResult } from '../drivers/driver.js';

/** The largest random increase of the delay, as a fraction (AG-113 step 8). */
const JITTER = 0.25;

export const REASON_WITHIN_POLICY = 'Restart within policy';
export const REASON_DELAY = 'Exceeded allowed attempts, applying a delay';
export const REASON_NO_RESTARTS = 'Policy allows no restarts';
export const REASON_UNRECOVERABLE = 'Error was unrecoverable';

/** RoundEnd says how one round of a task ended. */
export type RoundEnd =
  | { readonly kind: 'killed' }
  | { readonly kind: 'restart-requested' }
  /** A check of the task failed for too long (AG-114). */
  | { readonly kind: 'unhealthy' }
  | { readonly kind: 'exit'; readonly result: ExitResult }
  | { readonly kind: 'start-error'; readonly recoverable: boolean };

export type RestartDecision =
  | { readonly kind: 'killed' }
  /** The task has completed its work. */
  | { readonly kind: 'done' }
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'restart'; readonly delayMs: number; readonly reason: string };

/**
 * RestartTracker decides after each round of a task whether it starts again in place (agent.md section 11, "Decision").
 * Its state is the beginning of the current interval and the number of restarts in it, in memory only (AG-116). If the
 * clock was set back to before the interval, the interval begins now. The policy may be replaced at any time. It
 * applies from the next decision, and the count stays (AG-115).
 */
export class RestartTracker {
  private intervalBeganMs: number;
  private count = 0;

  constructor(
    public policy: RestartPolicy,
    private readonly restartOnSuccess: boolean,
    private readonly clock: Clock,
    /** Returns a number in [0, 1). */
    private readonly random: () => number,
  ) {
    this.intervalBeganMs = clock.nowMs();
  }

  decide(end: RoundEnd): RestartDecision {
    const { Attempts, Interval, Mode } = this.policy;
    if (end.kind === 'killed') return { kind: 'killed' };
    if (end.kind === 'restart-requested') return { kind: 'restart', delayMs: 0, reason: '' };
    const doneWell = end.kind === 'exit' && isSuccess(end.result) && !this.restartOnSuccess;
    if (Attempts === 0) return doneWell ? { kind: 'done' } : { kind: 'failed', reason: REASON_NO_RESTARTS };
    const nowMs = this.clock.nowMs();
    const intoIntervalMs = nowMs - this.intervalBeganMs;
    if (nsFromMs(intoIntervalMs) > Interval || intoIntervalMs < 0) {
      this.intervalBeganMs = nowMs;
      this.count = 0;
    }
    this.count++;
    if (end.kind === 'start-error' && !end.recoverable) return { kind: 'failed', reason: REASON_UNRECOVERABLE };
    if (doneWell) return { kind: 'done' };
    if (this.count <= Attempts)
      return { kind: 'restart', delayMs: this.jitteredDelayMs(), reason: REASON_WITHIN_POLICY };
    if (Mode === 'delay') return { kind: 'restart', delayMs: this.restOfIntervalMs(nowMs), reason: REASON_DELAY };
    return { kind: 'failed', reason: exceededText(Attempts, Interval) };
  }

  private jitteredDelayMs(): number {
    const delayMs = msFromNs(this.policy.Delay);
    return delayMs + Math.floor(delayMs * JITTER * this.random());
  }

  private restOfIntervalMs(nowMs: number): number {
    return Math.max(0, this.intervalBeganMs + msFromNs(this.policy.Interval) - nowMs);
  }
}

/** Says whether a task has succeeded: exit code 0, no signal and no error (AG-111). */
export function isSuccess(result: ExitResult): boolean {
  return result.ExitCode === 0 && result.Signal === 0 && result.Err === '';
}

function exceededText(attempts: number, intervalNs: number): string {
  return `Exceeded allowed attempts ${attempts} in interval ${formatDuration(intervalNs)} and mode is "fail"`;
}
