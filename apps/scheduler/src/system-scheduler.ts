import { isServerTerminal, type AllocMetric, type Job, type TaskGroup } from '@waybill/model';
import { namespacedKey } from '@waybill/state';
import {
  annotationsOf,
  latestDeployment,
  mayPreempt,
  type Attempt,
  type AttemptInput,
  type BlockedBy,
} from './attempt.js';
import { candidatesFor, type Candidates } from './ranking/candidate-nodes.js';
import { asReconnected, stopsNobodyReports, taintedNodesOf } from './reconciliation/classification.js';
import { UPDATING } from './descriptions.js';
import { InPlaceUpdates } from './reconciliation/in-place-update.js';
import { inDeployment } from './reconciliation/in-deployment.js';
import {
  countsOf,
  reconcileNodes,
  type NodePlacement,
  type NodeReconciliation,
  type NodeUpdate,
} from './reconciliation/node-reconciler.js';
import type { Selection } from './ranking/node-selector.js';
import { PlanDraft } from './plan-draft.js';
import { PlanFilling } from './plan-filling.js';
import { SeededRandom } from './seeded-random.js';
import { SystemRollout } from './reconciliation/system-rollout.js';
import { selectionFor, type VersionSelection } from './ranking/version-selection.js';

/**
 * One scheduling pass for a system or sysbatch job: one allocation of each group on every feasible node (section 18).
 * Pure and synchronous. Cost: O(candidate nodes × groups).
 */
export function attemptSystem(type: 'system' | 'sysbatch', input: AttemptInput): Attempt {
  const { evaluation, tables, nowNs } = input;
  const key = namespacedKey(evaluation.Namespace, evaluation.JobID);
  const job = tables.jobs.get(key) ?? null;
  const running = job && !job.Stop ? job : null;
  const allocs = [...tables.allocs.by('job', key)];
  const tainted = taintedNodesOf(allocs, tables);
  const candidates: Candidates = running ? candidatesFor(running, tables) : { nodes: [], perDatacenter: {} };
  const wants = reconcileNodes({ job: running, allocs, candidates: candidates.nodes, tainted, tables, nowNs });
  const rollout = new SystemRollout({
    job: running,
    allocs,
    latest: latestDeployment(key, tables),
    isOn: type === 'system',
    isNews: wants.isNews,
    stopped: new Set(wants.stops.map(({ alloc }) => alloc.ID)),
    newId: input.newId,
  });
  const plan = new PlanDraft(tables, input.placementLimit, input.loads);
  for (const order of [...stopsNobodyReports(allocs, tainted, nowNs), ...wants.stops]) plan.stop(order);
  for (const alloc of wants.rewrites) plan.place(alloc);
  const placing = running ? new SystemPlacing({ input, job: running, candidates, plan, rollout }) : undefined;
  placing?.placeAll(wants);
  const { deployment, updates } = rollout.result(evaluation, nowNs);
  plan.deployment = deployment;
  plan.deploymentUpdates = updates;
  const annotations = annotationsOf(wants.desired);
  return {
    plan: plan.build(evaluation, job ?? allocs[0]?.Job ?? null, input.index, annotations),
    truncated: placing?.filling.truncated ?? false,
    isNoop: plan.isNoop,
    failedGroups: placing?.filling.failedGroups ?? {},
    wanted: placing?.wanted ?? {},
    annotations,
    deploymentId: deployment?.ID ?? rollout.rollout.activeId,
    followups: [],
    blocked: placing?.blockedBy() ?? [],
  };
}

interface SystemPlacingParts {
  readonly input: AttemptInput;
  readonly job: Job;
  readonly candidates: Candidates;
  readonly plan: PlanDraft;
  readonly rollout: SystemRollout;
}

/** Tries each wanted allocation on its node. Used for one attempt. */
class SystemPlacing {
  readonly filling: PlanFilling;
  /** Allocations that were placed, or found their node full, by group (SC-26). */
  private readonly placesWanted = new Map<string, number>();
  private readonly firstFullNode = new Map<string, string>();
  private readonly filtered = new Map<string, AllocMetric>();
  /** Nodes on which an allocation of the group was tried in vain, by group (SC-291). */
  private readonly nowhere = new Map<string, number>();
  private readonly selection: VersionSelection;
  private readonly inPlace: InPlaceUpdates;
  private readonly preempt: boolean;

  private readonly input: AttemptInput;
  private readonly job: Job;
  private readonly plan: PlanDraft;
  private readonly rollout: SystemRollout;

  constructor({ input, job, candidates, plan, rollout }: SystemPlacingParts) {
    this.input = input;
    this.job = job;
    this.plan = plan;
    this.rollout = rollout;
    this.filling = new PlanFilling(input, job, plan);
    this.preempt = mayPreempt(job, input.tables);
    const random = SeededRandom.of(input.evaluation.ID, input.index);
    this.selection = selectionFor({ job, candidates, input, plan, random });
    this.inPlace = new InPlaceUpdates(input, job, plan, this.selection.selector);
  }

  /** Wanted placements of each group (SC-26). */
  get wanted(): Record<string, number> {
    return Object.fromEntries(this.job.TaskGroups.map(({ Name }) => [Name, this.placesWanted.get(Name) ?? 0]));
  }

  /** Makes updates first, because the allocations that they stop free the place of their replacements (SC-280). */
  placeAll(wants: NodeReconciliation): void {
    for (const group of this.job.TaskGroups) {
      const updates = wants.updates.filter((update) => update.group.Name === group.Name);
      const placements = wants.placements.filter((placement) => placement.group.Name === group.Name);
      this.placeGroup(group, updates, placements, wants);
    }
    this.reportFiltered(wants);
  }

  private placeGroup(
    group: TaskGroup,
    updates: readonly NodeUpdate[],
    placements: readonly NodePlacement[],
    wants: NodeReconciliation,
  ): void {
    const counts = countsOf(wants, group.Name);
    const destructive: NodeUpdate[] = [];
    for (const update of updates) if (!this.updateInPlace(update, wants)) destructive.push(update);
    const { replaceable, infeasible } = this.byFeasibility(destructive);
    const replacedCanaries = placements.filter(({ previous }) => this.rollout.wasCanary(previous)).length;
    const step = this.rollout.stepOf(group, replaceable.length, replacedCanaries);
    // Nothing replaces them, so there is nothing to wait for (SC-285).
    const ended = this.rollout.isHeld ? [] : infeasible;
    for (const update of ended) this.replace(update, false, wants);
    let done = 0;
    for (const update of replaceable.slice(0, step.limit)) {
      if (this.filling.isFull()) break;
      this.replace(update, step.asCanaries, wants);
      done++;
    }
    counts.DestructiveUpdate += done;
    counts.Ignore += replaceable.length - done;
    if (step.asCanaries) counts.Canary = step.canaries + done;
    for (const placement of placements) {
      if (this.filling.isFull()) break;
      this.place(placement, this.rollout.wasCanary(placement.previous), wants);
    }
    const tried = ended.length + done + placements.length;
    const nowhere = (this.nowhere.get(group.Name) ?? 0) + (wants.outdated[group.Name] ?? 0);
    const total = counts.Ignore + counts.InPlaceUpdate + tried - nowhere;
    this.rollout.setWanted(group.Name, total, replaceable.length > done);
    counts.Place = this.reportedPlaces(group, placements.length, counts.Ignore + counts.InPlaceUpdate + tried);
  }

  /**
   * The placements that clients are shown (SC-287): of a system job the feasible candidates, of a sysbatch job the
   * allocations on such nodes.
   */
  private reportedPlaces(group: TaskGroup, placements: number, looked: number): number {
    const filtered = this.filtered.get(group.Name)?.NodesFiltered ?? 0;
    return Math.max(0, (this.job.Type === 'system' ? looked : placements) - filtered);
  }

  /** @returns false if the allocation must be replaced */
  private updateInPlace({ alloc, group, kind }: NodeUpdate, wants: NodeReconciliation): boolean {
    const counts = countsOf(wants, group.Name);
    const decision = this.inPlace.decide(alloc, group);
    if (decision.kind === 'destructive') return false;
    if (kind === 'returned') {
      counts.Reconnect++;
      this.plan.place(asReconnected(alloc, this.input.nowNs));
    }
    if (decision.kind === 'ignore') counts.Ignore++;
    else {
      counts.InPlaceUpdate++;
      const { AllocStates } = this.plan.formOf(alloc);
      this.plan.place(inDeployment({ ...decision.alloc, AllocStates }, this.rollout.deploymentId));
    }
    return true;
  }

  /**
   * Separates the updates by feasibility, as if the old allocations were stopped: canaries and limits count those that
   * can be replaced (SC-292).
   */
  private byFeasibility(updates: readonly NodeUpdate[]): { replaceable: NodeUpdate[]; infeasible: NodeUpdate[] } {
    const replaceable: NodeUpdate[] = [];
    const infeasible: NodeUpdate[] = [];
    for (const update of updates) {
      this.plan.stop({ alloc: update.alloc, description: UPDATING });
      const reason = this.selection.feasibility.whyNot(update.node, update.group, update.alloc.Name);
      this.plan.withdrawStop(update.alloc);
      (reason === undefined ? replaceable : infeasible).push(update);
    }
    return { replaceable, infeasible };
  }

  /** Stops the allocation and replaces it if its node fits; it is stopped also if nothing can replace it (SC-285). */
  private replace({ alloc, node, group }: NodeUpdate, canary: boolean, wants: NodeReconciliation): void {
    if (!isServerTerminal(alloc)) this.plan.stop({ alloc, description: UPDATING });
    this.place({ node, name: alloc.Name, group, previous: alloc }, canary, wants);
  }

  /** One entry for each group that found a feasible node that was full (SC-35, EB-220). */
  blockedBy(): BlockedBy[] {
    const { eligibility } = this.selection.feasibility;
    return [...this.firstFullNode].map(([group, nodeId]) => ({
      classEligibility: eligibility.classes(),
      escaped: eligibility.escaped,
      missingResources: [],
      failedGroups: Object.fromEntries(Object.entries(this.filling.failedGroups).filter(([name]) => name === group)),
      nodeId,
    }));
  }

  private place(placement: NodePlacement, canary: boolean, wants: NodeReconciliation): void {
    const { node, name, group, previous } = placement;
    // A system job may preempt (SC-286).
    const chosen = this.selection.selector.select(group, { only: node, preempt: this.preempt });
    if (!chosen.node) return this.foundNothing(placement, chosen);
    countOne(this.placesWanted, group);
    const { deploymentId } = this.rollout;
    this.filling.place({ name, group, previous, canary, deploymentId, version: null, tracker: null }, chosen);
    countsOf(wants, group.Name).Preemptions += chosen.victims.length;
  }

  private foundNothing({ node, group }: NodePlacement, { metric }: Selection): void {
    countOne(this.nowhere, group);
    if (metric.NodesExhausted > 0) {
      countOne(this.placesWanted, group);
      // The blocked evaluation waits for the first full node (SC-284).
      if (!this.firstFullNode.has(group.Name)) this.firstFullNode.set(group.Name, node.ID);
      this.filling.failed(group, metric);
    } else {
      // An infeasible node is not counted as wanted (SC-283).
      this.filtered.set(group.Name, sum(this.filtered.get(group.Name), metric));
    }
  }

  /** Reports a job that is infeasible on all nodes, but not one that merely skips some (SC-283). */
  private reportFiltered(wants: NodeReconciliation): void {
    for (const [group, metric] of this.filtered) {
      const counts = countsOf(wants, group);
      if (!this.placesWanted.has(group) && counts.Ignore === 0 && counts.InPlaceUpdate === 0)
        this.filling.failedGroups[group] ??= metric;
    }
  }
}

function countOne(counts: Map<string, number>, { Name }: TaskGroup): void {
  counts.set(Name, (counts.get(Name) ?? 0) + 1);
}

function sum(a: AllocMetric | undefined, b: AllocMetric): AllocMetric {
  if (!a) return b;
  return {
    ...a,
    NodesEvaluated: a.NodesEvaluated + b.NodesEvaluated,
    NodesFiltered: a.NodesFiltered + b.NodesFiltered,
    ClassFiltered: merged(a.ClassFiltered, b.ClassFiltered),
    ConstraintFiltered: merged(a.ConstraintFiltered, b.ConstraintFiltered),
  };
}

type Counts = Record<string, number> | null;

function merged(x: Counts, y: Counts): Counts {
  if (!x || !y) return x ?? y;
  const both = { ...x };
  for (const [key, n] of Object.entries(y)) both[key] = (both[key] ?? 0) + n;
  return both;
}
