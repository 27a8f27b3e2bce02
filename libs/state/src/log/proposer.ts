import type { TxnDraft, Verdict } from './txn.js';

/** The outcome of a proposed transaction. */
export interface Proposed {
  readonly index: number;
  readonly verdict: Verdict;
}

export interface ProposeOptions {
  /** Refuse unless the last transaction on the subject has this sequence; 0: unless there is none. */
  readonly expectedLastSubjectSequence?: number;
}

/**
 * Writes to the log and resolves with the verdict. A replica reads it from its own copy, the API from the projector.
 */
export interface Proposer {
  propose(draft: TxnDraft, options?: ProposeOptions): Promise<Proposed>;
}
