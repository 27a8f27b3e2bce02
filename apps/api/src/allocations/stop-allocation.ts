import { stopOf, type StopAllocationOptions } from './decisions/stop.js';
import type { TransactionWriter } from '@waybill/writing';
import type { Allocation } from '@waybill/model';
import type { Requester } from '../http/requester.js';

/**
 * StopAllocation stops an allocation and causes a replacement: the transition and the evaluation are one transaction
 * (API-193).
 */
export class StopAllocation {
  constructor(
    private readonly writer: TransactionWriter,
    private readonly allocation: (id: string) => Promise<Allocation | undefined>,
    private readonly newId: () => string,
  ) {}

  /** Stops an allocation, even an ended one. @throws Refusal not-found */
  async stop(options: StopAllocationOptions, requester: Requester): Promise<{ EvalID: string; Index: number }> {
    const alloc = await this.allocation(options.id);
    const decision = stopOf(alloc, options, this.newId(), this.writer.nowNs());
    const { index } = await this.writer.write(decision, requester.author);
    return { EvalID: decision.payload.Evals[0]?.ID ?? '', Index: index };
  }
}
