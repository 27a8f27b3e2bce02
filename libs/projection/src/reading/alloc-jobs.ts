import { createHash } from 'node:crypto';
import type { Allocation, Job } from '@waybill/model';
import type { Change } from '@waybill/state';
import { storedJson } from '../writing/stored-text.js';

/** A job as allocations hold it, under the job they belong to. */
export interface AllocJob {
  readonly namespace: string;
  readonly jobId: string;
  readonly key: string;
  readonly job: Job;
}

/**
 * The job that an allocation was placed with is most of its size, and the same in all allocations of a version. So it is
 * stored once, in `alloc_job`, under a key made of its content; an allocation's row names the key. It stays as long as an
 * allocation holds it or its history says that it did, whatever becomes of the job's versions (API-631).
 *
 * Jobs are never changed in place, so a key is made once per object: allocations of one plan share theirs.
 */
const keys = new WeakMap<Job, string>();

/** "" for an allocation without a job. */
export function allocJobKey({ Job: job }: Allocation): string {
  if (job === null) return '';
  let key = keys.get(job);
  if (key === undefined) keys.set(job, (key = createHash('sha256').update(storedJson(job)).digest('base64url')));
  return key;
}

/** Of an allocation that holds another job after a change, or is gone: the key of the one it held; else "". */
export function jobKeyBefore({ table, before, after }: Change): string {
  if (table !== 'allocs' || !before || before.Job === after?.Job) return '';
  const key = allocJobKey(before);
  return after && allocJobKey(after) === key ? '' : key;
}

/** Which jobs come into use in a batch. */
export class AllocJobChanges {
  private readonly begun = new Map<string, AllocJob>();

  /** Every change, in order; those that keep the allocation's job cost nothing. */
  add({ table, before, after }: Change): void {
    if (table !== 'allocs' || !after?.Job) return;
    if (before?.Job === after.Job && before.JobID === after.JobID && before.Namespace === after.Namespace) return;
    const key = allocJobKey(after);
    const job = { namespace: after.Namespace, jobId: after.JobID, key, job: after.Job };
    this.begun.set(JSON.stringify([after.Namespace, after.JobID, key]), job);
  }

  /** Must be there before the allocations are written. Some may be there already. */
  get stored(): readonly AllocJob[] {
    return [...this.begun.values()];
  }
}

/** Gives allocations their jobs back; one object for every job, whatever the number of allocations. */
export class AllocJobsRead {
  private readonly jobs = new Map<string, Job>();

  /** `parse` is called the first time this key is seen. Changes `body`, which nobody else has yet. */
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
