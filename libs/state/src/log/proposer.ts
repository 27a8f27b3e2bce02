import type { TxnDraft, Verdict } from './txn.js';

/** What became of a proposed transaction. */
export interface Proposed {
  readonly index: number;
  readonly verdict: Verdict;
}

export interface ProposeOptions {
  /** Refuse at the stream unless the aggregate's subject was last written at this sequence; 0: never. */
  readonly expectedLastSubjectSequence?: number;
}

/** Writes to the log and tells the verdict. A replica takes it from its own copy, the API from the projector. */
export interface Proposer {
  propose(draft: TxnDraft, options?: ProposeOptions): Promise<Proposed>;
}
