import { isReadyNode, type Allocation, type Job, type Node, type TaskGroup } from '@waybill/model';
import { namespacedKey, type Tables } from '@waybill/state';
import {
  annotationsOf,
  latestDeployment,
  mayPreempt,
  type Attempt,
  type AttemptInput,
  type BlockedBy,
} from './attempt.js';
import { eligibleForAny } from './feasibility/class-eligibility.js';
import { candidatesFor, mayRunOn } from './ranking/candidate-nodes.js';
import {
  lastUnknownTime,
  mayRewrite,
  stopsNobodyReports,
  taintedNodesOf,
  type TaintedNodes,
} from './reconciliation/classification.js';
import { reconcile } from './reconciliation/cluster-reconciler.js';
import { RESCHEDULED, UPDATING } from './descriptions.js';
import { inDeployment } from './reconciliation/in-deployment.js';
import { InPlaceUpdates } from './reconciliation/in-place-update.js';
import type { NodeSelector } from './ranking/node-selector.js';
import { olderVersionFor, versionBefore, type OlderVersion } from './reconciliation/older-version.js';
import { PlanDraft, type StopOrder } from './plan-draft.js';
import { PlanFilling } from './plan-filling.js';
import type { DestructiveUpdate, Placement, Reconciliation } from './reconciliation/reconciliation.js';
import { failTime, trackerForSuccessor } from './reconciliation/reschedule-policy.js';
import { SeededRandom } from './seeded-random.js';
import { selectionFor, type VersionSelection } from './ranking/version-selection.js';
import { hasPerAllocVolumes } from './feasibility/volume-feasibility.js';

/**
 * One scheduling pass for a service or batch job: reconciles, then finds a node for each wanted allocation. Pure and
 * synchronous: the tables cannot change during it. Cost: O(allocations of the job + nodes checked).
 */
export function attemptGeneric(input: AttemptInput): Attempt {
  const { evaluation, tables, nowNs, newId } = input;
  const key = namespacedKey(evaluation.Namespace, evaluation.JobID);
  const job = tables.jobs.get(key) ?? null;
  const allocs = [...tables.allocs.by('job', key)];
  const tainted = taintedNodesOf(allocs, tables);
  const plan = new PlanDraft(tables, input.placementLimit, input.loads);
  const placing = job && !job.Stop ? new Placing(input, job, plan, tainted) : undefined;
  const wants = reconcile({
    job,
    jobId: evaluation.JobID,
    allocs,
    tainted,
    hasSettled: (nodeId) => tables.nodes.get(nodeId)?.Status === 'ready',
    isComing: (evalId) => tables.evals.get(evalId)?.Status === 'pending',
    deployment: latestDeployment(key, tables),
    evaluation,
    nowNs,
    newId,
    versionBefore: (group) => (job ? versionBefore(group, job, tables) : undefined),
    decideUpdate: (alloc, group) => placing?.inPlace.decide(alloc, group) ?? { kind: 'ignore' },
  });
  for (const order of [...stopsNobodyReports(allocs, tainted, nowNs), ...wants.stops]) plan.stop(order);
  for (const alloc of wants.rewrites.values())
    plan.place(wants.inPlace.has(alloc.ID) ? inDeployment(alloc, wants.deploymentId) : alloc);
  plan.followups = wants.followups;
  plan.deployment = wants.deployment;
  plan.deploymentUpdates = wants.deploymentUpdates;
  placing?.placeAll(wants);
  for (const [group, desired] of Object.entries(wants.desired))
    desired.Preemptions += placing?.filling.evictions(group) ?? 0;

  const annotations = annotationsOf(wants.desired);
  return {
    plan: plan.build(evaluation, job ?? allocs[0]?.Job ?? null, input.index, annotations),
    truncated: placing?.filling.truncated ?? false,
    isNoop: plan.isNoop,
    failedGroups: placing?.filling.failedGroups ?? {},
    wanted: wantedPerGroup(job, wants),
    annotations,
    deploymentId: wants.deploymentId,
    followups: wants.followups,
    blocked: placing?.blockedBy() ?? [],
  };
}

/** Wanted placements of each group (SC-26). */
function wantedPerGroup(job: Job | null, wants: Reconciliation): Record<string, number> {
  const wanted: Record<string, number> = {};
  for (const { group } of [...wants.placements, ...wants.destructive])
    wanted[group.Name] = (wanted[group.Name] ?? 0) + 1;
  for (const { Name } of job?.TaskGroups ?? []) wanted[Name] ??= 0;
  return wanted;
}

/** The second half of an attempt: finds nodes and fills the plan. Used for one attempt. */
class Placing {
  readonly filling: PlanFilling;
  readonly inPlace: InPlaceUpdates;
  private readonly newest: VersionSelection;
  private readonly older = new Map<number, VersionSelection>();
  private readonly random: SeededRandom;
  private readonly tables: Tables;
  private readonly preempt: boolean;
  private deploymentId = '';

  constructor(
    private readonly input: AttemptInput,
    private readonly job: Job,
    private readonly plan: PlanDraft,
    private readonly tainted: TaintedNodes,
  ) {
    this.filling = new PlanFilling(input, job, plan);
    this.tables = input.tables;
    this.random = SeededRandom.of(input.evaluation.ID, input.index);
    this.preempt = mayPreempt(job, input.tables);
    this.newest = this.selectionOf(job);
    this.inPlace = new InPlaceUpdates(input, job, plan, this.newest.selector);
  }

  /** Places all wanted allocations, replacements first, so that the resources that they free count (SC-144). */
  placeAll(wants: Reconciliation): void {
    this.deploymentId = wants.deploymentId;
    for (const update of wants.destructive) {
      if (this.filling.isFull()) return;
      this.replace(update);
    }
    for (const placement of wants.placements) {
      if (this.filling.isFull()) return;
      this.place(placement);
    }
  }

  blockedBy(): BlockedBy[] {
    const failed = this.job.TaskGroups.filter((group) => this.filling.hasFailed(group));
    if (failed.length === 0) return [];
    // An older version may be feasible where the newest one is not (SC-150).
    const versions = [this.newest, ...this.older.values()].map(({ feasibility }) => feasibility);
    const missing = failed.flatMap((group) => versions.flatMap((version) => version.missingResources(group)));
    return [
      {
        classEligibility: eligibleForAny(versions.map(({ eligibility }) => Object.entries(eligibility.classes()))),
        escaped: versions.some(({ eligibility }) => eligibility.escaped),
        missingResources: [...new Set(missing)],
        failedGroups: this.filling.failedGroups,
        nodeId: '',
      },
    ];
  }

  private selectionOf(job: Job): VersionSelection {
    const candidates = candidatesFor(job, this.tables);
    this.random.shuffle(candidates.nodes); // so that equal nodes are used evenly (SC-41)
    const { input, plan, random } = this;
    return selectionFor({ job, candidates, input, plan, random });
  }

  /** Replaces an allocation by a destructive update (SC-145). */
  private replace({ alloc, group, name }: DestructiveUpdate): void {
    this.plan.stop({ alloc, description: UPDATING });
    const replacement: Placement = {
      name,
      group,
      previous: alloc,
      reschedule: 'no',
      canary: false,
      olderVersion: false,
    };
    if (!this.placeOne(replacement)) this.plan.withdrawStop(alloc);
  }

  private place(placement: Placement): void {
    const placed = this.placeOne(placement);
    const { previous, reschedule } = placement;
    if (reschedule === 'no' || !previous) return;
    if (placed) {
      if (reschedule === 'stops-previous') this.plan.stop(rescheduledStop(previous));
      return;
    }
    const stays = this.plan.formOf(previous);
    // A stored allocation notes that its replacement found no node (SC-151, SC-153).
    if (mayRewrite(stays, this.tainted)) this.plan.place(withoutPlacement(stays));
  }

  private placeOne(placement: Placement): boolean {
    const { group, name, previous, reschedule, canary } = placement;
    // A group that failed once is not tried again (SC-28), unless its allocations have volumes of their own (VL-181).
    if (this.filling.hasFailed(group) && !hasPerAllocVolumes(group)) {
      this.filling.failed(group);
      return false;
    }
    const older = placement.olderVersion ? this.olderVersionOf(placement) : undefined;
    const chosen = this.choose(placement, older);
    if (!chosen.node) {
      this.filling.failed(group, chosen.metric);
      return false;
    }
    const tracker = previous && reschedule !== 'no' ? this.trackerAfter(previous) : null;
    const deploymentId = older ? older.deploymentId : this.deploymentId;
    this.filling.place({ name, group, previous, canary, deploymentId, version: older?.job ?? null, tracker }, chosen);
    return true;
  }

  private olderVersionOf({ previous, group }: Placement): OlderVersion | undefined {
    return olderVersionFor(previous, group.Name, this.job, this.tables);
  }

  private choose(
    { group, name, previous }: Placement,
    older: OlderVersion | undefined,
  ): ReturnType<NodeSelector['select']> {
    const job = older?.job ?? this.job;
    const ofVersion = older ? (job.TaskGroups.find(({ Name }) => Name === group.Name) ?? group) : group;
    const { selector } = older ? this.olderSelection(older) : this.newest;
    const penalised = penalisedNodes(previous);
    const preferred = previous && this.preferredNode(previous, ofVersion, job);
    if (preferred) {
      const there = selector.select(ofVersion, { penalised, allocName: name, only: preferred });
      if (there.node) return there;
    }
    return selector.select(ofVersion, { penalised, allocName: name, preempt: this.preempt });
  }

  private olderSelection({ job }: OlderVersion): VersionSelection {
    let selection = this.older.get(job.Version);
    if (!selection) this.older.set(job.Version, (selection = this.selectionOf(job)));
    return selection;
  }

  /** The node of the previous allocation, if the group prefers it (SC-44). */
  private preferredNode(previous: Allocation, group: TaskGroup, job: Job): Node | undefined {
    const { Sticky, Migrate } = group.EphemeralDisk;
    const before = previous.Job;
    if (!(Sticky || Migrate) || !before || before.NodePool !== job.NodePool) return undefined;
    if (before.Datacenters.join(',') !== job.Datacenters.join(',')) return undefined;
    const node = this.tables.nodes.get(previous.NodeID);
    return node && isReadyNode(node) && mayRunOn(job, node) ? node : undefined;
  }

  /**
   * The reschedule tracker of the replacement: attempts count from the failure, or from when the node disconnected
   * (SC-171, SC-264).
   */
  private trackerAfter(previous: Allocation): Allocation['RescheduleTracker'] {
    const { nowNs } = this.input;
    const gone = this.plan.formOf(previous).ClientStatus === 'unknown';
    return trackerForSuccessor(previous, nowNs, gone ? lastUnknownTime(previous) || nowNs : failTime(previous));
  }
}

/** The stop of an allocation that was rescheduled (SC-152, SC-172). */
function rescheduledStop(alloc: Allocation): StopOrder {
  return {
    alloc,
    description: RESCHEDULED,
    tracker: { Events: alloc.RescheduleTracker?.Events ?? [], LastReschedule: 'ok' },
  };
}

function withoutPlacement(alloc: Allocation): Allocation {
  const Events = alloc.RescheduleTracker?.Events ?? [];
  return { ...alloc, Job: null, RescheduleTracker: { Events, LastReschedule: 'no placement' } };
}

/** Nodes that get a penalty, because the allocation failed there (SC-110). */
function penalisedNodes(previous: Allocation | undefined): ReadonlySet<string> {
  const nodes = new Set<string>();
  if (previous?.ClientStatus === 'failed') nodes.add(previous.NodeID);
  for (const { PrevNodeID } of previous?.RescheduleTracker?.Events ?? []) nodes.add(PrevNodeID);
  return nodes;
}
