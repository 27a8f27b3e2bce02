import type { ClientAllocUpdate, Node } from '@waybill/model';
import { type Rpc, updateAllocs } from '@waybill/rpc';

/** How often in a row an update is sent again because an earlier one was taken in between. */
const MAX_OVERTAKEN = 3;

/** Updates of this machine that it has given up go on arriving; what is true now is sent again later. */
export class OvertakenError extends Error {
  override readonly name = 'OvertakenError';
  constructor() {
    super('earlier updates of this machine were taken in between');
  }
}

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
    for (let attempt = 0; attempt < MAX_OVERTAKEN; attempt++) {
      const update = { NodeID, SecretID, Allocs, After: this.lastTold };
      const { Index, Taken } = await this.rpc.ask(updateAllocs, update, { traceparent });
      this.lastTold = Index;
      if (Taken) return;
    }
    throw new OvertakenError();
  }
}
