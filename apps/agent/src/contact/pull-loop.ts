import { type Allocation, type CancelTimer, type Timers } from '@waybill/model';
import {
  type AllocsByIdResponse,
  allocsById,
  isTooLarge,
  MAX_ALLOC_QUERY_WAIT_MS,
  nodeAllocs,
  type NodeAllocsResponse,
  type Rpc,
} from '@waybill/rpc';
import type { Logger } from '@waybill/telemetry';
import { type AllocDiff, diffAllocs, diffRestoredAllocs, type KnownAlloc } from './allocation-diff.js';

/** A failed query is repeated after this, doubled with each failure up to the limit, plus a random part of it (AG-48). */
export const PULL_RETRY_MS = 1_000;
export const MAX_PULL_RETRY_MS = 30_000;
/** Wait before an incomplete pull is repeated; a random part of it is added (AG-43). */
export const INCOMPLETE_RETRY_MS = 2_000;

/** After word that the servers have changed, machines ask again within this, each at a moment of its own. */
export const ASK_AGAIN_SPREAD_MS = 2_000;

export interface PulledAlloc {
  readonly alloc: Allocation;
  readonly traceparent: string | undefined;
}

/** What one pull came to: applied in this order (AG-44). */
export interface Pulled {
  readonly removed: readonly string[];
  readonly changed: readonly PulledAlloc[];
  /** Every id the servers listed. */
  readonly listed: ReadonlySet<string>;
  /** The servers' state was taken back: what they have been told may be lost, what they had decided too (OP-47). */
  readonly isRestored: boolean;
  /** Index of the restore that the state of this list comes after; 0: of none. */
  readonly restoredIndex: number;
}

/** The allocations that are here, for the comparison with the servers' list. */
export interface KnownAllocations {
  known(): readonly KnownAlloc[];
  /** Ids that are not fetched again until the servers drop them (AG-42). */
  idsSetAside(): ReadonlySet<string>;
}

/** Gets each list of the servers, complete, in the order of their indexes. */
export interface PullReceiver {
  apply(pulled: Pulled): void;
}

export interface PullDependencies {
  readonly rpc: Rpc;
  readonly timers: Timers;
  /** In [0, 1). */
  readonly random: () => number;
  readonly logger: Logger;
  readonly nodeId: string;
  readonly secretId: string;
  readonly dev: boolean;
  readonly allocations: KnownAllocations;
  readonly receiver: PullReceiver;
}

/**
 * Learns what this machine is to run (agent.md section 6).
 *
 * stopped → asking → (fetching) → asking … → stopped. asking: a read that waits at the servers until something of this
 * node changes. fetching: what is new or newer, at a state not older than the list; repeated until complete, or until the
 * servers' state was taken back and there is another list. The first read asks for a state that has this agent's
 * registration, so it is never older than what the agent has seen (AG-202). Whoever the read waits at may die with it, and an answer may be lost with a connection: at word that the servers have
 * changed, or that the connection is back, the read is given up for a new one.
 * Cost: one request per change of this node, one per MAX_ALLOC_QUERY_WAIT_MS without, one per process of the servers that
 * begins or is lost.
 */
export class PullLoop {
  private mode: 'stopped' | 'running' = 'stopped';
  private index = 0;
  private listed = 0;
  /** Index of the last restore that was applied; 0: of none. */
  private restore = 0;
  private failures = 0;
  private cancelPause: CancelTimer = () => {};
  private endPause: () => void = () => {};
  private cancelAskAgain: CancelTimer | undefined;
  private giveUp: () => void = () => {};

  constructor(private readonly deps: PullDependencies) {}

  /** Index of the last list that was applied; 0 before the first. */
  get appliedIndex(): number {
    return this.index;
  }

  start(minStateIndex: number): void {
    if (this.mode === 'running') return;
    this.mode = 'running';
    void this.pullUntilStopped(minStateIndex);
  }

  /** Ends the loop. Nothing is applied afterwards (AG-49). */
  stop(): void {
    this.mode = 'stopped';
    this.cancelAskAgain?.();
    this.cancelPause();
    this.endPause();
  }

  /** A process of the servers is gone, or has begun, or was out of reach: what waits may wait for nobody, and who failed may try again. */
  serversChanged(): void {
    if (!this.isRunning || this.cancelAskAgain) return;
    this.cancelAskAgain = this.deps.timers.after(this.deps.random() * ASK_AGAIN_SPREAD_MS, () => {
      this.cancelAskAgain = undefined;
      this.giveUp();
      this.cancelPause();
      this.endPause();
    });
  }

  private async pullUntilStopped(minStateIndex: number): Promise<void> {
    while (this.isRunning) {
      try {
        await this.pull(Math.max(minStateIndex, 1));
        this.failures = 0;
      } catch (error) {
        if (!this.isRunning) return;
        const retryMs = this.retryMs();
        this.failures++;
        this.deps.logger.warn('the list of allocations could not be read; trying again', {
          error,
          retryMs: Math.round(retryMs),
        });
        await this.pause(retryMs);
      }
    }
  }

  private async pull(minStateIndex: number): Promise<void> {
    const list = await this.unlessGivenUp(
      this.deps.rpc.ask(nodeAllocs, {
        NodeID: this.deps.nodeId,
        SecretID: this.deps.secretId,
        MinQueryIndex: this.index,
        Listed: this.listed,
        MaxQueryTimeMs: MAX_ALLOC_QUERY_WAIT_MS,
        MinStateIndex: this.index === 0 ? minStateIndex : 0,
      }),
    );
    if (!this.isRunning || !list || list.Index <= this.index) return;
    const { Index, Allocs, RestoredIndex = 0 } = list;
    const isRestored = RestoredIndex > this.restore;
    const { allocations } = this.deps;
    const diff = isRestored
      ? diffRestoredAllocs(Allocs, allocations.known())
      : diffAllocs(Allocs, allocations.known(), allocations.idsSetAside());
    const changed = await this.fetch(diff, list);
    if (!this.isRunning || !changed) return;
    const listed = new Set(Object.keys(Allocs));
    this.deps.receiver.apply({ removed: diff.removed, changed, listed, isRestored, restoredIndex: RestoredIndex });
    this.index = Index; // not before: what could not be applied is asked for again
    this.listed = listed.size;
    this.restore = RestoredIndex;
  }

  /** undefined: given up; its answer, should it still come, is nobody's. */
  private unlessGivenUp<T>(read: Promise<T>): Promise<T | undefined> {
    return Promise.race([read, new Promise<undefined>((resolve) => (this.giveUp = () => resolve(undefined)))]);
  }

  /** undefined: the state was taken back since the list was made, which may name what is not there any more (OP-47). */
  private async fetch(diff: AllocDiff, list: NodeAllocsResponse): Promise<PulledAlloc[] | undefined> {
    while (diff.wanted.length > 0 && this.isRunning) {
      const answers = await this.fetchAllocations(diff.wanted, list.Index);
      const isOutdated = answers.some(({ RestoredIndex }) => (RestoredIndex ?? 0) > (list.RestoredIndex ?? 0));
      if (!isOutdated && answers.every((answer) => isComplete(answer, list))) return answers.flatMap(pulledOf);
      await this.pause(INCOMPLETE_RETRY_MS * (1 + this.deps.random()));
      if (isOutdated) return undefined;
    }
    return [];
  }

  /**
   * Fetches the allocations in as many answers as it takes: with large jobs one would be larger than a message may be. An
   * allocation that is too large alone is not run here, and holds up no others.
   */
  private async fetchAllocations(ids: readonly string[], minStateIndex: number): Promise<AllocsByIdResponse[]> {
    const { rpc, nodeId, secretId, logger } = this.deps;
    try {
      const asked = { NodeID: nodeId, SecretID: secretId, AllocIDs: ids, MinStateIndex: minStateIndex };
      return [await rpc.ask(allocsById, asked)];
    } catch (error) {
      if (!isTooLarge(error)) throw error;
      if (ids.length === 1) {
        logger.error('an allocation is too large to be run here', { alloc: ids[0], error });
        return [];
      }
      const middle = Math.ceil(ids.length / 2);
      const first = await this.fetchAllocations(ids.slice(0, middle), minStateIndex);
      return [...first, ...(await this.fetchAllocations(ids.slice(middle), minStateIndex))];
    }
  }

  private get isRunning(): boolean {
    return this.mode === 'running';
  }

  private retryMs(): number {
    if (this.deps.dev) return PULL_RETRY_MS;
    const base = Math.min(PULL_RETRY_MS * 2 ** Math.min(this.failures, 10), MAX_PULL_RETRY_MS);
    return base * (1 + this.deps.random());
  }

  private pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.endPause = resolve;
      this.cancelPause = this.deps.timers.after(ms, resolve);
    });
  }
}

/**
 * Whether the answer is as new as the list that named its allocations (AG-43). A wanted allocation that is gone from a
 * state which is new enough was deleted meanwhile: the next list says so.
 */
function isComplete(answer: AllocsByIdResponse, list: NodeAllocsResponse): boolean {
  return (
    answer.Index >= list.Index &&
    answer.Allocs.every((alloc) => alloc.AllocModifyIndex >= (list.Allocs[alloc.ID] ?? 0) && alloc.Job !== null)
  );
}

function pulledOf(answer: AllocsByIdResponse): PulledAlloc[] {
  return answer.Allocs.map((alloc) => ({ alloc, traceparent: answer.Traceparents[alloc.ID] }));
}
