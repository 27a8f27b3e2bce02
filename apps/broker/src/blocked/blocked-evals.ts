import type { CancelTimer, Clock, Evaluation, Timers } from '@waybill/model';
import { BlockedResources } from './blocked-resources.js';

/** Age at which entries of the unblock log are pruned (EB-191). */
export const UNBLOCK_LOG_AGE_MS = 15 * 60_000;

/**
 * Tracked evaluations up to which an unblock takes effect at once. With more, it is deferred, so that it does not hold up the
 * application of the log, and is carried out together with the unblocks that follow it (EB-157).
 */
export const DEFER_ABOVE = 64;

/** An evaluation that waits for capacity, with the token of the delivery that reblocked it ("" if none did). */
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
  /** Returns unblocked evaluations to the evaluation queue, as one batch (EB-184). */
  readonly enqueue: (batch: readonly BlockedEval[]) => void;
  /** Called when there are duplicates to cancel (EB-171). */
  readonly onDuplicate: () => void;
}

/** A node class that gained capacity, with the quota of the allocation that ended there ("" if none). */
interface Freed {
  readonly computedClass: string;
  readonly quota: string;
}

type Operation =
  | { readonly kind: 'other'; readonly carryOut: () => void }
  | { readonly kind: 'freed'; freed: Map<string, Freed> };

const NO_TOTALS = { escaped: 0, quota: 0 };

interface Tracked extends BlockedEval {
  /** The job, and for system jobs also the node: at most one evaluation of each is tracked (EB-167, EB-172). */
  readonly dedupKey: string;
  readonly jobKey: string;
}

/**
 * The evaluations that could not place all their allocations, until a change of the cluster could help them.
 *
 * Modes: disabled (tracks nothing) → enabled → disabled, empty at each change; the owner restores it from state. An
 * evaluation is captured (node classes decide its constraints, and it knows which classes it saw) or escaped (any change may
 * help it). It leaves when a change could help it (back to the queue), when its job needs no more allocations (`untrack`),
 * or as the duplicate of a newer evaluation of its job (the owner cancels it).
 * The unblock log resolves the race with a scheduler that worked on an older state: an evaluation that missed an unblock
 * since its snapshot returns to the queue at once instead of being tracked (EB-159).
 * Operations take effect in the order in which they were issued (EB-156). An operation that iterates over all tracked
 * evaluations is deferred, because it is issued while the log is applied; consecutive unblocks then share one iteration. The
 * unblock log gets its entry at once (EB-157).
 * Memory: one record for each evaluation, one log entry for each class, pruned after UNBLOCK_LOG_AGE_MS. Cost of block and
 * untrack: O(log entries); of all deferred unblocks together: O(tracked); of the unblock of a node: O(tracked for it).
 */
export class BlockedEvals {
  private enabled = false;
  private readonly tracked = new Map<string, Tracked>();
  private readonly byDedupKey = new Map<string, Tracked>();
  private readonly byJob = new Map<string, Set<Tracked>>();
  private readonly systemByNode = new Map<string, Set<Tracked>>();
  private readonly unblockLog = new Map<string, { index: number; atMs: number }>();
  private duplicates: Evaluation[] = [];
  private totals = { ...NO_TOTALS };
  /** Deferred operations, oldest first. */
  private deferred: Operation[] = [];
  private cancelTimer: CancelTimer | undefined;
  /** Resources that the tracked evaluations wait for, for metrics (EB-193, EB-194). */
  readonly resources: BlockedResources;

  constructor(private readonly deps: BlockedEvalsDeps) {
    this.resources = new BlockedResources(deps.clock);
  }

  /** Changes the mode and empties the tracker; no-op if it is the mode already (EB-154, EB-155). */
  setEnabled(enabled: boolean): void {
    if (enabled === this.enabled) return;
    this.enabled = enabled;
    this.tracked.clear();
    this.byDedupKey.clear();
    this.byJob.clear();
    this.systemByNode.clear();
    this.unblockLog.clear();
    this.deferred = [];
    this.cancelTimer?.();
    this.cancelTimer = undefined;
    this.resources.clear();
    this.duplicates = [];
    this.totals = { ...NO_TOTALS };
  }

  /**
   * Tracks an evaluation, or returns it to the queue at once if it missed an unblock (EB-159).
   * @param token of the delivery that reblocked it (EB-189)
   */
  block(evaluation: Evaluation, token = ''): void {
    this.inOrder(() => this.blockNow(evaluation, token));
  }

  private blockNow(evaluation: Evaluation, token: string): void {
    const before = this.tracked.get(evaluation.ID);
    if (before) this.forget(before); // An evaluation is no duplicate of itself (EB-170).
    const entry: Tracked = { evaluation, token, dedupKey: dedupKeyOf(evaluation), jobKey: jobKeyOf(evaluation) };
    const existing = this.byDedupKey.get(entry.dedupKey);
    if (existing) {
      if (latestIndex(evaluation) < latestIndex(existing.evaluation)) {
        this.addDuplicate(evaluation);
        return;
      }
      this.forget(existing);
      this.addDuplicate(existing.evaluation);
    }
    if (this.missedUnblock(evaluation)) this.deps.enqueue([entry]);
    else this.track(entry);
  }

  /**
   * Unblocks the evaluations that free capacity on nodes of this class may help (EB-176 to EB-179).
   * @param quota of the allocation that freed it, "" if none
   */
  unblockClass(computedClass: string, index: number, quota = ''): void {
    this.logUnblock(computedClass, index);
    if (quota !== '') this.logUnblock(quota, index);
    const last = this.deferred.at(-1);
    const freed = last?.kind === 'freed' ? last.freed : new Map<string, Freed>();
    freed.set(`${computedClass} ${quota}`, { computedClass, quota });
    if (last?.kind !== 'freed') this.deferred.push({ kind: 'freed', freed });
    this.carryOutOrDefer();
  }

  /** Logs that capacity was freed before the tracker was enabled. No evaluation is tracked yet (EB-159). */
  logFreedBefore(key: string, index: number): void {
    this.logUnblock(key, Math.max(index, this.unblockLog.get(key)?.index ?? 0));
  }

  /** Unblocks the system evaluations that wait for exactly this node (EB-181). */
  unblockNode(nodeId: string): void {
    this.inOrder(() => this.release([...(this.systemByNode.get(nodeId) ?? [])]));
  }

  /** Unblocks the evaluations that lacked one of these resources, which belong to no node (EB-183). */
  unblockResources(names: readonly string[], index: number): void {
    for (const name of names) this.logUnblock(name, index);
    this.inOrder(() =>
      this.unblock((e) => e.EscapedComputedClass && e.MissingNonNodeResources.some((name) => names.includes(name))),
    );
  }

  /** Unblocks the evaluations that ran out of plan attempts: called every minute (EB-186). */
  unblockFailed(): void {
    this.inOrder(() => this.unblock((e) => e.TriggeredBy === 'max-plan-attempts'));
  }

  /** Forgets the evaluations of a job that needs no more allocations (EB-187). */
  untrack(namespace: string, jobId: string): void {
    this.inOrder(() => {
      for (const entry of this.byJob.get(`${namespace}/${jobId}`) ?? []) this.forget(entry);
    });
  }

  /** Removes and returns at most `max` evaluations that a newer one of their job replaced; the caller cancels them. */
  takeDuplicates(max: number): Evaluation[] {
    return this.duplicates.splice(0, max);
  }

  get duplicateCount(): number {
    return this.duplicates.length;
  }

  returnDuplicates(duplicates: readonly Evaluation[]): void {
    if (this.enabled) for (const item of duplicates) this.duplicates.push(item);
  }

  /** Removes entries of the unblock log that are older than UNBLOCK_LOG_AGE_MS (EB-191). */
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

  /** Carries out the operation at once, or after the deferred ones that were issued before it (EB-156). */
  private inOrder(carryOut: () => void): void {
    if (!this.enabled) return;
    if (this.deferred.length === 0) carryOut();
    else this.deferred.push({ kind: 'other', carryOut });
  }

  private carryOutOrDefer(): void {
    if (this.tracked.size <= DEFER_ABOVE && this.cancelTimer === undefined) this.carryOutDeferred();
    else this.cancelTimer ??= this.deps.timers.after(0, () => this.carryOutDeferred());
  }

  private carryOutDeferred(): void {
    this.cancelTimer = undefined;
    const { deferred } = this;
    this.deferred = [];
    for (const operation of deferred) {
      if (operation.kind === 'other') operation.carryOut();
      else this.unblockFreed([...operation.freed.values()]);
    }
  }

  private unblockFreed(freed: readonly Freed[]): void {
    this.unblock((e) => freed.some(({ computedClass, quota }) => helpedByClass(e, computedClass, quota)));
  }

  private track(entry: Tracked): void {
    const { evaluation } = entry;
    this.tracked.set(evaluation.ID, entry);
    this.byDedupKey.set(entry.dedupKey, entry);
    addTo(this.byJob, entry.jobKey, entry);
    if (evaluation.Type === 'system' && evaluation.NodeID) addTo(this.systemByNode, evaluation.NodeID, entry);
    this.resources.add(evaluation);
    if (evaluation.EscapedComputedClass) this.totals.escaped++;
    if (evaluation.QuotaLimitReached) this.totals.quota++;
  }

  private forget(entry: Tracked): void {
    const { evaluation } = entry;
    this.tracked.delete(evaluation.ID);
    this.byDedupKey.delete(entry.dedupKey);
    removeFrom(this.byJob, entry.jobKey, entry);
    removeFrom(this.systemByNode, evaluation.NodeID, entry);
    this.resources.subtract(evaluation);
    if (evaluation.EscapedComputedClass) this.totals.escaped--;
    if (evaluation.QuotaLimitReached) this.totals.quota--;
  }

  /** Iterates over all tracked evaluations: a class can concern all of them, and most of those it concerns are unblocked. */
  private unblock(helps: (evaluation: Evaluation) => boolean): void {
    const helped: Tracked[] = [];
    for (const entry of this.tracked.values()) if (helps(entry.evaluation)) helped.push(entry);
    this.release(helped);
  }

  private release(batch: readonly Tracked[]): void {
    for (const entry of batch) this.forget(entry);
    if (batch.length > 0) this.deps.enqueue(batch);
  }

  private logUnblock(key: string, index: number): void {
    this.unblockLog.set(key, { index, atMs: this.deps.clock.nowMs() });
  }

  private addDuplicate(evaluation: Evaluation): void {
    this.duplicates.push(evaluation);
    this.deps.onDuplicate();
  }

  /** Whether the unblock log has an entry after the evaluation's snapshot that could help it (EB-160 to EB-165). */
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

/** Whether free capacity on nodes of this computed class may help the evaluation (EB-176 to EB-180). */
function helpedByClass(evaluation: Evaluation, computedClass: string, quota: string): boolean {
  if (evaluation.EscapedComputedClass) return true;
  if (quota !== '' && evaluation.QuotaLimitReached !== '' && evaluation.QuotaLimitReached !== quota) return false;
  return evaluation.ClassEligibility[computedClass] !== false;
}

const latestIndex = (evaluation: Evaluation): number => Math.max(evaluation.CreateIndex, evaluation.SnapshotIndex);
const jobKeyOf = (evaluation: Evaluation): string => `${evaluation.Namespace}/${evaluation.JobID}`;

function dedupKeyOf(evaluation: Evaluation): string {
  const job = jobKeyOf(evaluation);
  // A namespace has no slash and a node id no space, so the key of a job never equals that of another job with a node.
  return evaluation.Type === 'system' && evaluation.NodeID ? `${job} ${evaluation.NodeID}` : job;
}

function addTo<T>(sets: Map<string, Set<T>>, key: string, item: T): void {
  const set = sets.get(key);
  if (set) set.add(item);
  else sets.set(key, new Set([item]));
}

function removeFrom<T>(sets: Map<string, Set<T>>, key: string, item: T): void {
  const set = sets.get(key);
  set?.delete(item);
  if (set?.size === 0) sets.delete(key);
}
