import type { ClientAllocUpdate } from '@waybill/model';
import { type Rpc, updateAllocs } from '@waybill/rpc';
import type { Caller } from '../machine/identity/caller.js';
import { retryUntilAccepted } from './overtaken.js';
import type { UpdateSender } from './push-loop.js';

/**
 * RestoredMeanwhileError says that the servers' state was restored since this machine's last list. The states here
 * belong to the old state; the next list has to come first.
 */
export class RestoredMeanwhileError extends Error {
  override readonly name = 'RestoredMeanwhileError';
  constructor() {
    super("the servers' state was taken back, and this machine has not heard what it is to run by now");
  }
}

/**
 * OrderedUpdates sends states of allocations so that none overtakes another. Each one names the update that it follows
 * (ND-223), or the restore that this machine has heard of since (OP-47).
 */
export class OrderedUpdates implements UpdateSender {
  /** The index of the last update that the servers are known to have taken. */
  private lastReported = 0;
  /** The index of the last restore that this machine has heard of; 0 if there was none. */
  private restoredIndex = 0;

  constructor(
    private readonly rpc: Rpc,
    private readonly caller: Caller,
  ) {}

  /** Notes the restore of the list that this machine applied last (OP-47). */
  recordRestore(restoredIndex: number): void {
    this.restoredIndex = restoredIndex;
  }

  /**
   * Sends updates. If the servers took an earlier update whose outcome was unknown, the answer names it, and this one
   * follows it.
   * @throws RestoredMeanwhileError, OvertakenError, or the call's error
   */
  async send(Allocs: readonly ClientAllocUpdate[], traceparent: string | undefined): Promise<void> {
    const { ID: NodeID, SecretID } = this.caller();
    const known = this.restoredIndex;
    let After = Math.max(this.lastReported, known);
    await retryUntilAccepted(async () => {
      const update = { NodeID, SecretID, Allocs, After };
      const { Index, Taken, RestoredIndex = 0 } = await this.rpc.ask(updateAllocs, update, { traceparent });
      if (!Taken && RestoredIndex > known) throw new RestoredMeanwhileError();
      this.lastReported = After = Index;
      return Taken ? Index : undefined;
    });
  }
}
