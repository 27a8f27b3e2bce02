import { type Allocation, type Timers, Refusal } from '@waybill/model';
import type { ReplicatedState } from '@waybill/replica';
import {
  type AllocsByIdRequest,
  type AllocsByIdResponse,
  MAX_ALLOC_QUERY_WAIT_MS,
  MAX_WAITING_ALLOC_QUERIES,
  type NodeAllocsRequest,
  type NodeAllocsResponse,
} from '@waybill/rpc';
import { type Applied, SINGLETON_KEY, type Tables } from '@waybill/state';
import { catchUp } from './catch-up.js';
import { checkAllocIds } from '../node/machine-shapes.js';
import { permissionDenied, provenNode } from '../node/node-access.js';
import { jobOf } from '../node/node-evaluations.js';
import type { PlacementTraces } from './placement-traces.js';
import { roleTermsOf } from '../node/role-terms.js';

/** Why a waiting read continues: an allocation of its node changed, or the wait is over. */
type Woken = 'changed' | 'over';

/**
 * Agents' reads of their allocations (nodes.md section 9). Any replica answers.
 *
 * A read waits in its node's list and is woken when a transaction changed an allocation of that node. The cost of a
 * transaction is O(rows that it changed), however many other nodes wait (ND-152, ST-158). There is no await between the
 * look-up in the tables and the entry into the list, so no change can fall between them (ST-152). A node has one
 * waiting read: another read of the same node answers the waiting one, which its agent has given up.
 * Limits: MAX_WAITING_ALLOC_QUERIES, MAX_ALLOC_QUERY_WAIT_MS.
 */
export class AllocQueries {
  private readonly waiting = new Map<string, Set<(woken: Woken) => void>>();
  private waitingReads = 0;
  private stopped = false;
  private readonly unsubscribe: () => void;

  constructor(
    private readonly state: ReplicatedState,
    private readonly traces: PlacementTraces,
    private readonly timers: Timers,
  ) {
    this.unsubscribe = state.onApplied((applied) => this.applied(applied));
  }

  /** Answers every waiting read with the current state, and ignores later changes. */
  stop(): void {
    this.unsubscribe();
    this.stopped = true;
    for (const nodeId of this.waiting.keys()) this.wakeReads(nodeId, 'over');
  }

  get reads(): number {
    return this.waitingReads;
  }

  /** @throws Refusal forbidden (ND-151), unavailable, limit */
  async nodeAllocs(request: NodeAllocsRequest): Promise<NodeAllocsResponse> {
    await catchUp(this.state, request.MinStateIndex);
    const waitMs = Math.min(Math.max(request.MaxQueryTimeMs, 0), MAX_ALLOC_QUERY_WAIT_MS);
    const { tables } = this.state;
    provenNode(tables, request.NodeID, request.SecretID);
    this.wakeReads(request.NodeID, 'over');
    let known = request.Listed;
    let over = waitMs === 0;
    const cancel = over ? () => {} : this.timers.after(waitMs, () => this.wakeReads(request.NodeID, 'over'));
    try {
      for (;;) {
        const answer = nodeAllocsAnswer(tables, request.NodeID, known);
        if (over || this.stopped || answer.Index > request.MinQueryIndex)
          return { ...answer, Terms: roleTermsOf(tables) };
        known ??= Object.keys(answer.Allocs).length;
        over = (await this.waitForChange(request.NodeID)) === 'over';
        if (!tables.nodes.has(request.NodeID)) throw permissionDenied();
      }
    } finally {
      cancel();
    }
  }

  /**
   * @throws Refusal forbidden, invalid, unavailable if this replica does not reach the state that the agent has seen
   */
  async allocsById(request: AllocsByIdRequest): Promise<AllocsByIdResponse> {
    checkAllocIds(request.AllocIDs);
    await catchUp(this.state, request.MinStateIndex);
    const { tables, appliedIndex } = this.state;
    provenNode(tables, request.NodeID, request.SecretID);
    const allocs: Allocation[] = [];
    const traceparents: Record<string, string> = {};
    for (const id of request.AllocIDs) {
      const alloc = tables.allocs.get(id);
      if (!alloc) continue;
      if (alloc.NodeID !== request.NodeID) throw permissionDenied();
      allocs.push(alloc.Job ? alloc : { ...alloc, Job: jobOf(tables, alloc) ?? null });
      const trace = this.traces.of(id);
      if (trace !== undefined) traceparents[id] = trace;
    }
    return { Allocs: allocs, Index: appliedIndex, Traceparents: traceparents, ...restoredOf(tables) };
  }

  private waitForChange(nodeId: string): Promise<Woken> {
    if (this.waitingReads >= MAX_WAITING_ALLOC_QUERIES)
      throw new Refusal('limit', 'too many allocation reads are waiting');
    return new Promise((resolve) => {
      let reads = this.waiting.get(nodeId);
      if (!reads) this.waiting.set(nodeId, (reads = new Set()));
      reads.add(resolve);
      this.waitingReads++;
    });
  }

  private applied(applied: Applied): void {
    for (const change of applied.changes) {
      if (change.table === 'allocs') {
        if (change.after) this.wakeReads(change.after.NodeID, 'changed');
        if (change.before) this.wakeReads(change.before.NodeID, 'changed');
      } else if (change.table === 'nodes' && !change.after) this.wakeReads(change.key, 'changed');
    }
  }

  private wakeReads(nodeId: string, woken: Woken): void {
    const reads = this.waiting.get(nodeId);
    if (!reads) return;
    this.waiting.delete(nodeId);
    this.waitingReads -= reads.size;
    for (const resolve of reads) resolve(woken);
  }
}

/**
 * The answer to a read of a node's allocations (ST-155). Its index is the highest ModifyIndex of the node's
 * allocations. It is the table's index if the node has none, or fewer than the agent knows: a deletion lowers no row's
 * index and must still be an answer (ND-153). It is at least 1. A restore lowers the indexes of rows, and must be an
 * answer (OP-47).
 */
export function nodeAllocsAnswer(tables: Tables, nodeId: string, known: number | undefined): NodeAllocsResponse {
  const allocs: Record<string, number> = {};
  const restored = restoredOf(tables);
  let index = restored.RestoredIndex ?? 1;
  let count = 0;
  for (const alloc of tables.allocs.by('node', nodeId)) {
    allocs[alloc.ID] = alloc.AllocModifyIndex;
    index = Math.max(index, alloc.ModifyIndex);
    count++;
  }
  if (count === 0 || (known !== undefined && count < known)) index = Math.max(index, tables.allocs.tableIndex);
  return { Allocs: allocs, Index: index, ...restored };
}

function restoredOf({ cluster_meta }: Tables): { readonly RestoredIndex?: number } {
  const restored = cluster_meta.get(SINGLETON_KEY)?.RestoredIndex;
  return restored === undefined ? {} : { RestoredIndex: restored };
}
