import { createHash } from 'node:crypto';
import type { Allocation, Job } from '@waybill/model';
import type { Change } from '@waybill/state';
import { storedJson } from '../writing/stored-text.js';

/** A job of allocations, with the key of the job to which it belongs. */
export interface AllocJob {
  readonly namespace: string;
  readonly jobId: string;
  readonly key: string;
  readonly job: Job;
}

/**
 * Keys of jobs of allocations. The job with which an allocation was placed is most of its size, and equal in all
 * allocations of a version. So it is stored once, in `alloc_job`, under a key that is computed from its content, and an
 * allocation's row contains the key. It is kept as long as an allocation or its history references it, whatever happens
 * to the job's versions (API-631).
 *
 * Jobs are never changed in place, so a key is computed once per object. Allocations of one plan share theirs.
 */
const keys = new WeakMap<Job, string>();

/** Returns "" for an allocation without a job. */
export function allocJobKey({ Job: job }: Allocation): string {
  if (job === null) return '';
  let key = keys.get(job);
  if (key === undefined) keys.set(job, (key = createHash('sha256').update(storedJson(job)).digest('base64url')));
  return key;
}

/** Returns the key of the previous job if an allocation has another job after a change or was deleted, otherwise "". */
export function jobKeyBefore({ table, before, after }: Change): string {
  if (table !== 'allocs' || !before || before.Job === after?.Job) return '';
  const key = allocJobKey(before);
  return after && allocJobKey(after) === key ? '' : key;
}

/** Collects the jobs that a batch references for the first time. */
export class AllocJobChanges {
  private readonly begun = new Map<string, AllocJob>();

  /** Adds every change in order. A change that keeps the allocation's job costs nothing. */
  add({ table, before, after }: Change): void {
    if (table !== 'allocs' || !after?.Job) return;
    if (before?.Job === after.Job && before.JobID === after.JobID && before.Namespace === after.Namespace) return;
    const key = allocJobKey(after);
    const job = { namespace: after.Namespace, jobId: after.JobID, key, job: after.Job };
    this.begun.set(JSON.stringify([after.Namespace, after.JobID, key]), job);
  }

  /** The jobs that must be stored before the allocations. Some may be stored already. */
  get stored(): readonly AllocJob[] {
    return [...this.begun.values()];
  }
}

/** Adds jobs to allocations that were read. All allocations of a job share one object. */
export class AllocJobsRead {
  private readonly jobs = new Map<string, Job>();

  /** Calls `parse` for the first occurrence of the key. Changes `body`, which no other code references yet. */
  complete(body: Allocation, key: string, parse: () => Job | null): Allocation {
    if (key === '') return body;
    let job = this.jobs.get(key);
    if (job === undefined) {
      const parsed = parse();
      if (parsed === null) return body;
      this.jobs.set(key, (job = parsed));
      keys.set(job, key);
    }
    body.Job = job;
    return body;
  }
}
