import {
  charge,
  isClientTerminal,
  isTerminalAllocation,
  type AllocClientStatus,
  type Allocation,
  type AllocPreemptionDiff,
  type AllocStateEntry,
  type AllocStopDiff,
  type Deployment,
  type DeploymentStatusUpdate,
  type Evaluation,
  type Job,
  type Node,
  type NodeLoad,
  type Plan,
  type PlannedJob,
  type PlanAnnotations,
  type RescheduleTracker,
} from '@waybill/model';
import { NodeLoads, type Tables } from '@waybill/state';
import { groupKeyOf } from './preemption/preemption.js';

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

/** What will be on a node if the plan is committed as it stands: the stored ones that stay, and the plan's. */
export class NodeView {
  private listed: readonly Allocation[] | undefined;

  /** @param used by the stored ones as the plan leaves them, and by the plan's */
  constructor(
    readonly used: Readonly<NodeLoad>,
    private readonly nodeId: string,
    private readonly plan: PlanDraft,
  ) {}

  get count(): number {
    return this.used.allocs;
  }

  /** Walks them; asked only by those whom sums do not tell enough. */
  get allocs(): readonly Allocation[] {
    return (this.listed ??= this.plan.allocsOn(this.nodeId));
  }
}

/**
 * A plan in the making, and the state as it will be with it (SC-97, SC-98). One per attempt; nothing of the state is
 * changed. Cost: the view of a node is O(1) if the loads are kept, but O(what the plan changes there) after a change that
 * took something away; who asks for its allocations pays for walking them.
 */
export class PlanDraft {
  private readonly stops = new Map<string, AllocStopDiff[]>();
  private readonly placed = new Map<string, Allocation[]>();
  private readonly preempted = new Map<string, AllocPreemptionDiff[]>();
  private readonly preemptedPerGroup = new Map<string, number>();
  /** Stored allocations that the plan stops, preempts or rewrites. */
  private readonly replacedIds = new Set<string>();
  /** What is used on nodes that the plan changes something of; a change that takes something away has it summed up anew. */
  private readonly changedLoads = new Map<string, NodeLoad | undefined>();
  private readonly loads: NodeLoads;
  readonly followups: Evaluation[] = [];
  deployment: Deployment | null = null;
  readonly deploymentUpdates: DeploymentStatusUpdate[] = [];
  /** How the plan changes the number of live allocations, step by step. */
  readonly countChanges: CountChange[] = [];
  /** Nodes that the plan changed something of, step by step. */
  readonly touchedNodes: string[] = [];
  private newPlacements = 0;

  /**
   * @param limit new allocations that it takes
   * @param loads of all that its agent has not ended (SC-97), kept by whoever follows the log; without them they are summed up
   */
  constructor(
    private readonly tables: Tables,
    private readonly limit = MAX_PLACEMENTS_PER_PLAN,
    loads?: NodeLoads,
  ) {
    this.loads = loads ?? occupyingLoads(tables);
  }

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
    this.changedLoads.set(alloc.NodeID, undefined);
    if (!isTerminalAllocation(alloc)) this.countChanges.push({ alloc, by: -1 });
  }

  /** SC-145: its replacement found no place, so it goes on. */
  withdrawStop(alloc: Allocation): void {
    this.touchedNodes.push(alloc.NodeID);
    const kept = (this.stops.get(alloc.NodeID) ?? []).filter((diff) => diff.ID !== alloc.ID);
    if (kept.length > 0) this.stops.set(alloc.NodeID, kept);
    else this.stops.delete(alloc.NodeID);
    this.replacedIds.delete(alloc.ID);
    this.changedLoads.set(alloc.NodeID, undefined);
    if (!isTerminalAllocation(alloc)) this.countChanges.push({ alloc, by: 1 });
  }

  /** SC-142: makes room for an allocation of this plan. */
  preempt(victim: Allocation, byId: string): void {
    this.touchedNodes.push(victim.NodeID);
    listOf(this.preempted, victim.NodeID).push({ ID: victim.ID, PreemptedByAllocation: byId });
    this.replacedIds.add(victim.ID);
    this.changedLoads.set(victim.NodeID, undefined);
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
      this.changedLoads.set(alloc.NodeID, undefined);
      return;
    }
    this.newPlacements++;
    this.countChanges.push({ alloc, by: 1 });
    const load = this.changedLoads.get(alloc.NodeID);
    if (!load) this.changedLoads.set(alloc.NodeID, undefined);
    else charge(load, alloc);
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

  /** As the plan stands now: of no use after its next change. */
  viewOf(nodeId: string): NodeView {
    const used = this.changedLoads.has(nodeId) ? this.changedLoadOf(nodeId) : this.loads.of(nodeId);
    return new NodeView(used, nodeId, this);
  }

  private changedLoadOf(nodeId: string): NodeLoad {
    const known = this.changedLoads.get(nodeId);
    if (known) return known;
    const load = { ...this.loads.of(nodeId) };
    for (const alloc of this.leavingFrom(nodeId)) charge(load, alloc, -1);
    for (const alloc of this.placed.get(nodeId) ?? []) charge(load, alloc);
    this.changedLoads.set(nodeId, load);
    return load;
  }

  /** Stored forms of what the plan stops, preempts or rewrites there. */
  private leavingFrom(nodeId: string): Set<Allocation> {
    const leaving = new Set<Allocation>();
    const changed = [this.stops.get(nodeId), this.preempted.get(nodeId), this.placed.get(nodeId)];
    for (const { ID } of changed.flatMap((list): readonly { ID: string }[] => list ?? [])) {
      const stored = this.replacedIds.has(ID) ? this.tables.allocs.get(ID) : undefined;
      if (stored?.NodeID === nodeId) leaving.add(stored);
    }
    return leaving;
  }

  /** Those that will be there. Cost: O(allocations of the node). */
  allocsOn(nodeId: string): Allocation[] {
    const allocs: Allocation[] = [];
    for (const alloc of this.tables.allocs.by('node', nodeId))
      if (!isClientTerminal(alloc) && !this.replacedIds.has(alloc.ID)) allocs.push(alloc);
    for (const alloc of this.placed.get(nodeId) ?? []) if (!isClientTerminal(alloc)) allocs.push(alloc);
    return allocs;
  }

  proposed(node: Node): readonly Allocation[] {
    return this.allocsOn(node.ID);
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

/** What a scheduler counts as taken: all that its agent has not reported ended (SC-97, SC-98). */
export const occupyingLoads = (tables: Tables): NodeLoads => new NodeLoads(tables, (alloc) => !isClientTerminal(alloc));

/** EB-205: a job may be large, and the applier has it. */
const plannedJob = ({ Namespace, ID, Version, CreateIndex }: Job): PlannedJob => ({
  Namespace,
  ID,
  Version,
  CreateIndex,
});

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
