import type { ClientAllocUpdate, Node } from '@waybill/model';
import { type Rpc, updateAllocs } from '@waybill/rpc';
import { untilTaken } from './overtaken.js';

/** Tells the servers states of allocations so that none overtakes another: each names the one it comes after (ND-223). */
export class OrderedUpdates {
  /** Index of the last update that the servers took, as far as known here. */
  private lastTold = 0;

  constructor(
    private readonly rpc: Rpc,
    private readonly node: () => Node,
  ) {}

  /**
   * An earlier one of unknown outcome may have been taken meanwhile: the answer names it, and this one comes after it.
   * @throws OvertakenError, or what the call throws
   */
  async send(Allocs: readonly ClientAllocUpdate[], traceparent: string | undefined): Promise<void> {
    const { ID: NodeID, SecretID } = this.node();
    await untilTaken(async () => {
      const update = { NodeID, SecretID, Allocs, After: this.lastTold };
      const { Index, Taken } = await this.rpc.ask(updateAllocs, update, { traceparent });
      this.lastTold = Index;
      return Taken ? Index : undefined;
    });
  }
}
