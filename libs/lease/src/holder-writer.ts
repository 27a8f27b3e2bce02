import { nsFromMs, type Clock } from '@waybill/model';
import {
  draftTxn,
  isRejected,
  serviceActor,
  type Actor,
  type Fence,
  type Proposer,
  type TxnPayloads,
  type TxnType,
} from '@waybill/state';

/** The log holds the transaction, and applying it was refused or void: nothing of it counts. */
export class WriteRejectedError extends Error {
  override readonly name = 'WriteRejectedError';
}

/** Who asked for a write, where it was not the holder itself. */
export interface AskedBy {
  readonly actor?: Actor;
  readonly reason?: string;
  readonly requestId?: string;
  readonly traceparent?: string | undefined;
}

export interface HolderWriterDeps {
  readonly clock: Clock;
  readonly newId: () => string;
  readonly state: Proposer;
  readonly region: string;
  /** What is thrown instead of a write once the term is over. */
  readonly closedError: () => Error;
}

/**
 * Writes to the log as the holder of one term, fenced. Modes: open → closed at the end of the term; closed, it writes
 * nothing.
 */
export class HolderWriter {
  private open = true;

  constructor(
    private readonly deps: HolderWriterDeps,
    private readonly fence: Fence,
  ) {}

  /** Resolves with the index, applied here. @throws WriteRejectedError, `closedError`, what the log fails with */
  async write<T extends TxnType>(
    type: T,
    payload: TxnPayloads[T],
    namespace: string,
    by: AskedBy = {},
  ): Promise<number> {
    if (!this.open) throw this.deps.closedError();
    const draft = draftTxn(type, payload, {
      timeNs: nsFromMs(this.deps.clock.nowMs()),
      requestId: by.requestId ?? this.deps.newId(),
      actor: by.actor ?? serviceActor(this.fence.role),
      reason: by.reason ?? '',
      region: this.deps.region,
      namespace,
      fence: this.fence,
      traceparent: by.traceparent,
    });
    const { index, verdict } = await this.deps.state.propose(draft);
    if (isRejected(verdict)) throw new WriteRejectedError(verdict.error);
    return index;
  }

  close(): void {
    this.open = false;
  }
}
