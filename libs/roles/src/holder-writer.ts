import type { Clock } from '@waybill/model';
import type { Fence, Proposer, TxnPayloads, TxnType } from '@waybill/state';
import { asHolder, type Author, type Decision, TransactionWriter } from '@waybill/writing';

export interface HolderWriterDeps {
  readonly clock: Clock;
  readonly newId: () => string;
  readonly state: Proposer;
  readonly region: string;
}

/**
 * Writes to the log as the holder of one term: every transaction carries role and epoch, so that it is void once
 * another process holds the role (EB-144).
 *
 * Modes: open → closed with a reason; closed, it writes nothing.
 */
export class HolderWriter {
  private readonly writer: TransactionWriter;
  private closed: Error | undefined;

  constructor(
    { state, ...deps }: HolderWriterDeps,
    private readonly fence: Fence,
  ) {
    // The decisions of a holder are checked when they are applied: it never commits on the condition that a read still
    // holds.
    this.writer = new TransactionWriter({ ...deps, log: state, caughtUp: () => Promise.resolve() });
  }

  /**
   * Resolves with the index, when this copy of the state has applied it.
   * @param namespace empty if the transaction belongs to no namespace, or to several
   * @param by the author, if the holder writes for somebody else
   * @throws Refusal if the transaction was refused when it was applied; NotHolderError if the term is over; the reason
   * of `close`, and any error of the log
   */
  async write<T extends TxnType>(
    type: T,
    payload: TxnPayloads[T],
    namespace = '',
    by: Partial<Author> = {},
  ): Promise<number> {
    if (this.closed) throw this.closed;
    // The compiler does not relate type and payload for a type parameter.
    const decision = { type, payload, namespace } as Decision;
    return (await this.writer.write(decision, { ...asHolder(this.fence), ...by, fence: this.fence })).index;
  }

  /** @param why the error that later writes throw */
  close(why: Error): void {
    this.closed ??= why;
  }
}
