import type { RestartedAllocation } from './batches.js';

/** FollowedAllocation is the part of an allocation that tells whether its replacement runs. */
export interface FollowedAllocation {
  readonly ClientStatus: string;
  readonly NextAllocation?: string;
  readonly ModifyIndex?: number;
}

/** RestartServer is what a run asks of the API. Each method rejects with the API's reason. */
export interface RestartServer {
  /** Returns the rollout that is under way; undefined if there is none. */
  activeDeployment(): Promise<string | undefined>;
  /** Restarts the running tasks of an allocation on their machine. */
  restart(id: string): Promise<unknown>;
  /** Stops an allocation, so that the scheduler replaces it. */
  stop(id: string): Promise<unknown>;
  /** Returns an allocation once it has changed since an index, or after a while. */
  allocation(id: string, sinceIndex: number, signal: AbortSignal): Promise<FollowedAllocation>;
  /** Returns why a group gets no replacement, in words: it has no place, or its job is stopped. Undefined: it gets one. */
  replacementFailure(group: string): Promise<string | undefined>;
}

/** RestartFailure says which allocation was not restarted or replaced, and why. */
export interface RestartFailure {
  /** The allocation; empty if none is concerned. */
  readonly allocation: string;
  readonly text: string;
}

export interface RestartProgress {
  readonly total: number;
  /** The allocations that were restarted or replaced. */
  readonly done: number;
  readonly batch: number;
  readonly batches: number;
  readonly failures: readonly RestartFailure[];
}

export interface RestartRun {
  readonly batches: readonly (readonly RestartedAllocation[])[];
  readonly waitMs: number;
  /** Is true if allocations are stopped and replaced, on any machine. */
  readonly isReplacing: boolean;
  readonly goesOnAfterFailures: boolean;
  readonly server: RestartServer;
  readonly pause: (ms: number, signal: AbortSignal) => Promise<void>;
  /** Ends the run. A batch that has begun is not taken back. */
  readonly signal: AbortSignal;
  readonly onProgress: (progress: RestartProgress) => void;
}

/**
 * Restarts allocations batch by batch, with a pause between two batches, as `job restart` does. A batch's allocations are
 * restarted at the same time. A run ends early after failures, if a rollout has begun meanwhile, or when its signal is
 * aborted.
 */
export async function restartInBatches(run: RestartRun): Promise<RestartProgress> {
  const { batches, server, signal, onProgress } = run;
  const total = batches.reduce((sum, batch) => sum + batch.length, 0);
  let progress: RestartProgress = { total, done: 0, batch: 0, batches: batches.length, failures: [] };
  const report = (more: Partial<RestartProgress>): void => {
    progress = { ...progress, ...more };
    onProgress(progress);
  };
  for (const [at, batch] of batches.entries()) {
    if (at > 0) await run.pause(run.waitMs, signal);
    if (signal.aborted) break;
    const rollout = await server.activeDeployment();
    if (rollout !== undefined) {
      report({ failures: [...progress.failures, { allocation: '', text: `The rollout ${rollout} is under way.` }] });
      break;
    }
    report({ batch: at + 1 });
    await Promise.all(
      batch.map(async (alloc) => {
        const failure = await restartOne(run, alloc).then(
          () => undefined,
          (error: unknown) => ({ allocation: alloc.ID, text: error instanceof Error ? error.message : String(error) }),
        );
        if (signal.aborted) return;
        report(failure ? { failures: [...progress.failures, failure] } : { done: progress.done + 1 });
      }),
    );
    if (progress.failures.length > 0 && !run.goesOnAfterFailures) break;
  }
  return progress;
}

async function restartOne({ server, isReplacing, signal }: RestartRun, alloc: RestartedAllocation): Promise<void> {
  if (!isReplacing) {
    await server.restart(alloc.ID);
    return;
  }
  await server.stop(alloc.ID);
  await replacementRuns(server, alloc, signal);
}

const ENDED: ReadonlySet<string> = new Set(['complete', 'failed', 'lost']);

/**
 * Waits until an allocation's replacement runs, or the replacement of that. A replacement that has ended is waited for
 * once more, because it may be replaced too. @throws Error if the group gets no replacement, or the last one has ended
 */
async function replacementRuns(server: RestartServer, { ID, TaskGroup }: RestartedAllocation, signal: AbortSignal) {
  let [id, index, hasEnded] = [ID, 0, false];
  while (!signal.aborted) {
    const { NextAllocation: next = '', ClientStatus, ModifyIndex = 0 } = await server.allocation(id, index, signal);
    if (next !== '') [id, index, hasEnded] = [next, 0, false];
    else if (id !== ID && ClientStatus === 'running') return;
    else {
      if (hasEnded) throw new Error(`Its replacement is ${ClientStatus}.`);
      hasEnded = id !== ID && ENDED.has(ClientStatus);
      const failure = await server.replacementFailure(TaskGroup);
      if (failure !== undefined) throw new Error(`It was stopped, and is not replaced: ${failure}`);
      index = ModifyIndex;
    }
  }
}
