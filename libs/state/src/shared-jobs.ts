import type { Job } from '@waybill/model';
import type { Tables } from './tables.js';

/**
 * Makes allocations of one job version hold one copy of it, as they do when they come from the log. A snapshot gives
 * every allocation its own: call this once after loading one. Changes no content. O(allocations).
 */
export function shareAllocationJobs(tables: Pick<Tables, 'allocs'>): void {
  const shared = new Map<string, Job>();
  // Replacing a row keeps its place, so the table may be walked meanwhile.
  for (const [key, alloc] of tables.allocs.entries()) {
    if (!alloc.Job) continue;
    const { Namespace, ID, Version, CreateIndex, ModifyIndex } = alloc.Job;
    const name = `${Namespace}/${ID}@${Version} ${CreateIndex} ${ModifyIndex}`;
    const job = shared.get(name);
    if (!job) shared.set(name, alloc.Job);
    else if (job !== alloc.Job) tables.allocs.replace(key, { ...alloc, Job: job });
  }
}
