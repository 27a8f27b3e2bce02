import { putTogether, toldApart, type Allocation, type ToldApart } from '@waybill/model';
import type { TxnPayloads, TxnType } from './catalogue.js';
import type { TxnDraft } from './txn.js';

/**
 * A payload in the form in which the log has it, where that differs from memory: the allocations of a plan are similar,
 * so their common members are written once (since schema version 3 of `ApplyPlanResults`).
 */
export function writtenForm(draft: Pick<TxnDraft, 'type' | 'payload'>): object {
  if (!isPlan(draft)) return draft.payload;
  return { ...draft.payload, AllocsUpdated: toldApart(draft.payload.AllocsUpdated) };
}

/** The payload in memory, from its written form. */
export function readForm(type: TxnType, schemaVersion: number, written: object): object {
  if (type !== 'ApplyPlanResults' || schemaVersion < 2) return written;
  const { AllocsUpdated } = written as { AllocsUpdated: unknown };
  return { ...written, AllocsUpdated: allocationsOf(schemaVersion, AllocsUpdated) };
}

function allocationsOf(schemaVersion: number, written: unknown): Allocation[] {
  if (schemaVersion > 2) return putTogether<Allocation>(written as ToldApart);
  const [first, ...differences] = written as unknown[];
  const others = differences.map((difference) => withDifference(first, difference));
  return (first === undefined ? [] : [first, ...others]) as Allocation[];
}

/** Schema version 2: each allocation as its difference from the first one; `{"=": value}` replaces a whole value. */
function withDifference(first: unknown, difference: unknown): unknown {
  if (!isObject(first) || !isObject(difference)) return difference;
  if ('=' in difference) return difference['='];
  const value: Record<string, unknown> = Array.isArray(first) ? Object.assign([], first) : { ...first };
  for (const name in difference) value[name] = withDifference(first[name], difference[name]);
  return value;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

function isPlan(draft: {
  readonly type: TxnType;
}): draft is { type: 'ApplyPlanResults'; payload: TxnPayloads['ApplyPlanResults'] } {
  return draft.type === 'ApplyPlanResults';
}
