import { isTerminalEvaluation, type Evaluation } from '@waybill/model';
import { namespacedKey, type Applied, type Tables } from '@waybill/state';
import { isRestore, type Invariant, type ReportViolation } from './invariant.js';

/** What one job's evaluations have shown since the broker last began from empty. */
interface JobHistory {
  /** Highest index at which an evaluation of the job was completed by a worker. */
  completedAt: number;
  completed: string;
  /** The evaluation that a plan was written for and that has not ended. */
  working: string | undefined;
}

/**
 * One evaluation of a job at a time (EB-323, EB-329, EB-330), by two signs that the log shows:
 *
 * - Between the first plan of a pending evaluation and its end, no other evaluation of the job writes a plan or completes.
 * - A completed evaluation was scheduled on a snapshot that has the end of every one completed before it: only then it
 *   was handed out after that one was acked.
 *
 * The broker starts over from state with every term, every change of the pause flag and every restore; a delivery of before is void from
 * then on, so both signs are forgotten there. A blocked evaluation gives its job free when it blocks again, which the log
 * does not show: it counts for the second sign only. Memory: one record per job.
 */
export class OneOutstanding implements Invariant {
  private jobs = new Map<string, JobHistory>();
  private startedOver = 0;

  after(applied: Applied, tables: Tables, report: ReportViolation): void {
    const { txn, index, verdict, changes } = applied;
    if (startsOver(applied)) {
      this.jobs.clear();
      this.startedOver = index;
    }
    if (isRestore(applied)) return;
    if (verdict.kind === 'accepted' && txn.type === 'ApplyPlanResults') {
      const evaluation = tables.evals.get(txn.payload.EvalID);
      if (evaluation) this.planned(evaluation, index, report);
    }
    for (const change of changes) {
      if (change.table !== 'evals') continue;
      const { before, after } = change;
      if (after && !isTerminalEvaluation(after)) continue;
      if (before && isTerminalEvaluation(before)) continue;
      const ended = after ?? before;
      // A purge ends what is pending on the side (ST-65): nobody scheduled that. What appears with its end was collected
      // before that was written a second time.
      const byWorker = txn.type === 'EvalUpdate' && before !== undefined && after?.Status === 'complete';
      if (ended) this.ended(ended, byWorker, index, report);
    }
  }

  private planned(evaluation: Evaluation, index: number, report: ReportViolation): void {
    const job = this.historyOf(evaluation);
    this.expectAlone(evaluation, { did: 'wrote a plan', index }, report);
    if (evaluation.Status === 'pending') job.working ??= evaluation.ID;
  }

  private ended(evaluation: Evaluation, byWorker: boolean, index: number, report: ReportViolation): void {
    const job = this.historyOf(evaluation);
    if (byWorker) {
      this.expectAlone(evaluation, { did: 'completed', index }, report);
      const { SnapshotIndex } = evaluation;
      if (SnapshotIndex >= index)
        this.say(evaluation, index, report, `has a snapshot of index ${SnapshotIndex}, later than its end`);
      if (SnapshotIndex > this.startedOver && SnapshotIndex < job.completedAt)
        this.say(
          evaluation,
          index,
          report,
          `was scheduled at index ${SnapshotIndex}, before ${job.completed} of the same job ended at ${job.completedAt}`,
        );
      if (index > job.completedAt) {
        job.completedAt = index;
        job.completed = evaluation.ID;
      }
    }
    if (job.working === evaluation.ID) job.working = undefined;
  }

  /** @param step what the worker of the evaluation did, and at which index */
  private expectAlone(
    by: Evaluation,
    { did, index }: { readonly did: string; readonly index: number },
    report: ReportViolation,
  ): void {
    const job = this.historyOf(by);
    if (job.working === undefined || job.working === by.ID) return;
    this.say(by, index, report, `${did} while ${job.working} of the same job was outstanding`);
  }

  private say(evaluation: Evaluation, index: number, report: ReportViolation, message: string): void {
    report({ invariant: 'one-outstanding', index, subject: `evaluation ${evaluation.ID}`, message });
  }

  private historyOf({ Namespace, JobID }: Evaluation): JobHistory {
    const key = namespacedKey(Namespace, JobID);
    let job = this.jobs.get(key);
    if (!job) this.jobs.set(key, (job = { completedAt: 0, completed: '', working: undefined }));
    return job;
  }
}

function startsOver(applied: Applied): boolean {
  const { txn, verdict, changes } = applied;
  if (isRestore(applied)) return true;
  if (txn.type === 'LeaseAcquired') return verdict.kind === 'accepted' && txn.payload.Role === 'broker';
  return txn.type === 'SchedulerConfig' && changes.length > 0;
}
