import {
  newAllocation,
  type Allocation,
  type AllocMetric,
  type Evaluation,
  type Job,
  type Node,
  type TaskGroup,
} from '@waybill/model';
import { namespacedKey, type Tables } from '@waybill/state';
import { annotationsOf, configFor, type Attempt, type AttemptInput, type BlockedBy } from './attempt.js';
import { candidatesFor } from './candidate-nodes.js';
import { stopsNobodyReports, taintedNodesOf } from './classification.js';
import {
  reconcile,
  rescheduledStop,
  type DestructiveUpdate,
  type Placement,
  type Reconciliation,
} from './cluster-reconciler.js';
import { UPDATING } from './descriptions.js';
import { Feasibility } from './feasibility.js';
import { InPlaceUpdates } from './in-place-update.js';
import { NodeSelector, type Chosen } from './node-selector.js';
import { withExhaustedResources } from './placement-metric.js';
import { PlanDraft } from './plan-draft.js';
import { PropertyUses } from './property-uses.js';
import { trackerForSuccessor } from './reschedule-policy.js';
import { SeededRandom } from './seeded-random.js';

/**
 * One scheduling pass for a service or batch job: reconcile, then find a node for each allocation wanted. Pure and
 * synchronous: the tables cannot change under it. Cost: O(allocations of the job + nodes looked at).
 */
export function attemptGeneric(input: AttemptInput): Attempt {
  const { evaluation, tables, nowNs, newId } = input;
  const key = namespacedKey(evaluation.Namespace, evaluation.JobID);
  const job = tables.jobs.get(key) ?? null;
  const allocs = [...tables.allocs.by('job', key)];
  const tainted = taintedNodesOf(allocs, tables);
  const plan = new PlanDraft(tables);
  const placing = job && !job.Stop ? new Placing(input, job, plan) : undefined;
  const wants = reconcile({
    job,
    jobId: evaluation.JobID,
    allocs,
    tainted,
    evaluation,
    nowNs,
    newId,
    decideUpdate: (alloc, group) => placing?.inPlace.decide(alloc, group) ?? { kind: 'ignore' },
  });
  for (const order of [...stopsNobodyReports(allocs, tainted, nowNs), ...wants.stops]) plan.stop(order);
  for (const alloc of [...wants.attributeUpdates, ...wants.inPlace]) plan.place(alloc);
  plan.followups.push(...wants.followups);
  placing?.placeAll(wants);

  const annotations = annotationsOf(wants.desired);
  return {
    plan: plan.build(evaluation, job ?? allocs[0]?.Job ?? null, input.index, annotations),
    truncated: placing?.truncated ?? false,
    isNoop: plan.isNoop,
    failedGroups: placing?.failedGroups ?? {},
    wanted: wantedPerGroup(job, wants),
    annotations,
    followups: wants.followups,
    blocked: placing?.blockedBy() ?? [],
  };
}

/** SC-26. */
function wantedPerGroup(job: Job | null, wants: Reconciliation): Record<string, number> {
  const wanted: Record<string, number> = {};
  for (const { Name } of job?.TaskGroups ?? []) wanted[Name] = 0;
  for (const { group } of [...wants.placements, ...wants.destructive])
    wanted[group.Name] = (wanted[group.Name] ?? 0) + 1;
  return wanted;
}

/** The second half of an attempt: finds nodes and fills the plan. Used once. */
class Placing {
  readonly failedGroups: Record<string, AllocMetric> = {};
  truncated = false;
  readonly inPlace: InPlaceUpdates;
  private readonly feasibility: Feasibility;
  private readonly selector: NodeSelector;
  private readonly evaluation: Evaluation;
  private readonly tables: Tables;

  constructor(
    private readonly input: AttemptInput,
    private readonly job: Job,
    private readonly plan: PlanDraft,
  ) {
    this.evaluation = input.evaluation;
    this.tables = input.tables;
    const random = SeededRandom.of(input.evaluation.ID, input.index);
    const candidates = candidatesFor(job, input.tables);
    random.shuffle(candidates.nodes);
    const uses = new PropertyUses(job, input.tables, plan);
    this.feasibility = new Feasibility(job, {
      proposed: (node) => plan.proposed(node),
      countByProperty: (target, value, group) => uses.counts(target, group).get(value) ?? 0,
    });
    this.selector = new NodeSelector({
      job,
      candidates,
      feasibility: this.feasibility,
      plan,
      config: configFor(job, input.tables),
      uses,
      random: () => random.next(),
    });
    this.inPlace = new InPlaceUpdates(input, job, plan, this.selector);
  }

  /** SC-144: what replaces something first, so that what it frees counts. */
  placeAll(wants: Reconciliation): void {
    for (const update of wants.destructive) {
      if (this.isFull()) return;
      this.replace(update);
    }
    for (const placement of wants.placements) {
      if (this.isFull()) return;
      this.place(placement);
    }
  }

  private isFull(): boolean {
    return (this.truncated = this.plan.isFull);
  }

  blockedBy(): BlockedBy[] {
    if (Object.keys(this.failedGroups).length === 0) return [];
    const { eligibility } = this.feasibility;
    const failed = this.job.TaskGroups.filter((group) => group.Name in this.failedGroups);
    return [
      {
        classEligibility: eligibility.classes(),
        escaped: eligibility.escaped,
        missingResources: failed.flatMap((group) => this.feasibility.missingResources(group)),
        failedGroups: this.failedGroups,
        nodeId: '',
      },
    ];
  }

  /** SC-145. */
  private replace({ alloc, group }: DestructiveUpdate): void {
    this.plan.stop({ alloc, description: UPDATING });
    if (!this.placeOne({ name: alloc.Name, group, previous: alloc, reschedule: false })) this.plan.withdrawStop(alloc);
  }

  private place(placement: Placement): void {
    const placed = this.placeOne(placement);
    const { previous, reschedule } = placement;
    if (!reschedule || !previous) return;
    if (placed) this.plan.stop(rescheduledStop(previous));
    else this.plan.place(withoutPlacement(previous)); // SC-151, SC-153
  }

  private placeOne(placement: Placement): boolean {
    const { group } = placement;
    const failed = this.failedGroups[group.Name];
    if (failed) {
      // SC-28
      const coalesced = { ...failed, CoalescedFailures: failed.CoalescedFailures + 1 };
      this.failedGroups[group.Name] = withExhaustedResources(coalesced, group);
      return false;
    }
    const chosen = this.choose(placement);
    if (!chosen.node) {
      this.failedGroups[group.Name] = withExhaustedResources(chosen.metric, group);
      return false;
    }
    this.plan.place(this.allocationFor(placement, chosen));
    return true;
  }

  private choose({ group, previous }: Placement): ReturnType<NodeSelector['select']> {
    const penalised = penalisedNodes(previous);
    const preferred = previous && this.preferredNode(previous, group);
    if (preferred) {
      const there = this.selector.select(group, { penalised, only: [preferred] });
      if (there.node) return there;
    }
    return this.selector.select(group, { penalised });
  }

  /** SC-44. */
  private preferredNode(previous: Allocation, group: TaskGroup): Node | undefined {
    const { Sticky, Migrate } = group.EphemeralDisk;
    const before = previous.Job;
    if (!(Sticky || Migrate) || !before || before.NodePool !== this.job.NodePool) return undefined;
    if (before.Datacenters.join(',') !== this.job.Datacenters.join(',')) return undefined;
    const node = this.tables.nodes.get(previous.NodeID);
    return node?.Status === 'ready' && node.SchedulingEligibility === 'eligible' && !node.DrainStrategy
      ? node
      : undefined;
  }

  /** SC-146, SC-147. */
  private allocationFor({ name, group, previous, reschedule }: Placement, chosen: Chosen): Allocation {
    return newAllocation({
      ID: this.input.newId(),
      EvalID: this.evaluation.ID,
      Namespace: this.job.Namespace,
      JobID: this.job.ID,
      TaskGroup: group.Name,
      Name: name,
      NodeID: chosen.node.ID,
      NodeName: chosen.node.Name,
      AllocatedResources: chosen.resources,
      Metrics: chosen.metric,
      PreviousAllocation: previous?.ID ?? '',
      RescheduleTracker: previous && reschedule ? trackerForSuccessor(previous, this.input.nowNs) : null,
      CreateTime: this.input.nowNs,
    });
  }
}

function withoutPlacement(alloc: Allocation): Allocation {
  const Events = alloc.RescheduleTracker?.Events ?? [];
  return { ...alloc, Job: null, RescheduleTracker: { Events, LastReschedule: 'no placement' } };
}

/** SC-110. */
function penalisedNodes(previous: Allocation | undefined): ReadonlySet<string> {
  const nodes = new Set<string>();
  if (previous?.ClientStatus === 'failed') nodes.add(previous.NodeID);
  for (const { PrevNodeID } of previous?.RescheduleTracker?.Events ?? []) nodes.add(PrevNodeID);
  return nodes;
}
