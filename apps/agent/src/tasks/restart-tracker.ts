import { type Clock, formatDuration, msFromNs, nsFromMs, type RestartPolicy } from '@waybill/model';
import type { ExitResult } from '../drivers/driver.js';

/** Largest random part by which the delay grows (AG-113 step 8). */
const JITTER = 0.25;

export const REASON_WITHIN_POLICY = 'Restart within policy';
export const REASON_DELAY = 'Exceeded allowed attempts, applying a delay';
export const REASON_NO_RESTARTS = 'Policy allows no restarts';
export const REASON_UNRECOVERABLE = 'Error was unrecoverable';

/** How one round of a task ended. */
export type RoundEnd =
  | { readonly kind: 'killed' }
  | { readonly kind: 'restart-requested' }
  /** A check of it failed for too long (AG-114). */
  | { readonly kind: 'unhealthy' }
  | { readonly kind: 'exit'; readonly result: ExitResult }
  | { readonly kind: 'start-error'; readonly recoverable: boolean };

export type RestartDecision =
  | { readonly kind: 'killed' }
  /** It did its work. */
  | { readonly kind: 'done' }
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'restart'; readonly delayMs: number; readonly reason: string };

/**
 * Decides after each round of a task whether it starts again in place (agent.md section 11, "Decision").
 * State: when the present interval began, and the restarts counted in it; in memory only (AG-116). One that has yet to
 * begin, because the clock was set back, begins now. The policy may be replaced at any time and applies from the next
 * decision, the count is kept (AG-115).
 */
export class RestartTracker {
  private intervalBeganMs: number;
  private count = 0;

  constructor(
    public policy: RestartPolicy,
    private readonly restartOnSuccess: boolean,
    private readonly clock: Clock,
    /** In [0, 1). */
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
    return { kind: 'failed', reason: exceeded(Attempts, Interval) };
  }

  private jitteredDelayMs(): number {
    const delayMs = msFromNs(this.policy.Delay);
    return delayMs + Math.floor(delayMs * JITTER * this.random());
  }

  private restOfIntervalMs(nowMs: number): number {
    return Math.max(0, this.intervalBeganMs + msFromNs(this.policy.Interval) - nowMs);
  }
}

/** A task has succeeded with exit code 0, without a signal and without an error (AG-111). */
export function isSuccess(result: ExitResult): boolean {
  return result.ExitCode === 0 && result.Signal === 0 && result.Err === '';
}

function exceeded(attempts: number, intervalNs: number): string {
  return `Exceeded allowed attempts ${attempts} in interval ${formatDuration(intervalNs)} and mode is "fail"`;
}
