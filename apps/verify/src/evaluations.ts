import { isTerminalEvaluation, msFromNs, nsFromRfc3339, type Evaluation } from '@waybill/model';
import { namespacedKey, type Applied, type Tables } from '@waybill/state';
import { isRestore, type EndOfLog, type Invariant, type ReportViolation } from './invariant.js';
import { LogTime } from './log-time.js';

/** Never out of a terminal status, never from blocked back to pending, and never gone before its end, but by a restore (EB-332, EB-325). */
export class EvalStatuses implements Invariant {
  after(applied: Applied, _tables: Tables, report: ReportViolation): void {
    if (isRestore(applied)) return;
    const { txn, index, changes } = applied;
    for (const change of changes) {
      if (change.table !== 'evals' || !change.before) continue;
      const { before, after } = change;
      const subject = `evaluation ${change.key}`;
      if (after) {
        const moved = after.Status !== before.Status;
        if (moved && (isTerminalEvaluation(before) || after.Status === 'pending' || after.Status === 'blocked'))
          report({
            invariant: 'eval-status',
            index,
            subject,
            message: `went from ${before.Status} to ${after.Status}`,
          });
      } else if (!isTerminalEvaluation(before) && txn.type === 'EvalDelete' && !txn.payload.UserInitiated)
        report({ invariant: 'eval-end', index, subject, message: `was collected while ${before.Status}` });
    }
  }
}

/** An evaluation that has not ended when the log does. */
export interface OpenEvaluation {
  readonly id: string;
  readonly job: string;
  readonly type: string;
  readonly status: string;
  readonly triggeredBy: string;
  /** Since when it could be worked on (pending) or has waited (blocked), up to the end of the log. Negative: not due yet. */
  readonly ageMs: number;
}

/** All of them, oldest first. O(open evaluations). */
export function openEvaluations(tables: Tables, end: EndOfLog): OpenEvaluation[] {
  const open = ['pending', 'blocked'].flatMap((status) => [...tables.evals.by('status', status)]);
  return open
    .map((e) => ({
      id: e.ID,
      job: namespacedKey(e.Namespace, e.JobID),
      type: e.Type,
      status: e.Status,
      triggeredBy: e.TriggeredBy,
      ageMs: msFromNs(end.timeNs - dueNs(e)),
    }))
    .toSorted((a, b) => b.ageMs - a.ageMs);
}

/** Since when it may be delivered: its creation, or the time it was to wait for. */
function dueNs({ CreateTime, WaitUntil, Wait }: Evaluation): number {
  return WaitUntil === null ? CreateTime + Wait : Math.max(CreateTime, nsFromRfc3339(WaitUntil));
}

/**
 * Every evaluation reaches an end (EB-326): none is still pending longer than `limitMs` after it was due. Blocked ones
 * wait for capacity, for however long. While the broker is paused nothing ends, and nothing is said. The clock of its
 * writer may have been wrong: it is late by the time that has passed since it was read, at most. Memory: open evaluations.
 */
export class EvaluationsEnd implements Invariant {
  private readonly time = new LogTime();
  /** Log time at which open evaluations were read first, unix ns. */
  private readonly readAt = new Map<string, number>();

  constructor(private readonly limitMs: number) {}

  after(applied: Applied): void {
    this.time.note(applied);
    for (const { table, key, after } of applied.changes) {
      if (table !== 'evals') continue;
      if (!after || isTerminalEvaluation(after)) this.readAt.delete(key);
      else if (!this.readAt.has(key)) this.readAt.set(key, this.time.nowNs);
    }
  }

  atEnd(end: EndOfLog, tables: Tables, report: ReportViolation): void {
    for (const { PauseEvalBroker } of tables.scheduler_config.all()) if (PauseEvalBroker) return;
    for (const { id, job, status, ageMs: saidMs, triggeredBy } of openEvaluations(tables, end)) {
      const ageMs = Math.min(saidMs, msFromNs(end.timeNs - (this.readAt.get(id) ?? 0)));
      if (status === 'pending' && ageMs >= this.limitMs)
        report({
          invariant: 'eval-end',
          index: end.index,
          subject: `evaluation ${id}`,
          message: `of job ${job} (${triggeredBy}) is still pending ${Math.round(ageMs / 1000)} s after it was due`,
        });
    }
  }
}

/** How long a duplicate may wait for the reaper, milliseconds; it runs every 5 s. */
export const DUPLICATE_LIMIT_MS = 30_000;

/** At most one blocked evaluation per job, of system jobs per job and node, once the reapers caught up (EB-331). */
export class OneBlocked implements Invariant {
  after(): void {}

  atEnd(end: EndOfLog, tables: Tables, report: ReportViolation): void {
    for (const { PauseEvalBroker } of tables.scheduler_config.all()) if (PauseEvalBroker) return;
    const seen = new Map<string, Evaluation>();
    for (const e of tables.evals.by('status', 'blocked')) {
      const unit = `${namespacedKey(e.Namespace, e.JobID)}${e.Type === 'system' ? ` ${e.NodeID}` : ''}`;
      const other = seen.get(unit);
      seen.set(unit, e);
      if (!other || msFromNs(end.timeNs - Math.max(e.ModifyTime, other.ModifyTime)) < DUPLICATE_LIMIT_MS) continue;
      report({
        invariant: 'one-blocked',
        index: end.index,
        subject: `job ${unit}`,
        message: `evaluations ${other.ID} and ${e.ID} are both blocked`,
      });
    }
  }
}
