import type { Applied, Change, Tables } from '@waybill/state';
import { isRestore, type Invariant, type ReportViolation } from './invariant.js';

interface Indexed {
  readonly CreateIndex: number;
  readonly ModifyIndex: number;
}

/**
 * Along the log a row's ModifyIndex never goes down and is at most the index of the transaction that wrote it; its
 * CreateIndex never changes, and a job's version never goes down (EB-330). A restore begins anew.
 */
export class RowOrder implements Invariant {
  after(applied: Applied, _tables: Tables, report: ReportViolation): void {
    if (isRestore(applied)) return;
    const { index, changes } = applied;
    for (const change of changes) {
      const wrong = whatIsWrong(change, index);
      if (wrong) report({ invariant: 'row-order', index, subject: `${change.table} ${change.key}`, message: wrong });
    }
  }
}

function whatIsWrong(change: Change, index: number): string | undefined {
  switch (change.table) {
    case 'jobs': {
      const { before, after } = change;
      if (before && after && after.Version < before.Version)
        return `version went from ${before.Version} to ${after.Version}`;
      return indexesWrong(before, after, index);
    }
    case 'evals':
    case 'allocs':
    case 'nodes':
    case 'deployment':
      return indexesWrong(change.before, change.after, index);
    default:
      return undefined;
  }
}

function indexesWrong(before: Indexed | undefined, after: Indexed | undefined, index: number): string | undefined {
  if (!after) return undefined;
  if (after.ModifyIndex > index) return `ModifyIndex ${after.ModifyIndex} is beyond the transaction's index`;
  if (!before) return after.CreateIndex === index ? undefined : `created with CreateIndex ${after.CreateIndex}`;
  if (after.CreateIndex !== before.CreateIndex)
    return `CreateIndex went from ${before.CreateIndex} to ${after.CreateIndex}`;
  if (after.ModifyIndex < before.ModifyIndex)
    return `ModifyIndex went from ${before.ModifyIndex} to ${after.ModifyIndex}`;
  return undefined;
}
