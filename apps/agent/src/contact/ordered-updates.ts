import type { ClientAllocUpdate, Node } from '@waybill/model';
import { type Rpc, updateAllocs } from '@waybill/rpc';
import { untilTaken } from './overtaken.js';
import type { UpdateSender } from './push-loop.js';

/** What is true here is by a state of the servers that is no more; what is true by the present one, their list says first. */
export class RestoredMeanwhileError extends Error {
  override readonly name = 'RestoredMeanwhileError';
  constructor() {
    super("the servers' state was taken back, and this machine has not heard what it is to run by now");
  }
}

/**
 * Tells the servers states of allocations so that none overtakes another: each names the one it comes after (ND-223), or
 * the restore that this machine has heard of since (OP-47).
 */
export class OrderedUpdates implements UpdateSender {
  /** Index of the last update that the servers took, as far as known here. */
  private lastTold = 0;
  /** Index of the last restore that this machine has heard of, 0: of none. */
  private restoredIndex = 0;

  constructor(
    private readonly rpc: Rpc,
    private readonly node: () => Node,
  ) {}

  /** The list that this machine applied last is of a state with this restore (OP-47). */
  heardOfRestore(restoredIndex: number): void {
    this.restoredIndex = restoredIndex;
  }

  /**
   * An earlier one of unknown outcome may have been taken meanwhile: the answer names it, and this one comes after it.
   * @throws RestoredMeanwhileError, OvertakenError, or what the call throws
   */
  async send(Allocs: readonly ClientAllocUpdate[], traceparent: string | undefined): Promise<void> {
    const { ID: NodeID, SecretID } = this.node();
    const known = this.restoredIndex;
    let After = Math.max(this.lastTold, known);
    await untilTaken(async () => {
      const update = { NodeID, SecretID, Allocs, After };
      const { Index, Taken, RestoredIndex = 0 } = await this.rpc.ask(updateAllocs, update, { traceparent });
      if (!Taken && RestoredIndex > known) throw new RestoredMeanwhileError();
      this.lastTold = After = Index;
      return Taken ? Index : undefined;
    });
  }
}
