import type { TransactionWriter } from '@waybill/writing';
import { queuedPlacements, type QueuedOfJob, type Rpc, type CallUser, UserRpc } from '@waybill/rpc';
import type { Requester } from '../http/requester.js';

/** The number of jobs in one transaction. With names of the usual length it stays at a quarter of a megabyte. */
export const MAX_RECONCILED_JOBS = 2_000;

/**
 * ReconcileSummaries makes all summaries anew (ST-83). It asks the schedulers page by page how many allocations of each
 * job are queued. It writes them with the rest in one transaction, or in several if much has changed.
 */
export class ReconcileSummaries {
  constructor(
    private readonly rpc: Rpc,
    private readonly writes: Pick<TransactionWriter, 'write'>,
    /** Returns the index up to which clients may have read. */
    private readonly seen: () => number,
  ) {}

  /** Resolves when the summaries can be read. @throws Refusal, RpcError, RpcUnavailableError */
  async reconcile(requester: Requester, user: CallUser): Promise<void> {
    const calls = new UserRpc(this.rpc, user);
    const MinIndex = this.seen();
    let gathered: QueuedOfJob[] = [];
    let After = '';
    do {
      const { Queued, Next } = await calls.ask(queuedPlacements, { After, MinIndex });
      for (const item of Queued) gathered.push(item);
      After = Next;
      if (gathered.length < MAX_RECONCILED_JOBS && After !== '') continue;
      await this.write(gathered, requester);
      gathered = [];
    } while (After !== '');
  }

  private async write(gathered: readonly QueuedOfJob[], requester: Requester): Promise<void> {
    await this.writes.write({ type: 'ReconcileJobSummaries', payload: { Queued: [...gathered] } }, requester.author);
  }
}
