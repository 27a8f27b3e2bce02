import { namespacedKey, type Change, type Tables } from '@waybill/state';

/**
 * Caches the highest ModifyIndex of each job's evaluations, which workers wait for before they schedule (EB-67). The first
 * look-up of a job iterates over its evaluations; later changes of the log keep the cached number up to date. The index of a
 * deleted evaluation may remain in the cache: it was applied, so waiting for it costs nothing.
 *
 * Memory: one number for each job that was delivered in this term and still has evaluations.
 */
export class WaitIndexes {
  private readonly highest = new Map<string, number>();

  constructor(private readonly tables: Tables) {}

  highestOf(namespace: string, jobId: string): number {
    const key = namespacedKey(namespace, jobId);
    const known = this.highest.get(key);
    if (known !== undefined) return known;
    let highest = 0;
    for (const { ModifyIndex } of this.tables.evals.by('job', key)) highest = Math.max(highest, ModifyIndex);
    if (highest > 0) this.highest.set(key, highest);
    return highest;
  }

  /** Follows the log: must get every change that is applied. */
  changed(change: Change): void {
    if (change.table !== 'evals') return;
    const row = change.after ?? change.before;
    if (!row) return;
    const key = namespacedKey(row.Namespace, row.JobID);
    const known = this.highest.get(key);
    if (known === undefined) return;
    if (change.after) this.highest.set(key, Math.max(known, change.after.ModifyIndex));
    else if (this.tables.evals.count('job', key) === 0) this.highest.delete(key);
  }

  clear(): void {
    this.highest.clear();
  }
}
