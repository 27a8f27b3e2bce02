import { type Allocation, unpackObjects, type PackedObjects, packObjects } from '@waybill/model';
import type { TxnPayloads, TxnType } from './catalogue.js';
import type { TxnDraft } from './txn.js';

/**
 * A payload in the form in which the log has it, where that differs from memory: the allocations of a plan are similar,
 * so their common members are written once.
 */
export function writtenForm(draft: Pick<TxnDraft, 'type' | 'payload'>): object {
  if (!isPlan(draft)) return draft.payload;
  return { ...draft.payload, AllocsUpdated: packObjects(draft.payload.AllocsUpdated) };
}

/** The payload in memory, from its written form. */
export function readForm(type: TxnType, written: object): object {
  if (type !== 'ApplyPlanResults') return written;
  const { AllocsUpdated } = written as { AllocsUpdated: PackedObjects };
  return { ...written, AllocsUpdated: unpackObjects<Allocation>(AllocsUpdated) };
}

function isPlan(draft: {
  readonly type: TxnType;
}): draft is { type: 'ApplyPlanResults'; payload: TxnPayloads['ApplyPlanResults'] } {
  return draft.type === 'ApplyPlanResults';
}
