import { namespacedKey, type Change, type Tables } from '@waybill/state';

/**
 * Highest ModifyIndex of the evaluations of a job (EB-67), without walking a long history at every delivery: the first
 * question of a job walks its evaluations, and from then on the changes of the log keep the answer. An index that a
 * deleted evaluation had may stay the answer: it was applied, so waiting for it costs nothing.
 *
 * Memory: one number per job that was delivered in this term and still has evaluations.
 */
export class EvalIndexes {
  private readonly highest = new Map<string, number>();

  constructor(private readonly tables: Tables) {}

  of(namespace: string, jobId: string): number {
    const key = namespacedKey(namespace, jobId);
    const known = this.highest.get(key);
    if (known !== undefined) return known;
    let highest = 0;
    for (const { ModifyIndex } of this.tables.evals.by('job', key)) highest = Math.max(highest, ModifyIndex);
    if (highest > 0) this.highest.set(key, highest);
    return highest;
  }

  /** To be told of every change that is applied. */
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
