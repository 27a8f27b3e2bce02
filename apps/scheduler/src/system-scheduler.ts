import { newAllocation, type Allocation, type AllocMetric, type Evaluation, type Job } from '@waybill/model';
import { namespacedKey } from '@waybill/state';
import { annotationsOf, configFor, type Attempt, type AttemptInput, type BlockedBy } from './attempt.js';
import { candidatesFor, type Candidates } from './candidate-nodes.js';
import { stopsNobodyReports, taintedNodesOf } from './classification.js';
import { UPDATING } from './descriptions.js';
import { Feasibility } from './feasibility.js';
import { InPlaceUpdates } from './in-place-update.js';
import { countsOf, reconcileNodes, type NodePlacement, type NodeReconciliation } from './node-reconciler.js';
import { NodeSelector } from './node-selector.js';
import { withExhaustedResources } from './placement-metric.js';
import { PlanDraft } from './plan-draft.js';
import { PropertyUses } from './property-uses.js';
import { SeededRandom } from './seeded-random.js';

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
  const plan = new PlanDraft(tables);
  for (const order of [...stopsNobodyReports(allocs, tainted, nowNs), ...wants.stops]) plan.stop(order);
  const placing = running ? new SystemPlacing(input, running, candidates, plan) : undefined;
  placing?.placeAll(wants);
  const annotations = annotationsOf(wants.desired);
  return {
    plan: plan.build(evaluation, job ?? allocs[0]?.Job ?? null, input.index, annotations),
    truncated: placing?.truncated ?? false,
    isNoop: plan.isNoop,
    failedGroups: placing?.failedGroups ?? {},
    wanted: placing?.wanted ?? {},
    annotations,
    deploymentId: '',
    followups: [],
    blocked: placing?.blockedBy() ?? [],
  };
}

/** Tries each wanted allocation on its one node. Used once. */
class SystemPlacing {
  readonly failedGroups: Record<string, AllocMetric> = {};
  readonly wanted: Record<string, number> = {};
  truncated = false;
  private readonly firstFullNode = new Map<string, string>();
  private readonly filtered = new Map<string, AllocMetric>();
  private readonly feasibility: Feasibility;
  private readonly selector: NodeSelector;
  private readonly inPlace: InPlaceUpdates;
  private readonly evaluation: Evaluation;

  constructor(
    private readonly input: AttemptInput,
    private readonly job: Job,
    candidates: Candidates,
    private readonly plan: PlanDraft,
  ) {
    this.evaluation = input.evaluation;
    const random = SeededRandom.of(input.evaluation.ID, input.index);
    const uses = new PropertyUses(job, input.tables, plan);
    this.feasibility = new Feasibility(
      job,
      {
        proposed: (node) => plan.proposed(node),
        countByProperty: (target, value, group) => uses.counts(target, group).get(value) ?? 0,
      },
      true,
    );
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
    for (const { Name } of job.TaskGroups) this.wanted[Name] = 0;
  }

  /** Updates first: what they stop frees the slot of their replacement (SC-280). */
  placeAll(wants: NodeReconciliation): void {
    for (const { alloc, node, group } of wants.updates) {
      if (this.isFull()) return;
      const decision = this.inPlace.decide(alloc, group);
      const counts = countsOf(wants, group.Name);
      if (decision.kind === 'ignore') counts.Ignore++;
      else if (decision.kind === 'in-place') {
        counts.InPlaceUpdate++;
        this.plan.place(decision.alloc);
      } else {
        counts.DestructiveUpdate++;
        this.plan.stop({ alloc, description: UPDATING });
        this.place({ node, name: alloc.Name, group, previous: alloc });
      }
    }
    for (const placement of wants.placements) {
      if (this.isFull()) return;
      this.place(placement);
    }
    this.reportFiltered(wants);
  }

  private isFull(): boolean {
    return (this.truncated = this.plan.isFull);
  }

  /** SC-35, EB-220: one per group that found a node feasible but full. */
  blockedBy(): BlockedBy[] {
    const { eligibility } = this.feasibility;
    return [...this.firstFullNode].map(([group, nodeId]) => ({
      classEligibility: eligibility.classes(),
      escaped: eligibility.escaped,
      missingResources: [],
      failedGroups: Object.fromEntries(Object.entries(this.failedGroups).filter(([name]) => name === group)),
      nodeId,
    }));
  }

  private place({ node, name, group, previous }: NodePlacement): void {
    this.wanted[group.Name] = (this.wanted[group.Name] ?? 0) + 1;
    const chosen = this.selector.select(group, { only: [node] });
    if (chosen.node) this.plan.place(this.allocationFor(name, group.Name, previous, chosen));
    else if (chosen.metric.NodesExhausted > 0) {
      // SC-284
      if (!this.firstFullNode.has(group.Name)) this.firstFullNode.set(group.Name, node.ID);
      const failed = this.failedGroups[group.Name];
      const metric = failed ? { ...failed, CoalescedFailures: failed.CoalescedFailures + 1 } : chosen.metric;
      this.failedGroups[group.Name] = withExhaustedResources(metric, group);
    } else {
      // SC-283
      this.wanted[group.Name] = Math.max(0, (this.wanted[group.Name] ?? 0) - 1);
      this.filtered.set(group.Name, sum(this.filtered.get(group.Name), chosen.metric));
    }
  }

  /** SC-283: a job that fits nowhere is reported, one that merely skips nodes is not. */
  private reportFiltered(wants: NodeReconciliation): void {
    for (const [group, metric] of this.filtered) {
      const counts = countsOf(wants, group);
      if (this.wanted[group] === 0 && counts.Ignore === 0 && counts.InPlaceUpdate === 0)
        this.failedGroups[group] ??= metric;
    }
  }

  private allocationFor(
    name: string,
    group: string,
    previous: Allocation | undefined,
    chosen: { node: { ID: string; Name: string }; resources: Allocation['AllocatedResources']; metric: AllocMetric },
  ): Allocation {
    return newAllocation({
      ID: this.input.newId(),
      EvalID: this.evaluation.ID,
      Namespace: this.job.Namespace,
      JobID: this.job.ID,
      TaskGroup: group,
      Name: name,
      NodeID: chosen.node.ID,
      NodeName: chosen.node.Name,
      AllocatedResources: chosen.resources,
      Metrics: chosen.metric,
      PreviousAllocation: previous?.ID ?? '',
      CreateTime: this.input.nowNs,
    });
  }
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
