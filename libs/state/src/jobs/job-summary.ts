import {
  type AllocClientStatus,
  type Allocation,
  type Evaluation,
  type Job,
  type JobChildrenSummary,
  type JobStatus,
  type JobSummary,
  type TaskGroupSummary,
  isParameterized,
  isPeriodic,
  Refusal,
} from '@waybill/model';
import { copyOfCounters, withGroups } from '../machine/hot-rows.js';
import { namespacedKey } from '../machine/tables.js';
import type { Write } from '../machine/write.js';

/** Counters of a group without allocations. */
export const NO_ALLOCATIONS: Readonly<TaskGroupSummary> = {
  Queued: 0,
  Complete: 0,
  Failed: 0,
  Running: 0,
  Starting: 0,
  Lost: 0,
  Unknown: 0,
};

/** The counter of each client status. */
export const COUNTER: { readonly [S in AllocClientStatus]: keyof TaskGroupSummary } = {
  pending: 'Starting',
  running: 'Running',
  complete: 'Complete',
  failed: 'Failed',
  lost: 'Lost',
  unknown: 'Unknown',
};

/** Counters of the current state; the others count past events. */
const LIVE_COUNTERS: ReadonlySet<keyof TaskGroupSummary> = new Set(['Starting', 'Running', 'Unknown']);

/** Ensures that the job has a summary that contains all its groups (ST-57). */
export function ensureSummary(w: Write, job: Job): void {
  const stored = w.tables.job_summary.get(namespacedKey(job.Namespace, job.ID));
  const hasChildren = isPeriodic(job) || isParameterized(job);
  const missing = job.TaskGroups.filter((group) => !stored || !Object.hasOwn(stored.Summary, group.Name));
  if (stored && missing.length === 0 && (stored.Children !== null || !hasChildren)) return;
  const Summary = { ...stored?.Summary };
  for (const group of missing) Summary[group.Name] = { ...NO_ALLOCATIONS };
  w.put('job_summary', {
    JobID: job.ID,
    Namespace: job.Namespace,
    Summary,
    Children: stored?.Children ?? (hasChildren ? { Pending: 0, Running: 0, Dead: 0 } : null),
    CreateIndex: stored?.CreateIndex ?? job.CreateIndex,
    ModifyIndex: w.index,
  });
}

/** One job whose allocations a transaction writes. */
interface CountedJob {
  readonly namespace: string;
  readonly id: string;
  readonly key: string;
  /** The summary before the transaction. */
  readonly summary: JobSummary | undefined;
  /** The groups with the counts so far; undefined: nothing was counted yet. */
  groups: JobSummary['Summary'] | undefined;
}

/**
 * Counts the allocations that one transaction writes (ST-76 to ST-80), and then writes the summary of each of their
 * jobs once.
 *
 * Modes: counting → put. Nothing else may write a summary in between. Cost: O(1) for an allocation. Consecutive
 * allocations are nearly always of one job, so the last job is checked first.
 */
export class AllocationCounts {
  private readonly jobs = new Map<string, CountedJob>();
  private last: CountedJob | undefined;

  constructor(private readonly w: Write) {}

  /** Key of the allocation's job. */
  jobOf(alloc: Allocation): string {
    return this.counted(alloc).key;
  }

  /**
   * Counts the change of an allocation. `before` is the row before this transaction, which may write an allocation
   * twice, so that two updates count as the last one (ST-82). Refuses if the counters are missing.
   */
  count(before: Allocation | undefined, after: Allocation): void {
    if (before?.ClientStatus === after.ClientStatus) return;
    const job = this.counted(after);
    if (!job.summary) {
      if (!this.w.tables.jobs.has(job.key)) return;
      throw new Refusal('not-found', `job summary for job "${job.id}" in namespace "${job.namespace}" is not present`);
    }
    if (after.Job?.CreateIndex !== job.summary.CreateIndex) return;
    if (!Object.hasOwn(job.summary.Summary, after.TaskGroup))
      throw new Refusal('not-found', `unable to find task group in the job summary: ${after.TaskGroup}`);
    if (before) move(countersOf(job, job.summary, after.TaskGroup), before.ClientStatus, after.ClientStatus);
    else if (after.ClientStatus === 'pending') place(countersOf(job, job.summary, after.TaskGroup));
  }

  /**
   * Counts an allocation whose row is deleted in no status any more (ST-96): it was told to stop, and nothing waits for
   * its agent's report. Failed, complete and lost allocations stay counted (ST-77).
   */
  forget(alloc: Allocation): void {
    const counter = COUNTER[alloc.ClientStatus];
    const job = this.counted(alloc);
    if (!LIVE_COUNTERS.has(counter) || !job.summary || alloc.Job?.CreateIndex !== job.summary.CreateIndex) return;
    if (!Object.hasOwn(job.summary.Summary, alloc.TaskGroup)) return;
    const counters = countersOf(job, job.summary, alloc.TaskGroup);
    counters[counter] = Math.max(0, counters[counter] - 1);
  }

  put(): void {
    for (const { summary, groups } of this.jobs.values())
      if (summary && groups) this.w.put('job_summary', withGroups(summary, groups, this.w.index));
  }

  private counted({ Namespace: namespace, JobID: id }: Allocation): CountedJob {
    if (this.last?.id === id && this.last.namespace === namespace) return this.last;
    const key = namespacedKey(namespace, id);
    let job = this.jobs.get(key);
    if (!job) {
      job = { namespace, id, key, summary: this.w.tables.job_summary.get(key), groups: undefined };
      this.jobs.set(key, job);
    }
    return (this.last = job);
  }
}

/** The counters of one group of a job, in a copy that is made once and may be changed. */
function countersOf(job: CountedJob, stored: JobSummary, group: string): TaskGroupSummary {
  job.groups ??= { ...stored.Summary };
  const counters = job.groups[group] ?? NO_ALLOCATIONS;
  if (counters !== stored.Summary[group]) return counters;
  return (job.groups[group] = copyOfCounters(counters));
}

/**
 * Counts a placement: it is starting and no longer queued (ST-76). A new allocation with another status is a defect of
 * the scheduler, and is not counted.
 */
function place(counters: TaskGroupSummary): void {
  counters.Starting += 1;
  counters.Queued = Math.max(0, counters.Queued - 1);
}

/** Moves an allocation between counters; failed and complete ones stay counted (ST-77). */
function move(counters: TaskGroupSummary, from: AllocClientStatus, to: AllocClientStatus): void {
  counters[COUNTER[to]] += 1;
  if (from !== 'failed' && from !== 'complete') counters[COUNTER[from]] = Math.max(0, counters[COUNTER[from]] - 1);
}

/** Sets `Queued` of the groups that an evaluation names; groups that the summary does not have are ignored (ST-81). */
export function setQueued(w: Write, jobKey: string, queuedAllocations: Evaluation['QueuedAllocations']): void {
  const summary = w.tables.job_summary.get(jobKey);
  if (!summary) return;
  let changed: Record<string, TaskGroupSummary> | undefined;
  for (const [group, queued] of Object.entries(queuedAllocations)) {
    const counters = Object.hasOwn(summary.Summary, group) ? summary.Summary[group] : undefined;
    if (!counters || counters.Queued === queued) continue;
    changed ??= { ...summary.Summary };
    changed[group] = { ...counters, Queued: queued };
  }
  if (changed) w.put('job_summary', withGroups(summary, changed, w.index));
}

/** The parent's counter of a child in each status. */
export const CHILD_COUNTER: { readonly [S in JobStatus]: keyof JobChildrenSummary } = {
  pending: 'Pending',
  running: 'Running',
  dead: 'Dead',
};

/**
 * Moves a child on its parent's counters (ST-66, ST-74); nothing without a parent (ST-75). `from` null: its first
 * status.
 */
export function countChild(
  w: Write,
  job: Pick<Job, 'Namespace' | 'ParentID'>,
  from: JobStatus | undefined,
  to: JobStatus,
): void {
  if (!job.ParentID || from === to) return;
  const parentKey = namespacedKey(job.Namespace, job.ParentID);
  const summary = w.tables.job_summary.get(parentKey);
  if (!summary || !w.tables.jobs.has(parentKey)) return;
  const Children = { ...(summary.Children ?? { Pending: 0, Running: 0, Dead: 0 }) };
  if (from) Children[CHILD_COUNTER[from]] = Math.max(0, Children[CHILD_COUNTER[from]] - 1);
  Children[CHILD_COUNTER[to]] += 1;
  w.put('job_summary', { ...summary, Children, ModifyIndex: w.index });
}
