import { eachApart, HolderWriter } from '@waybill/roles';
import {
  type Allocation,
  type CancelTimer,
  type Clock,
  type DrainStrategy,
  isClientTerminal,
  isTerminalAllocation,
  msFromNs,
  type Node,
  type Timers,
  NotHolderError,
} from '@waybill/model';
import type { ReplicatedState } from '@waybill/replica';
import { type Applied, type Change, type Fence, namespacedKey } from '@waybill/state';
import type { Logger } from '@waybill/telemetry';
import { completionBatches, markBatches } from './drain-batches.js';
import { DrainDeadlines } from './drain-deadlines.js';
import { deadlineMs, type EndedDrain, endedDrain, isForced, marksOfJob, movesInTurn } from './drain-decisions.js';
import { jobOf } from '../node/node-evaluations.js';

/** How long marks are gathered before they are written (DR-71). */
export const GATHER_MS = 1_000;
/** Pause before a failed write is decided anew (DR-75). */
export const RETRY_MS = 1_000;

export interface DrainerDependencies {
  readonly state: ReplicatedState;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly newId: () => string;
  readonly logger: Logger;
  readonly region: string;
}

type Job = Pick<Allocation, 'Namespace' | 'JobID'>;

/**
 * Empties draining nodes: marks their allocations for migration, a few of each group at a time, and completes drains
 * (nodes.md section 15). It decides nothing else: the scheduler stops and replaces allocations.
 *
 * Modes: off → on (the lease is held) → off. While on, it notes the jobs and nodes that a transaction changed, gathers
 * them for GATHER_MS (a forced node does not wait), then decides on them and writes in one round. One round runs at a
 * time, and ends when this copy of the state has applied what it wrote: so a decision always sees the marks of the
 * previous round, and `max_parallel` holds while writes are in flight (DR-102, DR-103). A failed round is decided anew
 * from state after RETRY_MS. It keeps only what to check next: a new holder checks every draining node.
 *
 * Memory: the draining nodes, and the jobs with work on them. Cost of `applied`: O(rows the transaction changed); where
 * a drain begins or ends, O(allocations of its node). Cost of a round: O(allocations of the nodes and jobs that
 * changed).
 */
export class Drainer {
  /** Draining nodes, with the last known strategy. */
  private readonly tracked = new Map<string, DrainStrategy>();
  /** Jobs with work to move on tracked nodes: their allocations on all nodes count. */
  private readonly watched = new Map<string, Job>();
  private readonly changedNodes = new Set<string>();
  private readonly changedJobs = new Set<string>();
  private readonly deadlines: DrainDeadlines;
  /** Tracked nodes whose drain has had its whole time, even if its stored deadline is later. */
  private readonly overdueNodes = new Set<string>();
  /** The current term's writer. */
  private writer: HolderWriter | undefined;
  private inRound = false;
  /** Whether a round came due while the previous one was writing. */
  private overdue = false;
  private armed: { readonly atMs: number; readonly cancel: CancelTimer } | undefined;
  private marks = 0;
  private migrations = 0;
  private completions = 0;

  constructor(private readonly deps: DrainerDependencies) {
    this.deadlines = new DrainDeadlines(deps, (nodeIds) => this.noteOverdueNodes(nodeIds));
  }

  /** Tracks all draining nodes. O(nodes), once for each term: only the nodes' rows say which drain (DR-20, DR-92). */
  start(fence: Fence): void {
    this.writer = new HolderWriter(this.deps, fence);
    const { state, logger } = this.deps;
    eachApart(
      state.tables.nodes.all(),
      ({ ID }) => `node ${ID}`,
      logger,
      (node) => {
        if (node.DrainStrategy) this.trackNode(node, node.DrainStrategy);
      },
    );
  }

  applied(applied: Applied): void {
    if (!this.writer) return;
    for (const change of applied.changes) {
      if (change.table === 'nodes') this.nodeChanged(change);
      else if (change.table === 'allocs') this.allocChanged(change);
      else if (change.table === 'jobs' && this.watched.has(change.key)) this.noteJob(change.key);
    }
  }

  stop(): void {
    this.writer?.close(new NotHolderError());
    this.writer = undefined;
    this.cancelRound();
    this.deadlines.stop();
    for (const held of [this.tracked, this.watched, this.overdueNodes, this.changedNodes, this.changedJobs])
      held.clear();
  }

  stats(): Record<string, number> {
    return {
      drainingNodes: this.tracked.size,
      drainDeadlines: this.deadlines.size,
      drainingJobs: this.watched.size,
      drainMarks: this.marks,
      drainMigrations: this.migrations,
      drainsCompleted: this.completions,
    };
  }

  private nodeChanged({ key, after }: Extract<Change, { table: 'nodes' }>): void {
    const strategy = after?.DrainStrategy;
    if (!after || !strategy) this.untrackNode(key);
    else if (!isSame(this.tracked.get(key), strategy)) this.trackNode(after, strategy);
  }

  private allocChanged({ before, after }: Extract<Change, { table: 'allocs' }>): void {
    const alloc = after ?? before;
    if (!alloc) return;
    const key = namespacedKey(alloc.Namespace, alloc.JobID);
    if (this.tracked.has(alloc.NodeID)) {
      // Counted as a migration (DR-44).
      if (after && before && isClientTerminal(after) && !isClientTerminal(before)) this.migrations++;
      if (after) this.watchJobOf(after);
      this.noteNodes([alloc.NodeID], GATHER_MS); // an ended allocation may complete the drain (DR-36)
    }
    if (this.watched.has(key)) this.noteJob(key);
  }

  /** Tracks a draining node with its deadline and its jobs (DR-21, DR-47, DR-64). */
  private trackNode(node: Node, strategy: DrainStrategy): void {
    const { tables } = this.deps.state;
    this.tracked.set(node.ID, strategy);
    this.overdueNodes.delete(node.ID);
    const forced = isForced(strategy, this.deps.clock.nowMs());
    const dueMs = deadlineMs(strategy);
    if (forced || dueMs === Infinity) this.deadlines.drop(node.ID);
    else this.deadlines.set(node.ID, dueMs, msFromNs(strategy.Deadline));
    for (const alloc of tables.allocs.by('node', node.ID)) this.watchJobOf(alloc);
    this.noteNodes([node.ID], forced ? 0 : GATHER_MS);
  }

  /**
   * Stops tracking a node (DR-23, DR-24): marked allocations stay marked, and no more are. The jobs that had work there
   * are checked once more.
   */
  private untrackNode(nodeId: string): void {
    if (!this.tracked.delete(nodeId)) return;
    this.deadlines.drop(nodeId);
    this.overdueNodes.delete(nodeId);
    for (const { Namespace, JobID } of this.deps.state.tables.allocs.by('node', nodeId)) {
      const key = namespacedKey(Namespace, JobID);
      if (this.watched.has(key)) this.noteJob(key);
    }
  }

  /** Notes the nodes whose deadline has passed for the next round (DR-60). */
  private noteOverdueNodes(nodeIds: readonly string[]): void {
    for (const nodeId of nodeIds) this.overdueNodes.add(nodeId);
    this.noteNodes(nodeIds, 0);
  }

  private watchJobOf(alloc: Allocation): void {
    if (isTerminalAllocation(alloc)) return;
    const job = jobOf(this.deps.state.tables, alloc);
    if (!job || !movesInTurn(job)) return;
    const key = namespacedKey(alloc.Namespace, alloc.JobID);
    if (this.watched.has(key)) return;
    this.watched.set(key, { Namespace: alloc.Namespace, JobID: alloc.JobID });
    this.noteJob(key);
  }

  private noteJob(key: string): void {
    this.changedJobs.add(key);
    this.scheduleRound(GATHER_MS);
  }

  private noteNodes(nodeIds: readonly string[], delayMs: number): void {
    for (const nodeId of nodeIds) this.changedNodes.add(nodeId);
    this.scheduleRound(delayMs);
  }

  /** Schedules a round within `delayMs`; an earlier one stays scheduled. */
  private scheduleRound(delayMs: number): void {
    const atMs = this.deps.clock.nowMs() + delayMs;
    if (!this.writer || (this.armed && this.armed.atMs <= atMs)) return;
    this.cancelRound();
    this.armed = { atMs, cancel: this.deps.timers.after(delayMs, () => this.beginRound()) };
  }

  private cancelRound(): void {
    this.armed?.cancel();
    this.armed = undefined;
  }

  private beginRound(): void {
    this.armed = undefined;
    if (this.inRound) this.overdue = true;
    else if (this.writer) void this.runRound(this.writer);
  }

  private async runRound(writer: HolderWriter): Promise<void> {
    this.inRound = true;
    const nodes = [...this.changedNodes];
    const jobs = [...this.changedJobs];
    this.changedNodes.clear();
    this.changedJobs.clear();
    try {
      await this.decideAndWrite(nodes, jobs, writer);
    } catch (error) {
      if (this.writer === writer) this.retryRound(nodes, jobs, error);
    } finally {
      this.inRound = false;
      if (this.overdue) this.scheduleRound(0);
      this.overdue = false;
    }
  }

  private async decideAndWrite(nodes: readonly string[], jobs: readonly string[], writer: HolderWriter): Promise<void> {
    const { state, clock, newId } = this.deps;
    const nowMs = clock.nowMs();
    const ended = nodes.flatMap((id) => this.endOf(id, nowMs));
    // Each allocation is marked once, by a deadline or by its group's turn.
    const marked = new Map<string, Allocation>();
    for (const alloc of ended.flatMap((drain) => drain.marked)) marked.set(alloc.ID, alloc);
    for (const alloc of jobs.flatMap((key) => this.turnOf(key))) marked.set(alloc.ID, alloc);
    for (const batch of markBatches(state.tables, marked.values(), { nowMs, newId })) {
      await writer.write('AllocUpdateDesiredTransition', batch);
      this.marks += Object.keys(batch.Transitions).length;
    }
    // Completion follows the marks, because a completed drain is not checked any more (DR-33).
    for (const batch of completionBatches(ended, nowMs)) {
      await writer.write('BatchNodeUpdateDrain', batch);
      this.completions += Object.keys(batch.Updates).length;
    }
  }

  /** The end of the node's drain, if it is over. Nothing is written for a node that is not tracked any more (DR-37). */
  private endOf(nodeId: string, nowMs: number): EndedDrain[] {
    const { tables } = this.deps.state;
    const node = this.tracked.has(nodeId) ? tables.nodes.get(nodeId) : undefined;
    const isOverdue = node?.DrainStrategy && (this.overdueNodes.has(nodeId) || isForced(node.DrainStrategy, nowMs));
    const ended = node && endedDrain(tables, node, isOverdue === true);
    return ended ? [ended] : [];
  }

  private turnOf(key: string): readonly Allocation[] {
    const job = this.watched.get(key);
    if (!job) return [];
    const { marked, onDrainingNode } = marksOfJob(this.deps.state.tables, job.Namespace, job.JobID);
    if (!onDrainingNode) this.watched.delete(key);
    return marked;
  }

  private retryRound(nodes: readonly string[], jobs: readonly string[], error: unknown): void {
    this.deps.logger.warn('a drain could not be written; trying again', { error });
    for (const key of jobs) this.changedJobs.add(key);
    this.noteNodes(nodes, RETRY_MS);
  }
}

/** Whether the strategies agree in all that an operator can change of a running drain (DR-21). */
function isSame(seen: DrainStrategy | undefined, now: DrainStrategy): boolean {
  return (
    seen !== undefined &&
    seen.Deadline === now.Deadline &&
    seen.ForceDeadline === now.ForceDeadline &&
    seen.IgnoreSystemJobs === now.IgnoreSystemJobs &&
    seen.StartedAt === now.StartedAt
  );
}
