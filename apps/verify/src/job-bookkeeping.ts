import type { AllocClientStatus, Allocation, TaskGroupSummary } from '@waybill/model';
import { deriveJobStatus, namespacedKey, type Applied, type Tables } from '@waybill/state';
import type { EndOfLog, Invariant, ReportViolation } from './invariant.js';

/** The counters that say how many allocations are in a status now; the others only ever grow. */
const LIVE_COUNTERS: { readonly [S in AllocClientStatus]?: keyof TaskGroupSummary } = {
  pending: 'Starting',
  running: 'Running',
  unknown: 'Unknown',
};

/** What one group of one incarnation of a job should show. */
type Counts = Map<keyof TaskGroupSummary, number>;

/**
 * The counters in a job's summary are those of its allocations (ST-76 to ST-80): starting, running and unknown, of every
 * group the job's summary knows, at every index that touches one. Memory: one record per group.
 */
export class JobSummaries implements Invariant {
  private readonly groups = new Map<string, Counts>();

  after({ index, changes }: Applied, tables: Tables, report: ReportViolation): void {
    const touched = new Set<string>();
    for (const change of changes) {
      if (change.table === 'job_summary' && change.after) touched.add(change.key);
      if (change.table !== 'allocs') continue;
      if (change.before) this.count(change.before, -1);
      if (change.after) this.count(change.after, 1);
      const alloc = change.after ?? change.before;
      if (alloc) touched.add(namespacedKey(alloc.Namespace, alloc.JobID));
    }
    for (const job of touched) this.compare(job, index, tables, report);
  }

  private count(alloc: Allocation, by: number): void {
    const counter = LIVE_COUNTERS[alloc.ClientStatus];
    if (!counter || !alloc.Job) return;
    const key = groupKey(namespacedKey(alloc.Namespace, alloc.JobID), alloc.Job.CreateIndex, alloc.TaskGroup);
    let counts = this.groups.get(key);
    if (!counts) this.groups.set(key, (counts = new Map<keyof TaskGroupSummary, number>()));
    counts.set(counter, (counts.get(counter) ?? 0) + by);
  }

  private compare(job: string, index: number, tables: Tables, report: ReportViolation): void {
    const summary = tables.job_summary.get(job);
    if (!summary) return;
    for (const [group, shown] of Object.entries(summary.Summary)) {
      const counts = this.groups.get(groupKey(job, summary.CreateIndex, group));
      for (const counter of Object.values(LIVE_COUNTERS)) {
        const expected = counts?.get(counter) ?? 0;
        if (shown[counter] !== expected)
          report({
            invariant: 'job-summary',
            index,
            subject: `job ${job}, group ${group}`,
            message: `${counter} is ${shown[counter]}, and ${expected} allocations are`,
          });
      }
    }
  }
}

const groupKey = (job: string, createIndex: number, group: string): string => `${createIndex} ${job} ${group}`;

/**
 * At the end of the log each job has the status that follows from its rows (ST-70). In between it may differ: a plan's
 * follow-up evaluations do not change it (ST-73). Cost: all jobs, once.
 */
export class JobStatuses implements Invariant {
  after(): void {}

  atEnd(end: EndOfLog, tables: Tables, report: ReportViolation): void {
    for (const [key, job] of tables.jobs.entries()) {
      if (tables.evals.count('open', key) > 0) continue; // may be one that did not count when it came
      const derived = [deriveJobStatus(tables, job), deriveJobStatus(tables, job, { evalsDeleted: true })];
      if (!derived.includes(job.Status))
        report({
          invariant: 'job-status',
          index: end.index,
          subject: `job ${key}`,
          message: `is ${job.Status}, and its allocations, evaluations and deployments make it ${derived[0]}`,
        });
    }
  }
}
