import { charge, isTerminalAllocation, type Allocation, type Node, type NodeLoad } from '@waybill/model';
import { type NodeLoads, namespacedKey, type Tables, type TxnPayloads } from '@waybill/state';

type PlanPayload = TxnPayloads['ApplyPlanResults'];

/** The state that a plan is verified against: the stored state, overlaid by the plans in flight. */
export interface PlanView {
  node(id: string): Node | undefined;
  alloc(id: string): Allocation | undefined;
  allocsOn(nodeId: string): Iterable<Allocation>;
  /** Resources that the node's allocations use together, without those that have ended. */
  loadOf(nodeId: string): Readonly<NodeLoad>;
  /** Index of the last change to any node or allocation in the stored state (EB-253). */
  readonly lastChange: number;
}

/** An accepted plan that is not committed yet, as it will be in the state. */
export interface PlanInFlight {
  readonly allocs: ReadonlyMap<string, Allocation>;
  readonly byNode: ReadonlyMap<string, readonly Allocation[]>;
  /** Nodes where the plan frees resources: a plan that needs these depends on its commit. */
  readonly freedNodes: ReadonlySet<string>;
  readonly ineligibleNodes: ReadonlySet<string>;
  readonly deployment: string | undefined;
  readonly job: string;
}

/** The objects that a plan depends on. */
export interface PlanReferences {
  readonly nodes: Iterable<string>;
  readonly allocs: Iterable<string>;
  readonly deployments: Iterable<string>;
  readonly job: string;
}

/**
 * The state as it will be once all accepted plans are committed (EB-242, EB-262): the tables, overlaid by the plans in
 * flight. A placement of a plan in flight counts at once; if its commit fails, later plans were merely too cautious. What a
 * plan frees or creates is used by no other plan before it is committed (`dependsOnInFlight`), so a failed commit
 * invalidates no later plan (EB-263).
 *
 * Cost of `begin`: O(plan); of a look-up: O(plans in flight), which are a handful.
 */
export class OptimisticState implements PlanView {
  private readonly inFlight = new Set<PlanInFlight>();

  constructor(
    private readonly tables: Tables,
    private readonly loads: NodeLoads,
  ) {}

  get size(): number {
    return this.inFlight.size;
  }

  get lastChange(): number {
    return Math.max(this.tables.nodes.tableIndex, this.tables.allocs.tableIndex);
  }

  node(id: string): Node | undefined {
    const node = this.tables.nodes.get(id);
    for (const plan of this.inFlight)
      if (node && plan.ineligibleNodes.has(id)) return { ...node, SchedulingEligibility: 'ineligible' };
    return node;
  }

  alloc(id: string): Allocation | undefined {
    let found = this.tables.allocs.get(id);
    for (const plan of this.inFlight) found = plan.allocs.get(id) ?? found;
    return found;
  }

  allocsOn(nodeId: string): Iterable<Allocation> {
    const stored = this.tables.allocs.by('node', nodeId);
    return this.inFlight.size === 0 ? stored : this.overlaid(nodeId, stored);
  }

  loadOf(nodeId: string): Readonly<NodeLoad> {
    const stored = this.loads.of(nodeId);
    const load = { ...stored };
    for (const alloc of this.planned(nodeId).values()) {
      const before = this.tables.allocs.get(alloc.ID);
      if (before && !isTerminalAllocation(before)) charge(load, before, -1);
      if (!isTerminalAllocation(alloc)) charge(load, alloc);
    }
    return load;
  }

  private *overlaid(nodeId: string, stored: Iterable<Allocation>): Iterable<Allocation> {
    const planned = this.planned(nodeId);
    for (const alloc of stored) if (!planned.has(alloc.ID)) yield alloc;
    yield* planned.values();
  }

  /** The node's allocations that plans in flight change, each as the last of these plans leaves it. */
  private planned(nodeId: string): ReadonlyMap<string, Allocation> {
    const planned = new Map<string, Allocation>();
    for (const plan of this.inFlight) for (const alloc of plan.byNode.get(nodeId) ?? []) planned.set(alloc.ID, alloc);
    return planned;
  }

  /** Adds an accepted plan to the plans in flight, until `end`. */
  begin(payload: PlanPayload): PlanInFlight {
    const allocs = new Map<string, Allocation>();
    const freedNodes = new Set<string>();
    for (const placed of payload.AllocsUpdated) {
      const stored = this.alloc(placed.ID);
      if (stored) freedNodes.add(stored.NodeID); // an update may need less than before
      allocs.set(placed.ID, stored ? { ...placed, ClientStatus: statusAfter(stored, placed) } : placed);
    }
    const free = (id: string, change: (stored: Allocation) => Partial<Allocation>): void => {
      const stored = allocs.get(id) ?? this.alloc(id);
      if (!stored) return;
      freedNodes.add(stored.NodeID);
      allocs.set(id, { ...stored, ...change(stored) });
    };
    for (const { ID, ClientStatus } of payload.AllocsStopped)
      free(ID, (stored) => ({ DesiredStatus: 'stop', ClientStatus: ClientStatus || stored.ClientStatus }));
    for (const { ID } of payload.AllocsPreempted) free(ID, () => ({ DesiredStatus: 'evict' }));
    const byNode = new Map<string, Allocation[]>();
    for (const alloc of allocs.values()) {
      const list = byNode.get(alloc.NodeID);
      if (list) list.push(alloc);
      else byNode.set(alloc.NodeID, [alloc]);
    }
    const plan: PlanInFlight = {
      allocs,
      byNode,
      freedNodes,
      ineligibleNodes: new Set(payload.IneligibleNodes),
      deployment: payload.Deployment?.ID,
      job: payload.Job ? namespacedKey(payload.Job.Namespace, payload.Job.ID) : '',
    };
    this.inFlight.add(plan);
    return plan;
  }

  /** Removes a plan whose outcome is known: it is in the tables now, or never will be. */
  end(plan: PlanInFlight): void {
    this.inFlight.delete(plan);
  }

  /** Whether the plan depends on what a plan in flight frees or creates, which must then be committed first. */
  dependsOnInFlight(plan: PlanReferences): boolean {
    for (const other of this.inFlight) {
      if (other.job !== '' && other.job === plan.job) return true;
      for (const id of plan.nodes) if (other.freedNodes.has(id)) return true;
      for (const id of plan.allocs) if (other.allocs.has(id)) return true;
      for (const id of plan.deployments) if (other.deployment === id) return true;
    }
    return false;
  }
}

/** An existing allocation keeps its client status unless the plan says `lost` or `unknown` (EB-276). */
function statusAfter(stored: Allocation, planned: Allocation): Allocation['ClientStatus'] {
  const isLostOrUnknown = planned.ClientStatus === 'lost' || planned.ClientStatus === 'unknown';
  return isLostOrUnknown ? planned.ClientStatus : stored.ClientStatus;
}
