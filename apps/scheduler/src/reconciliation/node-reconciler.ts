import {
  findTaskGroup,
  isServerTerminal,
  ranSuccessfully,
  type Allocation,
  type DesiredUpdates,
  type Job,
  type Node,
  type TaskGroup,
} from '@waybill/model';
import type { Tables } from '@waybill/state';
import { asUnknown, isExpired, isLive, lostStop, needsReconnect, type TaintedNodes } from './classification.js';
import { NODE_TAINTED, NOT_NEEDED } from '../descriptions.js';
import type { StopOrder } from '../plan-draft.js';
import { noUpdates } from './reconciliation.js';
import { chainOf } from './reconnect.js';
import { needsReplacement } from './task-changes.js';

/** An allocation to place on a certain node. */
export interface NodePlacement {
  readonly node: Node;
  readonly name: string;
  readonly group: TaskGroup;
  readonly previous: Allocation | undefined;
}

/** An allocation that differs from the job's current version, on a node where the job still runs. */
export interface NodeUpdate {
  readonly alloc: Allocation;
  readonly node: Node;
  readonly group: TaskGroup;
  /** `returned`: it reconnected, which is recorded (S5). `changed` is also one that has ended and runs again (SC-277). */
  readonly kind: 'changed' | 'returned';
}

export interface NodeReconciliation {
  readonly stops: StopOrder[];
  readonly placements: NodePlacement[];
  readonly updates: NodeUpdate[];
  /** Allocations that became unknown (S7). */
  readonly rewrites: Allocation[];
  readonly desired: Record<string, DesiredUpdates>;
  /**
   * By group: outdated allocations on nodes that drain or are away, which are ignored because no rollout waits for them
   * (DP-1603).
   */
  readonly outdated: Record<string, number>;
  /**
   * Whether a candidate node lacks this version, or has an allocation to update: a reason for a deployment (SC-288).
   */
  readonly isNews: boolean;
}

export interface NodeReconcileInput {
  /** Null: the job was stopped or purged. */
  readonly job: Job | null;
  readonly allocs: readonly Allocation[];
  /** Ready candidates of the job. */
  readonly candidates: readonly Node[];
  readonly tainted: TaintedNodes;
  readonly tables: Tables;
  readonly nowNs: number;
}

/**
 * Compares the allocations that a system or sysbatch job wants, one of each group on every feasible node, with the
 * stored ones (section 18). Pure. Cost: O(candidates × groups + allocations of the job).
 */
export function reconcileNodes(input: NodeReconcileInput): NodeReconciliation {
  return new NodeReconciler(input).reconcile();
}

/** Reconciles one job once. */
class NodeReconciler {
  private readonly out = {
    stops: [] as StopOrder[],
    placements: [] as NodePlacement[],
    updates: [] as NodeUpdate[],
    rewrites: [] as Allocation[],
    desired: {} as Record<string, DesiredUpdates>,
    outdated: {} as Record<string, number>,
  };
  private readonly wanted: ReadonlyMap<string, TaskGroup>;
  private readonly candidateIds: ReadonlySet<string>;
  private readonly stored: ReadonlyMap<string, Allocation>;

  constructor(private readonly input: NodeReconcileInput) {
    this.wanted = wantedNames(input.job);
    this.candidateIds = new Set(input.candidates.map((node) => node.ID));
    this.stored = new Map(input.allocs.map((alloc) => [alloc.ID, alloc]));
  }

  reconcile(): NodeReconciliation {
    const { job, allocs, candidates } = this.input;
    const live = new Map<string, Allocation>();
    const finished = new Map<string, Allocation>();
    const nodesWithVersion = new Set<string>();
    for (const alloc of allocs) {
      const slot = slotOf(alloc.NodeID, alloc.Name);
      if (job && alloc.Job?.Version === job.Version && alloc.Job.CreateIndex === job.CreateIndex)
        nodesWithVersion.add(alloc.NodeID);
      if (isLive(alloc)) {
        live.set(slot, alloc);
        this.decide(alloc);
      } else if ((finished.get(slot)?.CreateIndex ?? -1) < alloc.CreateIndex) finished.set(slot, alloc);
    }
    if (job)
      for (const node of candidates)
        for (const [name, group] of this.wanted)
          if (!live.has(slotOf(node.ID, name)) && !this.input.tainted.has(node.ID))
            this.fill(job, { node, name, group, previous: finished.get(slotOf(node.ID, name)) });
    const isNews = this.out.updates.length > 0 || candidates.some(({ ID }) => !nodesWithVersion.has(ID));
    return { ...this.out, isNews };
  }

  /** Places an allocation of the group on the node, if none is there (SC-276, SC-277). */
  private fill(job: Job, placement: NodePlacement): void {
    const { node, group, previous } = placement;
    if (job.Type !== 'sysbatch' || !previous) {
      this.out.placements.push(placement);
      this.counts(group.Name).Place++;
    } else if (isOfSameSpec(previous, job)) this.counts(group.Name).Ignore++;
    else if (previous.Job && !needsReplacement(group.Name, previous.Job, job)) this.counts(group.Name).InPlaceUpdate++;
    else this.out.updates.push({ alloc: previous, node, group, kind: 'changed' });
  }

  /** Decides on a stored allocation: the first match of SC-274. */
  private decide(alloc: Allocation): void {
    const { job, tainted, nowNs } = this.input;
    const group = this.wanted.get(alloc.Name);
    if (!job || !group) return this.stop({ alloc, description: NOT_NEEDED }); // row S1
    if (alloc.DesiredTransition.Migrate === true) return this.stop({ alloc, description: NODE_TAINTED }); // row S2
    if (alloc.ClientStatus === 'unknown') {
      if (needsReconnect(alloc) && isExpired(alloc, nowNs)) this.stop(lostStop(alloc, nowNs)); // row S3
      else this.ignore(alloc); // row S4
      return;
    }
    if (this.runsBesideReplacement(alloc)) return this.stop({ alloc, description: NOT_NEEDED });
    const taint = tainted.get(alloc.NodeID);
    if (taint !== undefined) this.decideOnTainted(alloc, taint, job); // rows S6 to S9
    else this.decideOnNode(alloc, job, group); // rows S5 and S10 to S14
  }

  private decideOnTainted(alloc: Allocation, node: Node | null, job: Job): void {
    const { nowNs } = this.input;
    if (job.Type === 'sysbatch' && ranSuccessfully(alloc)) this.ignore(alloc); // row S6
    else if (node?.Status === 'disconnected' && alloc.ClientStatus === 'running') {
      this.out.rewrites.push(asUnknown(alloc, nowNs, alloc.FollowupEvalID)); // row S7
      this.counts(alloc.TaskGroup).Disconnect++;
    } else if (node === null || node.Status === 'down') this.stop(lostStop(alloc, nowNs)); // row S8
    else this.ignore(alloc); // row S9
  }

  private decideOnNode(alloc: Allocation, job: Job, group: TaskGroup): void {
    const node = this.input.tables.nodes.get(alloc.NodeID);
    const changed = !isOfSameSpec(alloc, job);
    const returned = alloc.ClientStatus === 'running' && needsReconnect(alloc);
    if (!node || !this.candidateIds.has(node.ID)) {
      const ready = node?.Status === 'ready' && node.SchedulingEligibility === 'eligible';
      if (ready || changed) this.stop({ alloc, description: NOT_NEEDED }); // rows S11 and S12
      // Row S5.
      else if (node?.Status === 'ready' && returned) this.out.updates.push({ alloc, node, group, kind: 'returned' });
      else this.ignore(alloc); // row S10
    } else if (returned) this.out.updates.push({ alloc, node, group, kind: 'returned' }); // row S5
    else if (changed) this.out.updates.push({ alloc, node, group, kind: 'changed' }); // row S13
    else this.ignore(alloc); // row S14
  }

  /**
   * Whether the allocation had ended, was replaced, and runs again by its machine's report (ND-110), as a reinstalled
   * machine may start it once more. Its replacement has the same name and waits for its end.
   */
  private runsBesideReplacement(alloc: Allocation): boolean {
    return !needsReconnect(alloc) && chainOf(alloc, this.stored).some(isLive);
  }

  private stop(order: StopOrder): void {
    this.counts(order.alloc.TaskGroup).Stop++;
    if (!isServerTerminal(order.alloc)) this.out.stops.push(order);
  }

  private ignore(alloc: Allocation): void {
    const { job } = this.input;
    const { outdated } = this.out;
    this.counts(alloc.TaskGroup).Ignore++;
    if (job && !isOfSameSpec(alloc, job)) outdated[alloc.TaskGroup] = (outdated[alloc.TaskGroup] ?? 0) + 1;
  }

  private counts(group: string): DesiredUpdates {
    return countsOf(this.out, group);
  }
}

function isOfSameSpec(alloc: Allocation, job: Job): boolean {
  return alloc.Job?.JobModifyIndex === job.JobModifyIndex && alloc.Job.CreateIndex === job.CreateIndex;
}

/** The groups by the names of their allocations, which contain the job's name and not its ID (SC-271). */
function wantedNames(job: Job | null): Map<string, TaskGroup> {
  const wanted = new Map<string, TaskGroup>();
  if (!job || job.Stop) return wanted;
  for (const { Name, Count } of job.TaskGroups) {
    const group = findTaskGroup(job, Name);
    for (let i = 0; i < Count && group; i++) wanted.set(`${job.Name}.${Name}[${i}]`, group);
  }
  return wanted;
}

/** A unique key: IDs of nodes contain no slash. */
const slotOf = (nodeId: string, name: string): string => `${nodeId}/${name}`;

export function countsOf(out: { readonly desired: Record<string, DesiredUpdates> }, group: string): DesiredUpdates {
  return (out.desired[group] ??= noUpdates());
}
