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

/** How often a write is decided anew because somebody else wrote its object in between (API-116, ND-31). */
export const MAX_CONFLICTS = 5;

/** What a decision comes to: one transaction. */
export type Decision<T extends TxnType = TxnType> = {
  readonly [K in T]: {
    readonly type: K;
    readonly payload: TxnPayloads[K];
    /** Empty or absent: the transaction belongs to none, or to several. */
    readonly namespace?: string;
    /** Absent: the writer's own. */
    readonly region?: string;
    /** True: it does not depend on the object that it was decided on, and is written whatever that is by now. */
    readonly isUnconditional?: boolean;
  };
}[T];

/**
 * An object as it is stored, with the sequence of the last transaction on its subject. A guess will do, such as the
 * object's own index: the log says what is right where it was wrong, at the cost of one more attempt.
 */
export interface Seen<Row> {
  readonly row: Row;
  readonly sequence: number;
}

/** A transaction that is in the log, applied where its writer looks, and accepted. */
export interface Written {
  readonly index: number;
  /** True: a second copy, or one that had nothing to change (ST-6). */
  readonly isNoop: boolean;
  /** Result of the verdict, for the types that have one. */
  readonly result: unknown;
}

/** What a commit came to: the object it was decided on, and the transaction, if there was one to write. */
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
 * The one way to change state: read, decide, append, hear the verdict.
 *
 * `write` appends a decision whose preconditions are judged when it is applied. `commit` appends one that holds for the
 * object as it was read: the log takes it only if nobody wrote the object meanwhile, otherwise it is read and decided
 * anew, MAX_CONFLICTS times at most. Decisions are pure functions; this class has the clock, the ids and the log.
 * Stateless.
 */
export class TransactionWriter {
  constructor(private readonly deps: TransactionWriterDeps) {}

  /** Unix ms by the wall clock: the time of what is decided now. */
  nowMs(): number {
    return this.deps.clock.nowMs();
  }

  /** The same in ns. */
  nowNs(): number {
    return nsFromMs(this.nowMs());
  }

  /** The decision as the log takes it, for whoever appends it by other means than `write`. */
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
