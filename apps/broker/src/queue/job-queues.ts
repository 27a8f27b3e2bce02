import { type Clock, type Evaluation, nsFromRfc3339 } from '@waybill/model';
import type { JobQueue, TrackedEvaluation, TrackedEvaluations } from './tracked-evaluations.js';

/**
 * Serializes the evaluations of each job: one is current, the others are pending (EB-52 to EB-55). A job has a queue here
 * while it has a current evaluation. Of the pending ones only the newest will ever be current and the others end as
 * superseded (EB-56), so they are kept in no order. The maps are nested to save joining keys; that of a namespace stays until
 * the term ends. Cost: O(1).
 */
export class JobQueues {
  private queues = new Map<string, Map<string, JobQueue>>();
  private pendingCount = 0;

  constructor(private readonly clock: Clock) {}

  /** Evaluations that wait for the current one of their job. */
  get pending(): number {
    return this.pendingCount;
  }

  /** Adds an evaluation to the queue of its job. True: it is the current one. False: it is pending. */
  enter(tracked: TrackedEvaluation): boolean {
    const { Namespace: namespace, JobID: id } = tracked.evaluation;
    let ofNamespace = this.queues.get(namespace);
    if (!ofNamespace) this.queues.set(namespace, (ofNamespace = new Map()));
    const job = ofNamespace.get(id);
    if (!job) {
      const created: JobQueue = {
        namespace,
        id,
        current: tracked,
        releasedAtMs: 0,
        dueNs: dueNsOf(tracked.evaluation),
        newest: undefined,
        newestPriority: 0,
        newestModifyIndex: 0,
        older: undefined,
      };
      ofNamespace.set(id, created);
      tracked.enterJob(created);
      return true;
    }
    tracked.enterJob(job);
    job.dueNs = Math.max(job.dueNs, dueNsOf(tracked.evaluation));
    this.addPending(job, tracked);
    return false;
  }

  /**
   * Ends the current evaluation of the job: its newest pending one is current now, and `supersede` gets the other pending
   * ones (EB-56). @returns the new current evaluation, undefined if the job has none left
   */
  release(job: JobQueue, supersede: (older: TrackedEvaluation[]) => void): TrackedEvaluation | undefined {
    const { newest, older } = job;
    if (!newest) {
      this.removeQueue(job);
      return undefined;
    }
    job.current = newest;
    job.newest = undefined;
    job.older = undefined;
    this.pendingCount -= 1 + (older?.length ?? 0);
    if (older) supersede(older);
    job.releasedAtMs = this.clock.nowMs();
    return newest;
  }

  clear(): void {
    this.queues = new Map();
    this.pendingCount = 0;
  }

  private addPending(job: JobQueue, tracked: TrackedEvaluation): void {
    this.pendingCount++;
    const { newest } = job;
    const isNewest = !newest || isNewer(tracked, job, newest);
    if (isNewest) {
      job.newest = tracked;
      job.newestPriority = tracked.evaluation.Priority;
      job.newestModifyIndex = tracked.evaluation.ModifyIndex;
    }
    const older = isNewest ? newest : tracked;
    if (!older) return;
    if (job.older) job.older.push(older);
    else job.older = [older];
  }

  private removeQueue({ namespace, id }: JobQueue): void {
    this.queues.get(namespace)?.delete(id);
  }
}

/**
 * Evaluations that a newer one of their job superseded, until the owner has written them as canceled (section 5.10). An
 * evaluation that `takeBatch` gave out stays tracked until `forget`, or `putBack` because the write failed (EB-98, EB-338).
 * They are kept in the groups in which they came, so that an ack that supersedes thousands of evaluations costs no more
 * than an ack that supersedes one. Memory: the evaluations. Cost: O(1) for a group.
 */
export class SupersededEvaluations {
  /** Oldest group first. */
  private groups: TrackedEvaluation[][] = [];
  private count = 0;

  constructor(private readonly tracked: TrackedEvaluations) {}

  get size(): number {
    return this.count;
  }

  add(group: TrackedEvaluation[]): void {
    this.groups.push(group);
    this.count += group.length;
  }

  /** Gives out at most `max` evaluations, those of the oldest group first. O(evaluations given out). */
  takeBatch(max: number): Evaluation[] {
    const batch: Evaluation[] = [];
    for (let [group] = this.groups; group && batch.length < max; [group] = this.groups) {
      for (let next = group.pop(); next; next = batch.length < max ? group.pop() : undefined) {
        next.becomeCancelable();
        batch.push(next.evaluation);
      }
      if (group.length === 0) this.groups.shift();
    }
    this.count -= batch.length;
    return batch;
  }

  /** Forgets evaluations of a batch after they were written as canceled. */
  forget(evalIds: Iterable<string>): void {
    for (const tracked of this.cancelable(evalIds)) this.tracked.forget(tracked);
  }

  /** Puts back evaluations of a batch that could not be written; a later batch has them again. */
  putBack(evalIds: Iterable<string>): void {
    this.add([...this.cancelable(evalIds)]);
  }

  clear(): void {
    this.groups = [];
    this.count = 0;
  }

  /** The given-out evaluations that are still tracked: the broker may have been flushed meanwhile. */
  private *cancelable(evalIds: Iterable<string>): IterableIterator<TrackedEvaluation> {
    for (const id of evalIds) {
      const tracked = this.tracked.get(id);
      if (tracked?.place === 'cancelable') yield tracked;
    }
  }
}

/** The time that the evaluation waited for, unix ns; 0 if it has none, or has a `Wait`, which takes precedence (EB-34). */
const dueNsOf = ({ Wait, WaitUntil }: Evaluation): number =>
  Wait > 0 || WaitUntil === null ? 0 : nsFromRfc3339(WaitUntil);

/** Whether the evaluation comes before the newest pending one so far (EB-50). */
function isNewer({ evaluation }: TrackedEvaluation, job: JobQueue, newest: TrackedEvaluation): boolean {
  const { Priority, ModifyIndex, ID } = evaluation;
  if (Priority !== job.newestPriority) return Priority > job.newestPriority;
  return ModifyIndex > job.newestModifyIndex || (ModifyIndex === job.newestModifyIndex && ID < newest.evaluation.ID);
}
