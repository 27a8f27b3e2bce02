import {
  isClientTerminal,
  isTerminalAllocation,
  usageOf,
  type AllocClientStatus,
  type Allocation,
  type AllocPreemptionDiff,
  type AllocStateEntry,
  type AllocStopDiff,
  type Amounts,
  type Deployment,
  type DeploymentStatusUpdate,
  type Evaluation,
  type Job,
  type Node,
  type Plan,
  type PlannedJob,
  type PlanAnnotations,
  type RescheduleTracker,
} from '@waybill/model';
import type { Tables } from '@waybill/state';
import { groupKeyOf } from './preemption.js';

/**
 * New allocations in one plan: what fits well into one message of the log (about 3 KB each). A run that wants more makes
 * several plans, one after the other.
 */
export const MAX_PLACEMENTS_PER_PLAN = 1_000;

/** One more or one less allocation of this kind, by the plan. */
export interface CountChange {
  readonly alloc: Allocation;
  readonly by: 1 | -1;
}

/** What a stop says beside that it stops. */
export interface StopOrder {
  readonly alloc: Allocation;
  readonly description: string;
  readonly clientStatus?: AllocClientStatus;
  readonly followupEvalId?: string;
  readonly tracker?: RescheduleTracker;
  readonly appendStates?: AllocStateEntry[];
}

/** What will be on a node if the plan is committed as it stands. */
export interface NodeView {
  readonly allocs: readonly Allocation[];
  /** Sum over `allocs`. */
  readonly used: Readonly<Amounts>;
}

interface MutableView {
  allocs: Allocation[];
  used: Amounts;
}

/**
 * A plan in the making, and the state as it will be with it (SC-97, SC-98). One per attempt; nothing of the state is
 * changed. Cost: the view of a node is O(allocations there) when first looked at, then O(1) per placement.
 */
export class PlanDraft {
  private readonly stops = new Map<string, AllocStopDiff[]>();
  private readonly placed = new Map<string, Allocation[]>();
  private readonly preempted = new Map<string, AllocPreemptionDiff[]>();
  private readonly preemptedPerGroup = new Map<string, number>();
  /** Stored allocations that the plan stops, preempts or rewrites. */
  private readonly replacedIds = new Set<string>();
  private readonly views = new Map<string, MutableView>();
  readonly followups: Evaluation[] = [];
  deployment: Deployment | null = null;
  readonly deploymentUpdates: DeploymentStatusUpdate[] = [];
  /** How the plan changes the number of live allocations, step by step. */
  readonly countChanges: CountChange[] = [];
  /** Nodes that the plan changed something of, step by step. */
  readonly touchedNodes: string[] = [];
  private newPlacements = 0;

  /** @param limit new allocations that it takes */
  constructor(
    private readonly tables: Tables,
    private readonly limit = MAX_PLACEMENTS_PER_PLAN,
  ) {}

  stop(order: StopOrder): void {
    const { alloc } = order;
    this.touchedNodes.push(alloc.NodeID);
    listOf(this.stops, alloc.NodeID).push({
      ID: alloc.ID,
      DesiredDescription: order.description,
      ClientStatus: order.clientStatus ?? '',
      FollowupEvalID: order.followupEvalId ?? '',
      ...(order.tracker && { RescheduleTracker: order.tracker }),
      ...(order.appendStates && { AllocStates: order.appendStates }),
    });
    this.replacedIds.add(alloc.ID);
    this.views.delete(alloc.NodeID);
    if (!isTerminalAllocation(alloc)) this.countChanges.push({ alloc, by: -1 });
  }

  /** SC-145: its replacement found no place, so it goes on. */
  withdrawStop(alloc: Allocation): void {
    this.touchedNodes.push(alloc.NodeID);
    const kept = (this.stops.get(alloc.NodeID) ?? []).filter((diff) => diff.ID !== alloc.ID);
    if (kept.length > 0) this.stops.set(alloc.NodeID, kept);
    else this.stops.delete(alloc.NodeID);
    this.replacedIds.delete(alloc.ID);
    this.views.delete(alloc.NodeID);
    if (!isTerminalAllocation(alloc)) this.countChanges.push({ alloc, by: 1 });
  }

  /** SC-142: makes room for an allocation of this plan. */
  preempt(victim: Allocation, byId: string): void {
    this.touchedNodes.push(victim.NodeID);
    listOf(this.preempted, victim.NodeID).push({ ID: victim.ID, PreemptedByAllocation: byId });
    this.replacedIds.add(victim.ID);
    this.views.delete(victim.NodeID);
    const group = groupKeyOf(victim);
    this.preemptedPerGroup.set(group, this.preemptedOf(group) + 1);
  }

  /** How many of a group's allocations the plan preempts. */
  preemptedOf(groupKey: string): number {
    return this.preemptedPerGroup.get(groupKey) ?? 0;
  }

  /** A new allocation, or the new form of a stored one (of two forms the later one counts). */
  place(alloc: Allocation): void {
    this.touchedNodes.push(alloc.NodeID);
    const isUpdate = this.tables.allocs.has(alloc.ID);
    const there = listOf(this.placed, alloc.NodeID);
    const earlier = isUpdate ? there.findIndex(({ ID }) => ID === alloc.ID) : -1;
    if (earlier >= 0) there[earlier] = alloc;
    else there.push(alloc);
    if (isUpdate) {
      this.replacedIds.add(alloc.ID);
      this.views.delete(alloc.NodeID);
      return;
    }
    this.newPlacements++;
    this.countChanges.push({ alloc, by: 1 });
    const view = this.views.get(alloc.NodeID);
    if (view) addTo(view, alloc);
  }

  /** No more new allocations fit this plan. */
  get isFull(): boolean {
    return this.newPlacements >= this.limit;
  }

  /** What the plan makes of a stored allocation; itself if nothing. */
  formOf(alloc: Allocation): Allocation {
    if (!this.replacedIds.has(alloc.ID)) return alloc;
    return this.placed.get(alloc.NodeID)?.find(({ ID }) => ID === alloc.ID) ?? alloc;
  }

  viewOf(nodeId: string): NodeView {
    const known = this.views.get(nodeId);
    if (known) return known;
    const view: MutableView = { allocs: [], used: { cpuMhz: 0, memoryMB: 0, diskMB: 0 } };
    for (const alloc of this.tables.allocs.by('node', nodeId)) if (!this.replacedIds.has(alloc.ID)) addTo(view, alloc);
    for (const alloc of this.placed.get(nodeId) ?? []) addTo(view, alloc);
    this.views.set(nodeId, view);
    return view;
  }

  proposed(node: Node): readonly Allocation[] {
    return this.viewOf(node.ID).allocs;
  }

  build(evaluation: Evaluation, job: Job | null, snapshotIndex: number, annotations: PlanAnnotations | null): Plan {
    return {
      EvalID: evaluation.ID,
      EvalToken: '',
      Priority: evaluation.Priority,
      AllAtOnce: job?.AllAtOnce ?? false,
      Job: job && plannedJob(job),
      NodeUpdate: byNode(this.stops),
      NodeAllocation: byNode(this.placed),
      NodePreemptions: byNode(this.preempted),
      Deployment: this.deployment,
      DeploymentUpdates: this.deploymentUpdates,
      FollowupEvals: this.followups,
      Annotations: annotations,
      SnapshotIndex: snapshotIndex,
    };
  }

  /** EB-7. */
  get isNoop(): boolean {
    const untouched = this.stops.size === 0 && this.placed.size === 0;
    return untouched && this.deployment === null && this.deploymentUpdates.length === 0;
  }
}

/** EB-205: a job may be large, and the applier has it. */
const plannedJob = ({ Namespace, ID, Version, CreateIndex }: Job): PlannedJob => ({
  Namespace,
  ID,
  Version,
  CreateIndex,
});

function addTo(view: MutableView, alloc: Allocation): void {
  if (isClientTerminal(alloc)) return;
  view.allocs.push(alloc);
  const usage = usageOf(alloc.AllocatedResources);
  view.used.cpuMhz += usage.cpuMhz;
  view.used.memoryMB += usage.memoryMB;
  view.used.diskMB += usage.diskMB;
}

/** A tenth of what `Object.fromEntries` takes for a thousand ids: a quarter of a whole batch placement. */
function byNode<T>(lists: ReadonlyMap<string, T[]>): Record<string, T[]> {
  const record: Record<string, T[]> = {};
  for (const [nodeId, list] of lists) record[nodeId] = list;
  return record;
}

function listOf<T>(map: Map<string, T[]>, key: string): T[] {
  let list = map.get(key);
  if (!list) map.set(key, (list = []));
  return list;
}
