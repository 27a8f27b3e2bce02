import type { Clock } from '@waybill/model';
import {
  draftTxn,
  isRejected,
  serviceActor,
  type Fence,
  type Proposer,
  type TxnPayloads,
  type TxnType,
} from '@waybill/state';
import { WriteRejectedError } from './broker-errors.js';

export interface WriteContext {
  readonly namespace?: string;
  readonly reason?: string;
  readonly traceparent?: string | undefined;
}

export interface FencedWriterDeps {
  readonly clock: Clock;
  readonly newId: () => string;
  readonly proposer: Proposer;
  readonly region: string;
}

/**
 * Writes to the log as the holder of one term: every transaction carries role and epoch, so that none of them counts
 * once somebody else holds the role (EB-144). One per term.
 */
export class FencedWriter {
  private readonly actor = serviceActor('broker');

  constructor(
    private readonly deps: FencedWriterDeps,
    private readonly fence: Fence,
  ) {}

  /**
   * Resolves with the index once the own copy of the state has applied it.
   * @throws WriteRejectedError if applying it was refused or void (EB-265); whatever the log fails with
   */
  async write<T extends TxnType>(type: T, payload: TxnPayloads[T], context: WriteContext = {}): Promise<number> {
    const draft = draftTxn(type, payload, {
      timeNs: this.deps.clock.nowMs() * 1e6,
      requestId: this.deps.newId(),
      actor: this.actor,
      region: this.deps.region,
      fence: this.fence,
      ...context,
    });
    const { index, verdict } = await this.deps.proposer.propose(draft);
    if (isRejected(verdict)) throw new WriteRejectedError(verdict.error, verdict.kind);
    return index;
  }

  /** The same for what may have become pointless. @returns undefined if applying it was refused */
  async writeIfAccepted<T extends TxnType>(
    type: T,
    payload: TxnPayloads[T],
    context: WriteContext = {},
  ): Promise<number | undefined> {
    try {
      return await this.write(type, payload, context);
    } catch (error) {
      if (error instanceof WriteRejectedError && error.kind === 'refused') return undefined;
      throw error;
    }
  }
}
