import type { CancelTimer, Timers } from '@waybill/model';

/** Interval between two checks of the workers whose deliveries are unacked. */
export const CHECK_INTERVAL_MS = 1_000;
/** Failed checks in a row after which a worker counts as lost. A connection that breaks and is restored fails fewer. */
export const FAILED_CHECKS_LIMIT = 3;

/** Checks whether a worker is connected; calls `ifGone` if it is not, and calls nothing if it is. */
export type CheckConnection = (ifGone: () => void) => void;

export interface LostWorkersDeps {
  readonly timers: Timers;
  readonly isUnacked: (evalId: string, token: string) => boolean;
  readonly nack: (evalId: string, token: string) => void;
}

/** The last delivery of a worker. */
interface Assignment {
  readonly evalId: string;
  readonly token: string;
  readonly checkConnection: CheckConnection;
  /** Whether the last check failed. */
  isMissing: boolean;
  failedChecks: number;
}

/**
 * Nacks the deliveries of lost workers, so that nobody waits for the nack timeout (EB-80), which remains for a worker that
 * is connected and sends nothing. A delivery is lost in two cases. Its worker dequeues again: a worker has one delivery at
 * a time, so the answer to its previous dequeue never arrived. Or its worker was killed or cut off, which
 * FAILED_CHECKS_LIMIT checks find out. A check asks for the connection and not for an answer, because a worker in a long
 * pass answers no message. To count a worker as lost in error does no harm: its token is void.
 *
 * Modes: idle (no delivery, no timer) ⇄ checking.
 * Limits: CHECK_INTERVAL_MS, FAILED_CHECKS_LIMIT. Cost: a map entry for each delivery, and one message for each check of a
 * delivery that lasts longer than the interval.
 */
export class LostWorkers {
  /** By worker, which has one delivery at a time. */
  private assignments = new Map<string, Assignment>();
  private cancelTimer: CancelTimer | undefined;

  constructor(private readonly deps: LostWorkersDeps) {}

  /** Watched deliveries, including those that ended after the last check. */
  get size(): number {
    return this.assignments.size;
  }

  /** Watches the worker of a delivery. @param worker its id, or the delivery's token if the worker has none */
  watch(worker: string, evalId: string, token: string, checkConnection: CheckConnection): void {
    this.assignments.set(worker, { evalId, token, checkConnection, isMissing: false, failedChecks: 0 });
    this.cancelTimer ??= this.arm();
  }

  /** Nacks the worker's previous delivery if it is unacked: a worker that dequeues has no evaluation. */
  nackPreviousOf(worker: string): void {
    const assignment = this.assignments.get(worker);
    if (!assignment) return;
    this.assignments.delete(worker);
    if (this.deps.isUnacked(assignment.evalId, assignment.token)) this.deps.nack(assignment.evalId, assignment.token);
  }

  clear(): void {
    this.cancelTimer?.();
    this.cancelTimer = undefined;
    this.assignments = new Map();
  }

  private arm(): CancelTimer {
    return this.deps.timers.after(CHECK_INTERVAL_MS, () => this.checkAll());
  }

  private checkAll(): void {
    for (const [worker, assignment] of this.assignments) {
      if (this.deps.isUnacked(assignment.evalId, assignment.token)) this.check(assignment);
      else this.assignments.delete(worker);
    }
    this.cancelTimer = this.assignments.size > 0 ? this.arm() : undefined;
  }

  private check(assignment: Assignment): void {
    if (!assignment.isMissing) assignment.failedChecks = 0;
    assignment.isMissing = false;
    assignment.checkConnection(() => {
      assignment.isMissing = true;
      assignment.failedChecks++;
      if (assignment.failedChecks === FAILED_CHECKS_LIMIT) this.deps.nack(assignment.evalId, assignment.token);
    });
  }
}
