import {
  allocsFit,
  charge,
  findTaskGroup,
  isTerminalAllocation,
  loadFits,
  type Allocation,
  type Deployment,
  type Job,
  type Node,
  type NodeLoad,
  type Plan,
  type PlanResult,
  Refusal,
} from '@waybill/model';
import { requestsSoleWriter, conflictingWriters } from './host-volume-writers.js';
import type { PlanView } from './optimistic-state.js';

/** A node that the plan no longer fits, and the reason. */
export interface RejectedNode {
  readonly nodeId: string;
  readonly reason: string;
}

export interface Verification {
  readonly result: PlanResult<Allocation>;
  readonly rejected: readonly RejectedNode[];
}

/**
 * Verifies a plan against the current state, plans in flight included, node by node. A node that the plan no longer fits is
 * rejected with everything that the plan does there, stops included (EB-244 to EB-259). Pure. Cost: O(plan); on nodes where
 * ports, cores or devices are in use, which sums cannot verify, also O(allocations on the node).
 *
 * @param job the version the scheduler planned with, null for a plan that only stops
 * @throws Refusal if the plan names an allocation that does not exist (EB-245)
 */
export function verifyPlan(plan: Plan, job: Job | null, view: PlanView): Verification {
  requireKnownAllocs(plan, view);
  const nodeIds = new Set([...Object.keys(plan.NodeUpdate), ...Object.keys(plan.NodeAllocation)]);
  const rejected: RejectedNode[] = [];
  const result: PlanResult<Allocation> = {
    NodeUpdate: {},
    NodeAllocation: {},
    NodePreemptions: {},
    Deployment: plan.Deployment,
    DeploymentUpdates: plan.DeploymentUpdates,
    RejectedNodes: [],
    IneligibleNodes: [],
    RefreshIndex: 0,
    AllocIndex: 0,
  };
  for (const nodeId of nodeIds) {
    const reason = rejectionOn(plan, job, nodeId, view);
    if (reason !== undefined) rejected.push({ nodeId, reason });
    else accept(plan, nodeId, view, result);
  }
  if (rejected.length === 0) return { result, rejected };

  result.RejectedNodes = rejected.map((r) => r.nodeId);
  result.RefreshIndex = view.lastChange;
  if (result.RefreshIndex === 0) throw new Refusal('invalid', 'partialCommit with RefreshIndex of 0');
  if (plan.AllAtOnce) {
    result.NodeUpdate = {};
    result.NodeAllocation = {};
    result.NodePreemptions = {};
    result.Deployment = null;
    result.DeploymentUpdates = [];
  } else if (result.Deployment) result.Deployment = withoutUnplacedCanaries(result.Deployment, plan, result);
  return { result, rejected };
}

function accept(plan: Plan, nodeId: string, view: PlanView, result: PlanResult<Allocation>): void {
  const { [nodeId]: stops } = plan.NodeUpdate;
  const { [nodeId]: places } = plan.NodeAllocation;
  const { [nodeId]: preempts } = plan.NodePreemptions;
  if (stops && stops.length > 0) result.NodeUpdate[nodeId] = stops;
  if (places && places.length > 0) result.NodeAllocation[nodeId] = places;
  // Preempted allocations that have already ended are left out of the result (EB-257).
  const still = preempts?.filter(({ ID }) => {
    const alloc = view.alloc(ID);
    return alloc !== undefined && !isTerminalAllocation(alloc);
  });
  if (still && still.length > 0) result.NodePreemptions[nodeId] = still;
}

/** The reason to reject the plan on this node by the table of section 11, whose first match decides; undefined accepts. */
function rejectionOn(plan: Plan, job: Job | null, nodeId: string, view: PlanView): string | undefined {
  const placements = plan.NodeAllocation[nodeId] ?? [];
  if (placements.length === 0) return undefined;
  const node = view.node(nodeId);
  if (!node) return 'node does not exist';
  switch (node.Status) {
    case 'disconnected':
      return placements.every((a) => a.ClientStatus === 'unknown')
        ? undefined
        : 'node is disconnected and contains invalid updates';
    case 'down':
      return placements.every(
        (a) => a.ClientStatus === 'lost' || (a.ClientStatus === 'unknown' && staysUnknown(a, job)),
      )
        ? undefined
        : 'node is down and contains invalid updates';
    case 'initializing':
      return 'node is not ready for placements';
    case 'ready':
      return rejectionOnReadyNode(plan, job, node, placements, view);
  }
}

/** Why the plan's part for a ready node is rejected. Positional parameters: runs for every node of every plan. */
function rejectionOnReadyNode(
  plan: Plan,
  job: Job | null,
  node: Node,
  placements: readonly Allocation[],
  view: PlanView,
): string | undefined {
  // Allocations of the node may be updated, ended ones too: the update notes that nothing could replace it (SC-313).
  if (placements.every((a) => isUpdate(a, node.ID, view))) return undefined;
  if (node.SchedulingEligibility !== 'eligible' || node.DrainStrategy !== null) return 'node is not eligible';
  const leaving = leavingIds(plan, node.ID, placements);
  const load = proposedLoad(node.ID, leaving, placements, view);
  const fit =
    load.claimants === 0 ? loadFits(node, load) : allocsFit(node, proposedAllocs(node.ID, leaving, placements, view));
  if (!fit.fits) return fit.dimension;
  const conflict =
    requestsSoleWriter(job) && conflictingWriters(proposedAllocs(node.ID, leaving, placements, view), job);
  return conflict ? 'conflicting claims for host volume with single-writer' : undefined;
}

function isUpdate(alloc: Allocation, nodeId: string, view: PlanView): boolean {
  const there = view.alloc(alloc.ID);
  if (there?.NodeID !== nodeId) return false;
  return !isTerminalAllocation(there) || isTerminalAllocation(alloc);
}

/** Allocations that the plan stops, preempts or updates on the node: they count no longer as they are stored. */
function leavingIds(plan: Plan, nodeId: string, placements: readonly Allocation[]): Set<string> {
  const ids = new Set<string>();
  for (const { ID } of placements) ids.add(ID);
  for (const { ID } of plan.NodeUpdate[nodeId] ?? []) ids.add(ID);
  for (const { ID } of plan.NodePreemptions[nodeId] ?? []) ids.add(ID);
  return ids;
}

function proposedLoad(
  nodeId: string,
  leaving: ReadonlySet<string>,
  placements: readonly Allocation[],
  view: PlanView,
): NodeLoad {
  const load = { ...view.loadOf(nodeId) };
  for (const id of leaving) {
    const alloc = view.alloc(id);
    if (alloc?.NodeID === nodeId && !isTerminalAllocation(alloc)) charge(load, alloc, -1);
  }
  for (const alloc of placements) charge(load, alloc);
  return load;
}

function* proposedAllocs(
  nodeId: string,
  leaving: ReadonlySet<string>,
  placements: readonly Allocation[],
  view: PlanView,
): Iterable<Allocation> {
  for (const alloc of view.allocsOn(nodeId)) if (!isTerminalAllocation(alloc) && !leaving.has(alloc.ID)) yield alloc;
  yield* placements;
}

/** Whether allocations of its group are not replaced while their node is disconnected. */
function staysUnknown(alloc: Allocation, job: Job | null): boolean {
  const group = job && findTaskGroup(job, alloc.TaskGroup);
  return group?.Disconnect?.Replace === false;
}

function requireKnownAllocs(plan: Plan, view: PlanView): void {
  for (const diffs of [...Object.values(plan.NodeUpdate), ...Object.values(plan.NodePreemptions)])
    for (const { ID } of diffs) if (!view.alloc(ID)) throw new Refusal('invalid', `alloc ${ID} doesn't exist`);
}

/** The deployment without the new canaries that were not accepted; canaries in state stay (EB-256). */
function withoutUnplacedCanaries(deployment: Deployment, plan: Plan, result: PlanResult<Allocation>): Deployment {
  const placed = idsOf(result.NodeAllocation);
  const dropped = new Set([...idsOf(plan.NodeAllocation)].filter((id) => !placed.has(id)));
  const groups = Object.entries(deployment.TaskGroups).map(([name, state]) => [
    name,
    { ...state, PlacedCanaries: state.PlacedCanaries.filter((id) => !dropped.has(id)) },
  ]);
  return { ...deployment, TaskGroups: Object.fromEntries(groups) };
}

const idsOf = (byNode: Record<string, readonly Allocation[]>): Set<string> =>
  new Set(Object.values(byNode).flatMap((allocs) => allocs.map((a) => a.ID)));
