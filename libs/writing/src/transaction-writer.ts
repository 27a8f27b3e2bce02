import { ConflictError } from '@waybill/journal';
import { type Clock, nsFromMs, Refusal } from '@waybill/model';
import {
  draftTxn,
  type Proposer,
  type ProposeOptions,
  refusalOf,
  type TxnPayloads,
  type TxnType,
  type TxnDraft,
} from '@waybill/state';
import type { Author } from './author.js';

/** How often a write is decided anew because another transaction changed its object meanwhile (API-116, ND-31). */
export const MAX_CONFLICTS = 5;

/** A decision: one transaction that is still to be written. */
export type Decision<T extends TxnType = TxnType> = {
  readonly [K in T]: {
    readonly type: K;
    readonly payload: TxnPayloads[K];
    /** Empty or absent: the transaction belongs to no namespace, or to several. */
    readonly namespace?: string;
    /** Absent: the writer's own. */
    readonly region?: string;
    /** True: the transaction is right for any state of the object, so it is written without a condition. */
    readonly isUnconditional?: boolean;
  };
}[T];

/**
 * An object as it is stored, with the sequence of the last transaction on its subject. An estimate is enough, such as the
 * object's own index: if it is wrong, the log answers with the right sequence, at the cost of one more attempt.
 */
export interface Seen<Row> {
  readonly row: Row;
  readonly sequence: number;
}

/** A transaction that was accepted: it is in the log, and the writer's reads show it. */
export interface Written {
  readonly index: number;
  /** True: the transaction was a second copy, or had nothing to change (ST-6). */
  readonly isNoop: boolean;
  /** Result of the verdict; undefined for types without a result. */
  readonly result: unknown;
}

/** The outcome of a commit: the object on which it was decided, and the transaction, if one was written. */
export interface Committed<Row, D extends Decision> {
  readonly row: Row;
  readonly decision: D | undefined;
  readonly written: Written | undefined;
}

export interface TransactionWriterDeps {
  /** Appends, and resolves when the writer's readers see the transaction applied. */
  readonly log: Proposer;
  readonly clock: Clock;
  readonly newId: () => string;
  readonly region: string;
  /** Resolves when a read sees what the log holds at this index. */
  readonly caughtUp: (index: number) => Promise<unknown>;
}

/**
 * The one way to change state: read, decide, append, wait for the verdict.
 *
 * `write` appends a decision whose preconditions are checked when it is applied. `commit` appends a decision that is
 * right for the object as it was read: the log takes it only if no other transaction changed the object meanwhile.
 * Otherwise the object is read and decided on again, MAX_CONFLICTS times at most. Decisions are pure functions; this
 * class has the clock, the IDs and the log. It keeps no state; a write costs one append and one wait for its verdict.
 */
export class TransactionWriter {
  constructor(private readonly deps: TransactionWriterDeps) {}

  /** Unix milliseconds by the wall clock, for decisions that are made now. */
  nowMs(): number {
    return this.deps.clock.nowMs();
  }

  /** Unix nanoseconds by the wall clock. */
  nowNs(): number {
    return nsFromMs(this.nowMs());
  }

  /** The decision in its envelope, for callers that append it without `write`. */
  draft({ type, payload, namespace = '', region = this.deps.region }: Decision, author: Author): TxnDraft {
    const requestId = author.requestId ?? this.deps.newId();
    return draftTxn(type, payload, { ...author, timeNs: this.nowNs(), requestId, namespace, region });
  }

  /**
   * @throws Refusal the transaction was refused when it was applied; NotHolderError its author's term is over
   * @throws ConflictError the object was written at another sequence than expected; and what the log fails with
   */
  async write(decision: Decision, author: Author, options: ProposeOptions = {}): Promise<Written> {
    const { index, verdict } = await this.deps.log.propose(this.draft(decision, author), options);
    const refusal = refusalOf(verdict);
    if (refusal) throw refusal;
    return { index, isNoop: verdict.kind === 'noop', result: 'result' in verdict ? verdict.result : undefined };
  }

  /**
   * @param read the object as it is stored now
   * @param decide undefined: there is nothing to write
   * @throws Refusal what `decide` refuses, or conflict: the object was written again and again meanwhile; as `write`
   */
  async commit<Row, D extends Decision>(
    author: Author,
    read: () => Seen<Row> | Promise<Seen<Row>>,
    decide: (row: Row) => D | undefined,
  ): Promise<Committed<Row, D>> {
    let newest: number | undefined;
    for (let attempt = 0; ; attempt++) {
      const { row, sequence } = await read();
      const decision = decide(row);
      if (!decision) return { row, decision, written: undefined };
      const condition = decision.isUnconditional ? {} : { expectedLastSubjectSequence: newest ?? sequence };
      try {
        return { row, decision, written: await this.write(decision, author, condition) };
      } catch (error) {
        if (!(error instanceof ConflictError)) throw error;
        if (attempt === MAX_CONFLICTS) throw new Refusal('conflict', 'too many writes to the same object; try again');
        newest = error.actual;
        await this.deps.caughtUp(newest);
      }
    }
  }
}
