import { asService, type TransactionWriter, type Written } from '@waybill/writing';
import { TooLargeError } from '@waybill/journal';
import {
  type CancelTimer,
  type ClientAllocUpdate,
  nsFromRfc3339,
  Refusal,
  rfc3339FromNs,
  type Timers,
} from '@waybill/model';
import type { ReplicatedState } from '@waybill/replica';
import type { AllocUpdateRequest, AllocUpdateResponse } from '@waybill/rpc';
import { type RefusedNodes, restoredIndexOf, type SecondCopy } from '@waybill/state';
import { traceparentOf, type Tracer, withSpan } from '@waybill/telemetry';
import { evaluationsOfUpdates } from './alloc-update-evaluations.js';
import { checkAllocList, checkAllocUpdates } from '../node/machine-shapes.js';
import { withCutReport } from '../node/machine-texts.js';
import { permissionDenied } from '../node/node-access.js';

/** Updates of all nodes that arrive within this time of the first one become one transaction (ND-135). */
export const BATCH_WINDOW_MS = 50;
/** The same if nothing was written in the BATCH_WINDOW_MS before, so that a single report is not delayed. */
export const FIRST_WINDOW_MS = 5;
/** A batch of this size is written at once, which keeps a transaction well below the log's largest message (ST-14). */
export const MAX_BATCH_ALLOCS = 500;
/** Updates that may wait for a transaction; further agents are told to retry, which they do. */
export const MAX_PENDING_ALLOCS = 50_000;

interface Pending {
  readonly nodeId: string;
  readonly allocs: readonly ClientAllocUpdate[];
  readonly after: number | undefined;
  readonly traceparent: string | undefined;
  resolve(response: AllocUpdateResponse): void;
  reject(error: unknown): void;
}

export interface AllocUpdateDependencies {
  readonly state: ReplicatedState;
  readonly writer: TransactionWriter;
  readonly timers: Timers;
  readonly newId: () => string;
  readonly tracer: () => Tracer;
}

/**
 * Writes agents' reports on their allocations to the log (nodes.md section 8). Any replica answers.
 *
 * Modes: empty → gathering (the window of the first update is open) → empty. Each batch is one transaction. Several may
 * be in flight at once, because an agent waits for its answer before it sends its next update. An update that its agent
 * has given up may still arrive, here or at another replica, after its successor: each update names the one that it
 * follows, so that only one of them is accepted (ND-223), and none after a restore that its agent does not know of
 * (OP-47). A batch has at most one update of each node. It carries the trace of its first traced update.
 * Limits: BATCH_WINDOW_MS, FIRST_WINDOW_MS, MAX_BATCH_ALLOCS, MAX_PENDING_ALLOCS. Cost: O(updates).
 */
export class AllocUpdates {
  private gathering: Pending[] = [];
  private gatheredAllocs = 0;
  private pendingAllocs = 0;
  private cancelWindow: CancelTimer = () => {};
  private writtenAtMs = -Infinity;

  constructor(private readonly deps: AllocUpdateDependencies) {}

  get pending(): number {
    return this.pendingAllocs;
  }

  /**
   * Resolves with the index of the transaction when the update is committed (ND-108), or was superseded (ND-223).
   * @throws Refusal with the texts of ND-104; limit if too many updates wait; too-large; any error of the log (ND-136)
   */
  async update(request: AllocUpdateRequest, traceparent?: string): Promise<AllocUpdateResponse> {
    const nodeId = this.checkedNodeOf(request);
    if (this.pendingAllocs + request.Allocs.length > MAX_PENDING_ALLOCS)
      throw new Refusal('limit', 'too many allocation updates are waiting');
    this.pendingAllocs += request.Allocs.length;
    try {
      if (!request.Allocs.some((alloc) => this.isFirstRunning(alloc)))
        return await this.writeInBatch(nodeId, request, traceparent);
      // The last span of a submitted job's trace: the job runs, and every read shows it.
      return await withSpan(this.deps.tracer(), 'first running', { traceparent }, (span) =>
        this.writeInBatch(nodeId, request, traceparentOf(span) ?? traceparent),
      );
    } finally {
      this.pendingAllocs -= request.Allocs.length;
    }
  }

  /** Writes the gathered updates now. */
  flush(): void {
    this.cancelWindow();
    const batch = this.gathering;
    this.gathering = [];
    this.gatheredAllocs = 0;
    if (batch.length === 0) return;
    this.writtenAtMs = this.deps.writer.nowMs();
    void this.commitBatch(batch);
  }

  /** Checks the request in the order of ND-104, then its content. */
  private checkedNodeOf(request: AllocUpdateRequest): string {
    checkAllocList(request.Allocs);
    const [first] = request.Allocs ?? [];
    if (!first) throw new Refusal('invalid', 'must update at least one allocation');
    if (!first.NodeID) throw new Refusal('invalid', 'missing node ID');
    const node = this.deps.state.tables.nodes.get(first.NodeID);
    if (!node) throw new Refusal('not-found', `node ${first.NodeID} not found`);
    if (node.SecretID !== request.SecretID) throw permissionDenied();
    if (request.Allocs.some((alloc) => !this.isOwn(node.ID, alloc))) throw permissionDenied();
    if (node.Status === 'down' || node.Status === 'disconnected') throw notAllowed(node.ID, node.Status);
    if (request.Evals && request.Evals.length > 0) throw new Refusal('invalid', 'evals field must not be set');
    checkAllocUpdates(request.Allocs);
    return node.ID;
  }

  private writeInBatch(
    nodeId: string,
    request: AllocUpdateRequest,
    traceparent: string | undefined,
  ): Promise<AllocUpdateResponse> {
    return new Promise((resolve, reject) => {
      this.addToBatch({ nodeId, allocs: request.Allocs, after: request.After, traceparent, resolve, reject });
    });
  }

  private isFirstRunning(update: ClientAllocUpdate): boolean {
    if (update.ClientStatus !== 'running') return false;
    return this.deps.state.tables.allocs.get(update.ID)?.ClientStatus === 'pending';
  }

  /**
   * Whether the allocation is the node's own (ND-40). An unknown allocation is accepted here, and ignored when applied
   * (ND-120).
   */
  private isOwn(nodeId: string, update: ClientAllocUpdate): boolean {
    const stored = this.deps.state.tables.allocs.get(update.ID);
    return update.NodeID === nodeId && (stored === undefined || stored.NodeID === nodeId);
  }

  private addToBatch(pending: Pending): void {
    const isTooMuch = this.gatheredAllocs + pending.allocs.length > MAX_BATCH_ALLOCS;
    if (isTooMuch || this.gathering.some(({ nodeId }) => nodeId === pending.nodeId)) this.flush();
    if (this.gathering.length === 0) this.cancelWindow = this.deps.timers.after(this.windowMs(), () => this.flush());
    this.gathering.push(pending);
    this.gatheredAllocs += pending.allocs.length;
    if (this.gatheredAllocs >= MAX_BATCH_ALLOCS) this.flush();
  }

  private windowMs(): number {
    const sinceMs = this.deps.writer.nowMs() - this.writtenAtMs;
    return sinceMs >= 0 && sinceMs < BATCH_WINDOW_MS ? BATCH_WINDOW_MS : FIRST_WINDOW_MS;
  }

  private async commitBatch(batch: readonly Pending[]): Promise<void> {
    const { state, writer, newId } = this.deps;
    const timeNs = writer.nowNs();
    // Only the members that an agent may report are written, with the time of their arrival (ST-101).
    const { allocs: stored } = state.tables;
    const allocs = batch.flatMap((pending) =>
      pending.allocs.map((alloc) => withCutReport(saidByAgent(alloc, stored.get(alloc.ID)?.CreateTime ?? 0, timeNs))),
    );
    try {
      const Evals = evaluationsOfUpdates(state.tables, allocs, timeNs, newId);
      const payload = { Allocs: allocs, Evals, After: afterOf(batch) };
      const traceparent = batch.find((pending) => pending.traceparent !== undefined)?.traceparent;
      const written = await writer.write({ type: 'AllocClientUpdate', payload }, asService('nodes', traceparent));
      for (const pending of batch) answer(pending, written, restoredIndexOf(state.tables));
    } catch (error) {
      if (!(error instanceof TooLargeError)) for (const pending of batch) pending.reject(error);
      else if (batch.length === 1) for (const pending of batch) pending.reject(new Refusal('too-large', error.message));
      // The batch is too large, but each update alone may not be.
      else for (const pending of batch) void this.commitBatch([pending]);
    }
  }
}

/**
 * The time at which health was decided, as the machine reports it, limited to between placement and now: with a wrong
 * clock of the machine, a rollout's progress deadline would stand still, or move into the future.
 */
function healthTime(said: string | null, placedNs: number, nowNs: number): string | null {
  const saidNs = nsFromRfc3339(said);
  if (saidNs === 0 || (saidNs >= placedNs && saidNs <= nowNs)) return said;
  return rfc3339FromNs(Math.max(Math.min(saidNs, nowNs), placedNs));
}

/** @param placedNs when the servers created the allocation; 0: unknown here */
function saidByAgent(alloc: ClientAllocUpdate, placedNs: number, timeNs: number): ClientAllocUpdate {
  return {
    ID: alloc.ID,
    NodeID: alloc.NodeID,
    ClientStatus: alloc.ClientStatus,
    ClientDescription: alloc.ClientDescription,
    TaskStates: alloc.TaskStates,
    NetworkStatus: alloc.NetworkStatus,
    DeploymentStatus: alloc.DeploymentStatus && {
      Healthy: alloc.DeploymentStatus.Healthy,
      Timestamp: healthTime(alloc.DeploymentStatus.Timestamp, placedNs, timeNs),
    },
    ModifyTime: timeNs,
  };
}

function afterOf(batch: readonly Pending[]): Record<string, number> {
  return Object.fromEntries(batch.flatMap(({ nodeId, after }) => (after === undefined ? [] : [[nodeId, after]])));
}

/**
 * Answers one update of a batch. The verdict of the batch names the nodes whose updates were left out; only their
 * callers get an error (ST-105, ND-223).
 */
function answer(pending: Pending, { index, result }: Written, restoredIndex: number): void {
  const left = (result ?? {}) as RefusedNodes & Partial<SecondCopy>;
  const refusal = left.RefusedNodes?.[pending.nodeId];
  // The outcome of a first copy is unknown. When the update is sent again after it, the state accepts or supersedes it
  // for certain.
  const overtakenBy = left.firstIndex ?? left.OvertakenNodes?.[pending.nodeId];
  if (refusal !== undefined) pending.reject(new Refusal('conflict', refusal));
  else if (overtakenBy !== undefined)
    pending.resolve({ Index: overtakenBy, Taken: false, ...(restoredIndex > 0 && { RestoredIndex: restoredIndex }) });
  else pending.resolve({ Index: index, Taken: true });
}

function notAllowed(nodeId: string, status: string): Refusal {
  return new Refusal('conflict', `node ${nodeId} is not allowed to update allocs while in status ${status}`);
}
