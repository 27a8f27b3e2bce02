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
} from '@waybill/model';
import { copyOfCounters, withGroups } from './hot-rows.js';
import { namespacedKey } from './tables.js';
import { Refused, type Write } from './write.js';

const NO_ALLOCATIONS: TaskGroupSummary = {
  Queued: 0,
  Complete: 0,
  Failed: 0,
  Running: 0,
  Starting: 0,
  Lost: 0,
  Unknown: 0,
};

const COUNTER: { readonly [S in AllocClientStatus]: keyof TaskGroupSummary } = {
  pending: 'Starting',
  running: 'Running',
  complete: 'Complete',
  failed: 'Failed',
  lost: 'Lost',
  unknown: 'Unknown',
};

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

/**
 * Counts an allocation that was written (ST-76 to ST-80). `before` is its row before this transaction, so that two
 * updates in one transaction count as the final one (ST-82). Refuses when the counters should be there and are not.
 */
export function countAllocation(w: Write, before: Allocation | undefined, after: Allocation): void {
  if (before?.ClientStatus === after.ClientStatus) return;
  const key = namespacedKey(after.Namespace, after.JobID);
  const summary = w.tables.job_summary.get(key);
  if (!summary) {
    if (!w.tables.jobs.has(key)) return;
    throw new Refused(`job summary for job "${after.JobID}" in namespace "${after.Namespace}" is not present`);
  }
  if (after.Job?.CreateIndex !== summary.CreateIndex) return;
  const counters = Object.hasOwn(summary.Summary, after.TaskGroup) ? summary.Summary[after.TaskGroup] : undefined;
  if (!counters) throw new Refused(`unable to find task group in the job summary: ${after.TaskGroup}`);
  const counted = before
    ? moved(counters, before.ClientStatus, after.ClientStatus)
    : added(counters, after.ClientStatus);
  if (counted) putGroup(w, summary, after.TaskGroup, counted);
}

/** ST-76: a placement starts and is queued no more. New with another status is a fault of the scheduler: not counted. */
function added(counters: TaskGroupSummary, status: AllocClientStatus): TaskGroupSummary | undefined {
  if (status !== 'pending') return undefined;
  return { ...counters, Starting: counters.Starting + 1, Queued: Math.max(0, counters.Queued - 1) };
}

/** ST-77: what failed or completed once stays counted. */
function moved(counters: TaskGroupSummary, from: AllocClientStatus, to: AllocClientStatus): TaskGroupSummary {
  const next = copyOfCounters(counters);
  next[COUNTER[to]] += 1;
  if (from !== 'failed' && from !== 'complete') next[COUNTER[from]] = Math.max(0, next[COUNTER[from]] - 1);
  return next;
}

function putGroup(w: Write, summary: JobSummary, group: string, counters: TaskGroupSummary): void {
  const groups = { ...summary.Summary }; // a computed member in the literal would cost ten times as much
  groups[group] = counters;
  w.put('job_summary', withGroups(summary, groups, w.index));
}

/** ST-81: sets Queued of the groups the evaluation names; groups the summary does not know are ignored. */
export function setQueued(w: Write, evaluation: Pick<Evaluation, 'Namespace' | 'JobID' | 'QueuedAllocations'>): void {
  const summary = w.tables.job_summary.get(namespacedKey(evaluation.Namespace, evaluation.JobID));
  if (!summary) return;
  let changed: Record<string, TaskGroupSummary> | undefined;
  for (const [group, queued] of Object.entries(evaluation.QueuedAllocations)) {
    const counters = Object.hasOwn(summary.Summary, group) ? summary.Summary[group] : undefined;
    if (!counters || counters.Queued === queued) continue;
    changed ??= { ...summary.Summary };
    changed[group] = { ...counters, Queued: queued };
  }
  if (changed) w.put('job_summary', withGroups(summary, changed, w.index));
}

const CHILD_COUNTER: { readonly [S in JobStatus]: keyof JobChildrenSummary } = {
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
