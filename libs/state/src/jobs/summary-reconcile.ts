import { canonicalJson } from '../machine/canonical-json.js';
import {
  isParameterized,
  isPeriodic,
  type Job,
  type JobChildrenSummary,
  type JobSummary,
  type TaskGroupSummary,
} from '@waybill/model';
import type { TxnPayloads } from '../log/catalogue.js';
import { CHILD_COUNTER, COUNTER, NO_ALLOCATIONS } from './job-summary.js';
import { oldestFirst } from '../machine/row-order.js';
import { namespacedKey, type Tables } from '../machine/tables.js';
import type { Write } from '../machine/write.js';

/**
 * Type 10: recomputes every job's summary (ST-83): counters from the allocations, children from their jobs, `Queued`
 * from the payload or as it was. An unchanged summary is not written. O(jobs and allocations): an operator's repair,
 * which is rare.
 */
export function reconcileSummaries(w: Write, { Queued }: TxnPayloads['ReconcileJobSummaries']): void {
  const queued = new Map(Queued.map(({ Namespace, JobID, Groups }) => [namespacedKey(Namespace, JobID), Groups]));
  for (const job of oldestFirst(w.tables.jobs.all())) {
    const key = namespacedKey(job.Namespace, job.ID);
    const stored = w.tables.job_summary.get(key);
    const made = hasChildren(job) ? stored && ofParent(w.tables, key, stored) : ofGroups(w.tables, job, stored);
    if (!made) continue;
    const summary = { ...made, Summary: withQueued(made.Summary, queued.get(key)), CreateIndex: job.CreateIndex };
    if (stored && canonicalJson(stored) === canonicalJson(summary)) continue;
    w.put('job_summary', { ...summary, ModifyIndex: w.index });
  }
}

const hasChildren = (job: Job): boolean => isPeriodic(job) || isParameterized(job);

/**
 * Recomputes the summary of a parent: its groups stay as they are (ST-83); a parent without a summary stays without
 * (GC-116). O(children).
 */
function ofParent(tables: Tables, key: string, stored: JobSummary): JobSummary {
  const Children: JobChildrenSummary = { Pending: 0, Running: 0, Dead: 0 };
  for (const child of tables.jobs.by('parent', key)) Children[CHILD_COUNTER[child.Status]] += 1;
  return { ...stored, Children };
}

/** Recomputes every group of the job, and those former groups that still have allocations (GC-114, GC-115). */
function ofGroups(tables: Tables, job: Job, stored: JobSummary | undefined): JobSummary {
  const groups = new Map(job.TaskGroups.map(({ Name }) => [Name, { ...NO_ALLOCATIONS }]));
  for (const alloc of oldestFirst(tables.allocs.by('job', namespacedKey(job.Namespace, job.ID)))) {
    if (alloc.Job?.CreateIndex !== job.CreateIndex) continue;
    const counters = groups.get(alloc.TaskGroup) ?? { ...NO_ALLOCATIONS };
    counters[COUNTER[alloc.ClientStatus]] += 1;
    groups.set(alloc.TaskGroup, counters);
  }
  return {
    JobID: job.ID,
    Namespace: job.Namespace,
    Summary: withQueued(Object.fromEntries(groups), queuedOf(stored)),
    Children: stored?.Children ?? null,
    CreateIndex: job.CreateIndex,
    ModifyIndex: stored?.ModifyIndex ?? 0,
  };
}

type QueuedByGroup = Readonly<Record<string, number>>;

function queuedOf(stored: JobSummary | undefined): QueuedByGroup {
  return Object.fromEntries(Object.entries(stored?.Summary ?? {}).map(([name, { Queued }]) => [name, Queued]));
}

/** The groups with `Queued` as given; groups that `queued` does not name stay as they are. */
function withQueued(groups: JobSummary['Summary'], queued: QueuedByGroup = {}): JobSummary['Summary'] {
  const withNew = ([name, counters]: [string, TaskGroupSummary]): [string, TaskGroupSummary] => {
    const Queued = Object.hasOwn(queued, name) ? queued[name] : undefined;
    return [name, Queued === undefined ? counters : { ...counters, Queued }];
  };
  return Object.fromEntries(Object.entries(groups).map(withNew));
}
