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

/** The log holds the transaction, and applying it was refused or void: nothing of it counts (EB-265). */
export class WriteRejectedError extends Error {
  override readonly name = 'WriteRejectedError';
  /** @param kind void: the term is over, nothing that its holder writes counts any more */
  constructor(
    message: string,
    readonly kind: 'refused' | 'void' = 'refused',
  ) {
    super(message);
  }
}

/** Who asked for a write, where it was not the holder itself, and what came before it. */
export interface AskedBy {
  readonly actor?: Actor;
  readonly reason?: string;
  readonly requestId?: string;
  readonly traceparent?: string | undefined;
  /** What the steps that led to it took. */
  readonly stepTimes?: string | undefined;
}

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
  private closed: Error | undefined;

  constructor(
    private readonly deps: HolderWriterDeps,
    private readonly fence: Fence,
  ) {}

  /**
   * Resolves with the index, applied here.
   * @param namespace empty where the transaction belongs to none or to several
   * @throws WriteRejectedError, what it was closed with, what the log fails with
   */
  async write<T extends TxnType>(type: T, payload: TxnPayloads[T], namespace = '', by: AskedBy = {}): Promise<number> {
    if (this.closed) throw this.closed;
    const draft = draftTxn(type, payload, {
      timeNs: nsFromMs(this.deps.clock.nowMs()),
      requestId: by.requestId ?? this.deps.newId(),
      actor: by.actor ?? serviceActor(this.fence.role),
      reason: by.reason ?? '',
      region: this.deps.region,
      namespace,
      fence: this.fence,
      traceparent: by.traceparent,
      stepTimes: by.stepTimes,
    });
    const { index, verdict } = await this.deps.state.propose(draft);
    if (isRejected(verdict)) throw new WriteRejectedError(verdict.error, verdict.kind);
    return index;
  }

  /** @param why what later writes throw */
  close(why: Error): void {
    this.closed ??= why;
  }
}
