import { putTogether, toldApart, type Allocation } from '@waybill/model';
import type { TxnPayloads, TxnType } from './catalogue.js';
import type { TxnDraft } from './txn.js';

/**
 * A payload as it is written to the log, where that is another form than it has in memory: the allocations of a plan
 * are much alike, and each names only what differs from the first (since schema version 2 of `ApplyPlanResults`).
 */
export function writtenForm(draft: Pick<TxnDraft, 'type' | 'payload'>): object {
  if (!isPlan(draft)) return draft.payload;
  return { ...draft.payload, AllocsUpdated: toldApart(draft.payload.AllocsUpdated) };
}

/** The payload in memory, of what was read. Older schema versions are as they were written. */
export function readForm(type: TxnType, schemaVersion: number, written: object): object {
  if (type !== 'ApplyPlanResults' || schemaVersion < 2) return written;
  const { AllocsUpdated } = written as { AllocsUpdated: readonly unknown[] };
  return { ...written, AllocsUpdated: putTogether<Allocation>(AllocsUpdated) };
}

function isPlan(draft: {
  readonly type: TxnType;
}): draft is { type: 'ApplyPlanResults'; payload: TxnPayloads['ApplyPlanResults'] } {
  return draft.type === 'ApplyPlanResults';
}
