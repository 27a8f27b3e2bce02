import type { CancelTimer, Clock, Evaluation, Timers } from '@waybill/model';
import { BlockedResources } from './blocked-resources.js';

/** Entries of the unblock log older than this are pruned (EB-191). */
export const UNBLOCK_LOG_AGE_MS = 15 * 60_000;

/**
 * Up to so many tracked evaluations an unblock is done where it is issued; with more, it waits for its turn beside the
 * log's application, together with the others that came meanwhile (EB-157).
 */
export const DEFER_ABOVE = 64;

/** An evaluation that waits for capacity, and the token under which its worker reblocked it ("" if none did). */
export interface BlockedEval {
  readonly evaluation: Evaluation;
  readonly token: string;
}

export interface BlockedStats {
  readonly totalBlocked: number;
  readonly totalEscaped: number;
  readonly totalQuotaLimit: number;
}

export interface BlockedEvalsDeps {
  readonly clock: Clock;
  readonly timers: Timers;
  /** Hands evaluations back to the broker, as one batch (EB-184). */
  readonly enqueue: (batch: readonly BlockedEval[]) => void;
  /** There are duplicates to be canceled (EB-171). */
  readonly onDuplicate: () => void;
}

/** A class that gained capacity, together with the quota of what ended there ("" if none). */
interface Freed {
  readonly computedClass: string;
  readonly quota: string;
}

type Operation =
  | { readonly kind: 'run'; readonly run: () => void }
  | { readonly kind: 'freed'; freed: Map<string, Freed> };

interface Tracked extends BlockedEval {
  /** Job, and for system jobs the node too: of these at most one is kept (EB-167, EB-172). */
  readonly unit: string;
  readonly jobKey: string;
}

/**
 * Remembers the evaluations that could not place everything, and why, until a change could help them.
 *
 * Modes: disabled (takes in and holds nothing) → enabled → disabled, from empty each time; the owner rebuilds it from
 * state. An evaluation is captured (its constraints are decided by a node's class, and it knows the classes it saw) or
 * escaped (anything may help it). It leaves by a change that could help (to the broker), by untrack (its job needs
 * nothing any more), or as duplicate of a newer one of its job (to be canceled by the owner).
 * The unblock log answers the race with a scheduler that worked on an older state: what was unblocked since its snapshot
 * goes back at once instead of being tracked (EB-159).
 * Operations take effect in the order they were issued (EB-156). What has to look at everything tracked does not do so
 * where it is issued, which is where the log is applied: it waits in a queue, and unblocks that follow each other are one
 * pass over what is tracked. The log entry of an unblock is made at once (EB-157).
 * Memory: one record per evaluation, one log entry per class for 15 minutes. Cost: block and untrack O(log entries), of
 * any number of unblocks that wait O(tracked), of a node O(tracked for it).
 */
export class BlockedEvals {
  private enabled = false;
  private readonly tracked = new Map<string, Tracked>();
  private readonly byUnit = new Map<string, string>();
  private readonly byJob = new Map<string, Set<string>>();
  private readonly systemByNode = new Map<string, Set<string>>();
  private readonly unblockLog = new Map<string, { index: number; atMs: number }>();
  private duplicates: Evaluation[] = [];
  private totals = { escaped: 0, quota: 0 };
  /** Operations that wait for their turn, oldest first. */
  private queue: Operation[] = [];
  private stopTurn: CancelTimer | undefined;
  /** What is missing, for metrics (EB-193, EB-194). */
  readonly resources: BlockedResources;

  constructor(private readonly deps: BlockedEvalsDeps) {
    this.resources = new BlockedResources(deps.clock);
  }

  /** Both directions are no-ops when there already; both begin from empty (EB-154, EB-155). */
  setEnabled(enabled: boolean): void {
    if (enabled === this.enabled) return;
    this.enabled = enabled;
    this.tracked.clear();
    this.byUnit.clear();
    this.byJob.clear();
    this.systemByNode.clear();
    this.unblockLog.clear();
    this.queue = [];
    this.stopTurn?.();
    this.stopTurn = undefined;
    this.resources.clear();
    this.duplicates = [];
    this.totals = { escaped: 0, quota: 0 };
  }

  /** Tracks an evaluation, or hands it back at once if it missed an unblock (EB-159). `token`: of a reblock (EB-189). */
  block(evaluation: Evaluation, token = ''): void {
    this.inTurn(() => this.blockNow(evaluation, token));
  }

  private blockNow(evaluation: Evaluation, token: string): void {
    this.forget(evaluation.ID); // EB-170: never a duplicate of itself
    const entry: Tracked = { evaluation, token, unit: unitOf(evaluation), jobKey: jobKeyOf(evaluation) };
    const existing = this.tracked.get(this.byUnit.get(entry.unit) ?? '');
    if (existing) {
      if (latestIndex(evaluation) < latestIndex(existing.evaluation)) {
        this.addDuplicate(evaluation);
        return;
      }
      this.forget(existing.evaluation.ID);
      this.addDuplicate(existing.evaluation);
    }
    if (this.missedUnblock(evaluation)) this.deps.enqueue([entry]);
    else this.track(entry);
  }

  /** Nodes of this class may have room now; `quota`: of the allocation that made it ("" if none). EB-176 to EB-179. */
  unblockClass(computedClass: string, index: number, quota = ''): void {
    if (!this.enabled) return;
    this.log(computedClass, index);
    if (quota !== '') this.log(quota, index);
    const last = this.queue.at(-1);
    const freed = last?.kind === 'freed' ? last.freed : new Map<string, Freed>();
    freed.set(`${computedClass} ${quota}`, { computedClass, quota });
    if (last?.kind !== 'freed') this.queue.push({ kind: 'freed', freed });
    this.takeTurn();
  }

  /** Capacity of a class or resource was freed while this was off: only the log is to know, nothing is tracked yet (EB-159). */
  missed(key: string, index: number): void {
    if (this.enabled && index > (this.unblockLog.get(key)?.index ?? 0)) this.log(key, index);
  }

  /** The system evaluations that wait for exactly this node (EB-181). */
  unblockNode(nodeId: string): void {
    this.inTurn(() => this.release([...(this.systemByNode.get(nodeId) ?? [])]));
  }

  /** Resources that are tied to no node and were missing (EB-183). */
  unblockResources(names: readonly string[], index: number): void {
    if (!this.enabled) return;
    for (const name of names) this.log(name, index);
    this.inTurn(() =>
      this.wake((e) => e.EscapedComputedClass && e.MissingNonNodeResources.some((name) => names.includes(name))),
    );
  }

  /** Those that lost too many races for one slot: called every minute (EB-186). */
  unblockFailed(): void {
    this.inTurn(() => this.wake((e) => e.TriggeredBy === 'max-plan-attempts'));
  }

  /** The job needs nothing any more (EB-187). */
  untrack(namespace: string, jobId: string): void {
    this.inTurn(() => {
      for (const id of this.byJob.get(`${namespace}/${jobId}`) ?? []) this.forget(id);
    });
  }

  /** The evaluations that a newer one of their job replaced, to be canceled; they are given out once. */
  takeDuplicates(max: number): Evaluation[] {
    return this.duplicates.splice(0, max);
  }

  get duplicateCount(): number {
    return this.duplicates.length;
  }

  returnDuplicates(duplicates: readonly Evaluation[]): void {
    if (this.enabled) this.duplicates.push(...duplicates);
  }

  /** Removes entries of the unblock log that are older than 15 minutes (EB-191). */
  prune(): void {
    const oldest = this.deps.clock.nowMs() - UNBLOCK_LOG_AGE_MS;
    for (const [key, { atMs }] of this.unblockLog) if (atMs < oldest) this.unblockLog.delete(key);
    this.resources.prune();
  }

  isTracked(evalId: string): boolean {
    return this.tracked.has(evalId);
  }

  stats(): BlockedStats {
    return {
      totalBlocked: this.tracked.size,
      totalEscaped: this.totals.escaped,
      totalQuotaLimit: this.totals.quota,
    };
  }

  /** Now if nothing waits, else after what was issued before it (EB-156). */
  private inTurn(run: () => void): void {
    if (!this.enabled) return;
    if (this.queue.length === 0) run();
    else this.queue.push({ kind: 'run', run });
  }

  private takeTurn(): void {
    if (this.tracked.size <= DEFER_ABOVE && this.stopTurn === undefined) this.runQueue();
    else this.stopTurn ??= this.deps.timers.after(0, () => this.runQueue());
  }

  private runQueue(): void {
    this.stopTurn = undefined;
    const { queue } = this;
    this.queue = [];
    for (const operation of queue) {
      if (operation.kind === 'run') operation.run();
      else this.wakeFreed([...operation.freed.values()]);
    }
  }

  private wakeFreed(freed: readonly Freed[]): void {
    this.wake((e) => freed.some(({ computedClass, quota }) => helpedByClass(e, computedClass, quota)));
  }

  private track(entry: Tracked): void {
    const { evaluation } = entry;
    this.tracked.set(evaluation.ID, entry);
    this.byUnit.set(entry.unit, evaluation.ID);
    addTo(this.byJob, entry.jobKey, evaluation.ID);
    if (evaluation.Type === 'system' && evaluation.NodeID) addTo(this.systemByNode, evaluation.NodeID, evaluation.ID);
    this.resources.add(evaluation);
    if (evaluation.EscapedComputedClass) this.totals.escaped++;
    if (evaluation.QuotaLimitReached) this.totals.quota++;
  }

  private forget(evalId: string): Tracked | undefined {
    const entry = this.tracked.get(evalId);
    if (!entry) return undefined;
    const { evaluation } = entry;
    this.tracked.delete(evalId);
    this.byUnit.delete(entry.unit);
    removeFrom(this.byJob, entry.jobKey, evalId);
    removeFrom(this.systemByNode, evaluation.NodeID, evalId);
    this.resources.subtract(evaluation);
    if (evaluation.EscapedComputedClass) this.totals.escaped--;
    if (evaluation.QuotaLimitReached) this.totals.quota--;
    return entry;
  }

  /** Looks at everything tracked: a class can concern all of it, and most of what it concerns wakes up. */
  private wake(helps: (evaluation: Evaluation) => boolean): void {
    const ids: string[] = [];
    for (const { evaluation } of this.tracked.values()) if (helps(evaluation)) ids.push(evaluation.ID);
    this.release(ids);
  }

  private release(ids: readonly string[]): void {
    const batch: BlockedEval[] = [];
    for (const id of ids) {
      const entry = this.forget(id);
      if (entry) batch.push(entry);
    }
    if (batch.length > 0) this.deps.enqueue(batch);
  }

  private log(key: string, index: number): void {
    this.unblockLog.set(key, { index, atMs: this.deps.clock.nowMs() });
  }

  private addDuplicate(evaluation: Evaluation): void {
    this.duplicates.push(evaluation);
    this.deps.onDuplicate();
  }

  /** Whether the log has an unblock that came after the snapshot of the evaluation (EB-160 to EB-165). */
  private missedUnblock(evaluation: Evaluation): boolean {
    const since = (key: string): boolean => (this.unblockLog.get(key)?.index ?? 0) > evaluation.SnapshotIndex;
    if (evaluation.MissingNonNodeResources.some(since)) return true;
    if (evaluation.QuotaLimitReached && !evaluation.EscapedComputedClass) return since(evaluation.QuotaLimitReached);
    for (const [key, { index }] of this.unblockLog) {
      if (index <= evaluation.SnapshotIndex) continue;
      if (evaluation.EscapedComputedClass || evaluation.ClassEligibility[key] !== false) return true;
    }
    return false;
  }
}

/** Whether free room on nodes of this computed class may help the evaluation (EB-176 to EB-180). */
function helpedByClass(evaluation: Evaluation, computedClass: string, quota: string): boolean {
  if (evaluation.EscapedComputedClass) return true;
  if (quota !== '' && evaluation.QuotaLimitReached !== '' && evaluation.QuotaLimitReached !== quota) return false;
  return evaluation.ClassEligibility[computedClass] !== false;
}

const latestIndex = (evaluation: Evaluation): number => Math.max(evaluation.CreateIndex, evaluation.SnapshotIndex);
const jobKeyOf = (evaluation: Evaluation): string => `${evaluation.Namespace}/${evaluation.JobID}`;

function unitOf(evaluation: Evaluation): string {
  const job = jobKeyOf(evaluation);
  // A namespace has no slash and a node id no space, so no job's key looks like another's with a node.
  return evaluation.Type === 'system' && evaluation.NodeID ? `${job} ${evaluation.NodeID}` : job;
}

function addTo(sets: Map<string, Set<string>>, key: string, id: string): void {
  const set = sets.get(key);
  if (set) set.add(id);
  else sets.set(key, new Set([id]));
}

function removeFrom(sets: Map<string, Set<string>>, key: string, id: string): void {
  const set = sets.get(key);
  set?.delete(id);
  if (set?.size === 0) sets.delete(key);
}
