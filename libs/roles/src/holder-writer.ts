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
 * Writes to the log as the holder of one term: every transaction carries role and epoch, so that none of them counts
 * once somebody else holds the role (EB-144). Modes: open → closed with a reason; closed, it writes nothing.
 */
export class HolderWriter {
  private readonly writer: TransactionWriter;
  private closed: Error | undefined;

  constructor(
    { state, ...deps }: HolderWriterDeps,
    private readonly fence: Fence,
  ) {
    // Decisions of a holder are judged when they are applied: it never commits on the condition that a read still holds.
    this.writer = new TransactionWriter({ ...deps, log: state, caughtUp: () => Promise.resolve() });
  }

  /**
   * Resolves with the index, applied here.
   * @param namespace empty where the transaction belongs to none or to several
   * @param by whoever asked for it, where that was not the holder itself
   * @throws Refusal it was refused when it was applied; NotHolderError the term is over; what it was closed with, what the
   * log fails with
   */
  async write<T extends TxnType>(
    type: T,
    payload: TxnPayloads[T],
    namespace = '',
    by: Partial<Author> = {},
  ): Promise<number> {
    if (this.closed) throw this.closed;
    const decision = { type, payload, namespace } as Decision; // of a type parameter the compiler does not see the pair
    return (await this.writer.write(decision, { ...asHolder(this.fence), ...by, fence: this.fence })).index;
  }

  /** @param why what later writes throw */
  close(why: Error): void {
    this.closed ??= why;
  }
}
