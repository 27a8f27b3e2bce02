import {
  capacityOf,
  NetworkIndex,
  usageOf,
  type AllocatedResources,
  type Allocation,
  type Amounts,
  type Job,
  type NetworkResource,
  type Node,
  type TaskGroup,
} from '@waybill/model';
import { resolveTarget } from './constraint-targets.js';
import type { Feasibility } from './feasibility.js';
import { withCores, withPorts, type GroupAsk } from './group-ask.js';
import type { PlanDraft } from './plan-draft.js';
import { preemptionScore, priorityOf, victimsFor } from './preemption.js';
import type { BaseScore, Ranking } from './ranking.js';

/** What one node is for one more allocation of a group, as the plan stands. */
export type Judgement = { readonly kind: 'filtered' | 'exhausted'; readonly reason: string } | Fitting;

export interface Fitting {
  readonly kind: 'fits';
  readonly resources: AllocatedResources;
  readonly base: BaseScore;
}

/** It fits once these are gone. */
export interface FittingAfterPreemption extends Fitting {
  readonly victims: readonly Allocation[];
  /** SC-141. */
  readonly preemption: number;
}

export interface NodeJudgeDeps {
  readonly job: Pick<Job, 'ID' | 'Namespace' | 'Priority'>;
  readonly feasibility: Feasibility;
  readonly plan: PlanDraft;
  /** In [0, 1), seeded. */
  readonly random: () => number;
}

/** Judges one node for one group: feasible, fitting, how good. Cost: O(constraints + allocations on the node). */
export function judge(node: Node, ask: GroupAsk, ranking: Ranking, deps: NodeJudgeDeps): Judgement {
  const reason = deps.feasibility.whyNot(node, ask.group);
  if (reason !== undefined) return { kind: 'filtered', reason };
  const fitted = fit(node, ask, deps);
  if ('exhausted' in fitted) return { kind: 'exhausted', reason: fitted.exhausted };
  if (fitted.lacks !== '') return { kind: 'exhausted', reason: fitted.lacks };
  return fitting(node, ask, ranking, fitted, deps);
}

function fitting(node: Node, ask: GroupAsk, ranking: Ranking, fitted: Resourced, deps: NodeJudgeDeps): Fitting {
  const { used, capacity, resources } = fitted;
  const collisions = collisionsOn(node, ask.group, deps);
  return { kind: 'fits', resources, base: ranking.base({ node, used, capacity, collisions }) };
}

/**
 * The same where less important allocations may be evicted for it (section 12); undefined: not even then. Their use is
 * still counted in the fit (SC-108). Cost: O(allocations on the node, squared).
 */
export function judgePreempting(
  node: Node,
  ask: GroupAsk,
  ranking: Ranking,
  deps: NodeJudgeDeps,
): FittingAfterPreemption | undefined {
  if (deps.feasibility.whyNot(node, ask.group) !== undefined) return undefined;
  const fitted = fit(node, ask, deps);
  if ('exhausted' in fitted || fitted.lacks === '') return undefined;
  const { used, capacity, wanted } = fitted;
  const victims = victimsFor({
    job: deps.job,
    wanted,
    free: {
      cpuMhz: capacity.cpuMhz - used.cpuMhz + wanted.cpuMhz,
      memoryMB: capacity.memoryMB - used.memoryMB + wanted.memoryMB,
      diskMB: capacity.diskMB - used.diskMB + wanted.diskMB,
    },
    proposed: deps.plan.proposed(node),
    preemptedOf: (group) => deps.plan.preemptedOf(group),
  });
  if (!victims) return undefined;
  const preemption = preemptionScore(victims.map(priorityOf));
  return { ...fitting(node, ask, ranking, fitted, deps), victims, preemption };
}

/** SC-109. */
function collisionsOn(node: Node, group: TaskGroup, { job, plan }: NodeJudgeDeps): number {
  let collisions = 0;
  for (const alloc of plan.proposed(node))
    if (alloc.JobID === job.ID && alloc.Namespace === job.Namespace && alloc.TaskGroup === group.Name) collisions++;
  return collisions;
}

interface Resourced {
  readonly wanted: Amounts;
  readonly used: Amounts;
  readonly capacity: Amounts;
  readonly resources: AllocatedResources;
  /** What there is too little of; empty: it fits. */
  readonly lacks: '' | 'cpu' | 'memory' | 'disk';
}

type Fitted = Resourced | { readonly exhausted: string };

/** Ports first, then cores, then amounts, as the reasons come out (SC-83 to SC-103). */
function fit(node: Node, ask: GroupAsk, { plan, random }: NodeJudgeDeps): Fitted {
  const view = plan.viewOf(node.ID);
  let { resources } = ask;
  if (ask.network) {
    const index = NetworkIndex.ofNode(node);
    if (index.invalid) return { exhausted: 'network: invalid node' };
    for (const alloc of view.allocs)
      if (index.addAllocation(alloc) !== undefined) return { exhausted: 'network: port collision' };
    const offer = index.offer(resolvedHostNetworks(ask.network, node), random);
    if ('error' in offer) return { exhausted: `network: ${offer.error}` };
    resources = withPorts(resources, offer.ports, offer.network);
  }
  const withOwnCores = withCores(ask, resources, node, view.allocs);
  if (!withOwnCores) return { exhausted: 'cores' };
  const usage = ask.cores > 0 ? usageOf(withOwnCores) : ask.usage;
  const used: Amounts = {
    cpuMhz: view.used.cpuMhz + usage.cpuMhz,
    memoryMB: view.used.memoryMB + usage.memoryMB,
    diskMB: view.used.diskMB + usage.diskMB,
  };
  const capacity = capacityOf(node);
  if (node.NodeMaxAllocs > 0 && view.allocs.length + 1 > node.NodeMaxAllocs)
    return { exhausted: 'max allocation exceeded' };
  return { wanted: usage, used, capacity, resources: withOwnCores, lacks: lackOf(used, capacity) };
}

function lackOf(used: Amounts, capacity: Amounts): Resourced['lacks'] {
  if (used.cpuMhz > capacity.cpuMhz) return 'cpu';
  if (used.memoryMB > capacity.memoryMB) return 'memory';
  return used.diskMB > capacity.diskMB ? 'disk' : '';
}

/** SC-66: feasibility has made sure that they resolve. */
function resolvedHostNetworks(network: NetworkResource, node: Node): NetworkResource {
  const resolve = (ports: NetworkResource['ReservedPorts']): NetworkResource['ReservedPorts'] =>
    ports?.map((port) => ({ ...port, HostNetwork: resolveTarget(port.HostNetwork, node) ?? '' })) ?? null;
  return { ...network, ReservedPorts: resolve(network.ReservedPorts), DynamicPorts: resolve(network.DynamicPorts) };
}
