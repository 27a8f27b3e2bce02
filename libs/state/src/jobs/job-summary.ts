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

/** Counters of a group that nothing was placed of. */
export const NO_ALLOCATIONS: Readonly<TaskGroupSummary> = {
  Queued: 0,
  Complete: 0,
  Failed: 0,
  Running: 0,
  Starting: 0,
  Lost: 0,
  Unknown: 0,
};

/** Which counter an allocation is in. */
export const COUNTER: { readonly [S in AllocClientStatus]: keyof TaskGroupSummary } = {
  pending: 'Starting',
  running: 'Running',
  complete: 'Complete',
  failed: 'Failed',
  lost: 'Lost',
  unknown: 'Unknown',
};

/** Those that say what is there now; the others say what has been. */
const LIVE_COUNTERS: ReadonlySet<keyof TaskGroupSummary> = new Set(['Starting', 'Running', 'Unknown']);

/** ST-57: the job has a summary, and in it every group of the job. */
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
  /** As it was before. */
  readonly summary: JobSummary | undefined;
  /** With what was counted; undefined: nothing yet. */
  groups: JobSummary['Summary'] | undefined;
}

/**
 * Counts the allocations that one transaction writes (ST-76 to ST-80), and then writes the summary of each of their jobs
 * once. Modes: counting → put. Nobody else may write a summary in between.
 * Cost: O(1) for an allocation; neighbours are nearly always of one job, so that one is looked at first.
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
   * `before` is the row that counts as the one before: that before this transaction, where an allocation may be written
   * twice, so that two updates count as the final one (ST-82). Refuses when the counters should be there and are not.
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
   * An allocation whose row goes is in no status any more (ST-96): it was told to stop, and nobody waits for its agent to
   * say that it has. What failed or completed once stays counted (ST-77), and so does what was lost.
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

/** Of one group of a job, to be changed: a copy, made once. */
function countersOf(job: CountedJob, stored: JobSummary, group: string): TaskGroupSummary {
  job.groups ??= { ...stored.Summary };
  const counters = job.groups[group] ?? NO_ALLOCATIONS;
  if (counters !== stored.Summary[group]) return counters;
  return (job.groups[group] = copyOfCounters(counters));
}

/** ST-76: a placement starts and is queued no more. New with another status is a fault of the scheduler: not counted. */
function place(counters: TaskGroupSummary): void {
  counters.Starting += 1;
  counters.Queued = Math.max(0, counters.Queued - 1);
}

/** ST-77: what failed or completed once stays counted. */
function move(counters: TaskGroupSummary, from: AllocClientStatus, to: AllocClientStatus): void {
  counters[COUNTER[to]] += 1;
  if (from !== 'failed' && from !== 'complete') counters[COUNTER[from]] = Math.max(0, counters[COUNTER[from]] - 1);
}

/** ST-81: sets Queued of the groups an evaluation names; groups the summary does not know are ignored. */
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

/** Which of its parent's counters a child is in. */
export const CHILD_COUNTER: { readonly [S in JobStatus]: keyof JobChildrenSummary } = {
  pending: 'Pending',
  running: 'Running',
  dead: 'Dead',
};

/** Moves a child on its parent's counters; `from` null: its first status (ST-66, ST-74). No parent, nothing (ST-75). */
export function countChild(
  w: Write,
  job: Pick<Job, 'Namespace' | 'ParentID'>,
  from: JobStatus | null,
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
