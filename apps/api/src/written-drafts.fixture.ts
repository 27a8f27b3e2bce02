import type { Proposer, TxnDraft, Verdict } from '@waybill/state';
import { TransactionWriter } from '@waybill/writing';

/** The verdicts are given in their order. After them everything is accepted. */
export interface WrittenDraftsOptions {
  readonly verdicts?: readonly Verdict[];
  /** The index of the first transaction. */
  readonly first?: number;
  readonly propose?: Proposer['propose'];
}

/** Returns a writer over a log that keeps what is written. Its clock stands at 1 ms, and all its IDs are `new-id`. */
export function writtenDrafts({ verdicts = [], first = 50, propose }: WrittenDraftsOptions = {}) {
  const drafts: TxnDraft[] = [];
  const remaining = [...verdicts];
  const accept = async (draft: TxnDraft) => {
    drafts.push(draft);
    return { index: first + drafts.length - 1, verdict: remaining.shift() ?? ({ kind: 'accepted' } as const) };
  };
  const newId = () => 'new-id';
  const writer = new TransactionWriter({
    log: { propose: propose ?? accept },
    clock: { nowMs: () => 1 },
    newId,
    region: 'global',
    caughtUp: () => Promise.resolve(),
  });
  return { drafts, writer, newId };
}
