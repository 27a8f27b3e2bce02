import { type Clock, nsFromMs } from '@waybill/model';
import { draftTxn, type Proposer, type TxnPayloads, type TxnType } from '@waybill/state';
import type { Requester } from './http/requester.js';
import { acceptedOrThrow } from './writer.js';

/** Writes what a user says, as it is. Stateless; what may not be is refused where it is applied (ND-184, ND-186, OP-180). */
export class UserWrites {
  constructor(
    private readonly writer: Proposer,
    private readonly clock: Clock,
  ) {}

  /** Resolves with the index, once it can be read. @throws Refusal 500 with the text of the refusal */
  async run<T extends TxnType>(type: T, payload: TxnPayloads[T], requester: Requester): Promise<number> {
    const draft = draftTxn(type, payload, requester.draftContext(nsFromMs(this.clock.nowMs())));
    return acceptedOrThrow(await this.writer.propose(draft)).index;
  }
}
