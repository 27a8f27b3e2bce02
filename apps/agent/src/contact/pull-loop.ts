import { type Allocation, type CancelTimer, isRefusal, type Timers } from '@waybill/model';
import {
  type AllocsByIdResponse,
  allocsById,
  isTooLarge,
  MAX_ALLOC_QUERY_WAIT_MS,
  nodeAllocs,
  type NodeAllocsResponse,
  type RoleTerms,
  type Rpc,
} from '@waybill/rpc';
import type { Logger } from '@waybill/telemetry';
import type { Caller } from '../machine/identity/caller.js';
import { type AllocDiff, diffAllocs, diffRestoredAllocs, type KnownAlloc } from './allocation-diff.js';

/**
 * The pause in milliseconds after a failed query. It doubles with each failure up to the limit, plus a random part
 * (AG-48).
 */
export const PULL_RETRY_MS = 1_000;
export const MAX_PULL_RETRY_MS = 30_000;
/** The pause in milliseconds before an incomplete pull is repeated; a random part of it is added (AG-43). */
export const INCOMPLETE_RETRY_MS = 2_000;

/** The time in milliseconds within which machines ask again after the servers have changed, each at a random moment. */
export const ASK_AGAIN_SPREAD_MS = 2_000;

export interface PulledAlloc {
  readonly alloc: Allocation;
  readonly traceparent: string | undefined;
}

/** Pulled is the result of one pull. It is applied in this order (AG-44). */
export interface Pulled {
  readonly removed: readonly string[];
  readonly changed: readonly PulledAlloc[];
  /** All ids in the servers' list. */
  readonly listed: ReadonlySet<string>;
  /** Whether the servers' state was restored. They may have lost reports and decisions (OP-47). */
  readonly isRestored: boolean;
  /** The index of the restore before the list's state; 0 if there was none. */
  readonly restoredIndex: number;
}

/** KnownAllocations are the allocations of this machine, for the comparison with the servers' list. */
export interface KnownAllocations {
  knownAllocations(): readonly KnownAlloc[];
  /** Returns the ids that are not fetched again until the servers drop them (AG-42). */
  idsSetAside(): ReadonlySet<string>;
}

/** PullReceiver receives each complete list of the servers, in the order of their indexes. */
export interface PullReceiver {
  apply(pulled: Pulled): void;
}

/** PullListener learns of refusals too. */
export interface PullListener extends PullReceiver {
  /** The servers gave this machine no list because they do not recognise it; they may have forgotten it (AG-33). */
  refused(): void;
}

export interface PullDependencies {
  readonly rpc: Rpc;
  readonly timers: Timers;
  /** Returns a number in [0, 1). */
  readonly random: () => number;
  readonly logger: Logger;
  readonly caller: Caller;
  readonly dev: boolean;
  readonly allocations: KnownAllocations;
  /** Is told the holders of roles that an answer names (AU-256). */
  readonly hearsTerms?: ((terms: RoleTerms | undefined) => void) | undefined;
  readonly receiver: PullListener;
}

/**
 * PullLoop learns from the servers which allocations this machine runs (agent.md section 6).
 *
 * States: stopped → asking → (fetching) → asking … → stopped. asking: a read waits at the servers until something of
 * this node changes. fetching: it reads new and newer allocations at a state that is not older than the list. It
 * repeats that until they are complete, or until the servers' state was restored and there is another list. The first
 * read asks for a state that has this agent's registration, so it is never older than what the agent has seen (AG-202).
 * The server process at which the read waits may die, and an answer may be lost with a connection. When the servers
 * have changed or the connection is back, the read is therefore given up for a new one. Cost: one request per change of
 * this node, one per MAX_ALLOC_QUERY_WAIT_MS without a change, one per server process that starts or is lost.
 */
export class PullLoop {
  private mode: 'stopped' | 'running' = 'stopped';
  private index = 0;
  private listed = 0;
  /** The index of the last restore that was applied; 0 if there was none. */
  private restore = 0;
  private failures = 0;
  private cancelPause: CancelTimer = () => {};
  private endPause: () => void = () => {};
  private cancelAskAgain: CancelTimer | undefined;
  private abandonRead: () => void = () => {};

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

  /**
   * Asks again soon, because a process of the servers is gone, has started, or is reachable again. A waiting read may
   * wait at a dead process, and a failed one may succeed now.
   */
  serversChanged(): void {
    if (!this.isRunning || this.cancelAskAgain) return;
    this.cancelAskAgain = this.deps.timers.after(this.deps.random() * ASK_AGAIN_SPREAD_MS, () => {
      this.cancelAskAgain = undefined;
      this.abandonRead();
      this.cancelPause();
      this.endPause();
    });
  }

  private async pullUntilStopped(minStateIndex: number): Promise<void> {
    while (this.isRunning) {
      try {
        await this.pullOnce(Math.max(minStateIndex, 1));
        this.failures = 0;
      } catch (error) {
        if (!this.isRunning) return;
        const retryMs = this.retryMs();
        this.failures++;
        if (isRefusal(error, 'forbidden')) this.deps.receiver.refused();
        this.deps.logger.warn('the list of allocations could not be read; trying again', {
          error,
          retryMs: Math.round(retryMs),
        });
        await this.pause(retryMs);
      }
    }
  }

  private async pullOnce(minStateIndex: number): Promise<void> {
    const list = await this.unlessAbandoned(
      this.deps.rpc.ask(nodeAllocs, {
        ...this.ownIds(),
        MinQueryIndex: this.index,
        Listed: this.listed,
        MaxQueryTimeMs: MAX_ALLOC_QUERY_WAIT_MS,
        MinStateIndex: this.index === 0 ? minStateIndex : 0,
      }),
    );
    if (!this.isRunning || !list) return;
    this.deps.hearsTerms?.(list.Terms);
    if (list.Index <= this.index) return;
    const { Index, Allocs, RestoredIndex = 0 } = list;
    const isRestored = RestoredIndex > this.restore;
    const { allocations } = this.deps;
    const diff = isRestored
      ? diffRestoredAllocs(Allocs, allocations.knownAllocations())
      : diffAllocs(Allocs, allocations.knownAllocations(), allocations.idsSetAside());
    const changed = await this.fetchWanted(diff, list);
    if (!this.isRunning || !changed) return;
    const listed = new Set(Object.keys(Allocs));
    this.deps.receiver.apply({ removed: diff.removed, changed, listed, isRestored, restoredIndex: RestoredIndex });
    this.index = Index; // the index moves only after the list is applied, so an unapplied list is read again
    this.listed = listed.size;
    this.restore = RestoredIndex;
  }

  private ownIds(): { NodeID: string; SecretID: string } {
    const { ID: NodeID, SecretID } = this.deps.caller();
    return { NodeID, SecretID };
  }

  /** Awaits a read. Returns undefined if it is given up; a later answer is ignored. */
  private unlessAbandoned<T>(read: Promise<T>): Promise<T | undefined> {
    return Promise.race([read, new Promise<undefined>((resolve) => (this.abandonRead = () => resolve(undefined)))]);
  }

  /**
   * Fetches the wanted allocations. Returns undefined if the state was restored since the list was made, because the
   * list may name allocations that no longer exist (OP-47).
   */
  private async fetchWanted(diff: AllocDiff, list: NodeAllocsResponse): Promise<PulledAlloc[] | undefined> {
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
   * Fetches the allocations, in several answers if one would exceed the size of a message because of large jobs. An
   * allocation that is too large alone is not run here, and does not delay others.
   */
  private async fetchAllocations(ids: readonly string[], minStateIndex: number): Promise<AllocsByIdResponse[]> {
    const { rpc, logger } = this.deps;
    try {
      const asked = { ...this.ownIds(), AllocIDs: ids, MinStateIndex: minStateIndex };
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
 * Says whether the answer is as new as the list that named its allocations (AG-43). If a new enough state lacks a
 * wanted allocation, it was deleted meanwhile, and the next list shows that.
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
