import type { AllocatedResources, Allocation, Node } from '@waybill/model';
import { victimsForDevice } from '../preemption/device-preemption.js';
import type { Feasibility } from '../feasibility/feasibility.js';
import type { GroupAsk } from './group-ask.js';
import type { JobOnNodes } from './job-on-nodes.js';
import { fit, type Evictions, type Resourced } from './node-fit.js';
import type { Rejection } from './placement-metric.js';
import type { PlanDraft } from '../plan-draft.js';
import { victimsForPorts } from '../preemption/port-preemption.js';
import { preemptionScore, priorityOf, victimsFor, type Preemptor } from '../preemption/preemption.js';
import type { BaseScore, Ranking } from './ranking.js';

/** The suitability of one node for one more allocation of a group, as the plan stands. */
export type Judgement = Rejection | Fitting;

export interface Fitting {
  readonly kind: 'fits';
  readonly resources: AllocatedResources;
  readonly base: BaseScore;
}

/** It fits once these allocations are evicted. */
export interface FittingAfterPreemption extends Fitting {
  readonly victims: readonly Allocation[];
  /** Score of the preemption (SC-141). */
  readonly preemption: number;
}

export interface NodeJudgeDeps {
  readonly job: Preemptor;
  readonly feasibility: Feasibility;
  readonly plan: PlanDraft;
  readonly own: JobOnNodes;
  /** In [0, 1), seeded. */
  readonly random: () => number;
}

/**
 * Judges one node for one group: its feasibility, fit and score. Cost: O(constraints); with ports, devices, cores or
 * distinct hosts also O(allocations on the node).
 */
export function judge(node: Node, ask: GroupAsk, ranking: Ranking, deps: NodeJudgeDeps): Judgement {
  const reason = deps.feasibility.whyNot(node, ask.group, ask.allocName);
  if (reason !== undefined) return { kind: 'filtered', reason };
  const fitted = fit(node, ask, deps.plan.viewOf(node.ID), deps.random);
  if ('exhausted' in fitted) return { kind: 'exhausted', reason: fitted.exhausted };
  if (fitted.lacks !== '') return { kind: 'exhausted', reason: fitted.lacks };
  return fitting(node, ask, ranking, fitted, deps);
}

/** Scores a node that fits. Positional parameters: runs for every examined node of every placement. */
function fitting(node: Node, ask: GroupAsk, ranking: Ranking, fitted: Resourced, deps: NodeJudgeDeps): Fitting {
  const { used, capacity, resources, matchedDeviceWeight } = fitted;
  const collisions = deps.own.count(node.ID, ask.group.Name);
  return { kind: 'fits', resources, base: ranking.base({ node, used, capacity, collisions, matchedDeviceWeight }) };
}

/**
 * Judges the node with evictions of lower priority (section 12); undefined: it does not fit even then. Allocations that
 * are evicted for ports and devices do not count for the rest; the usage of those evicted for CPU, memory and disk
 * still counts in the fit (SC-108). Cost: O(allocations on the node, squared).
 */
export function judgePreempting(
  node: Node,
  ask: GroupAsk,
  ranking: Ranking,
  deps: NodeJudgeDeps,
): FittingAfterPreemption | undefined {
  const { job, plan, feasibility } = deps;
  if (feasibility.whyNot(node, ask.group, ask.allocName) !== undefined) return undefined;
  const view = plan.viewOf(node.ID);
  const fitted = fit(node, ask, view, deps.random, evictionsFor(job));
  if ('exhausted' in fitted) return undefined;
  const { used, capacity, wanted, evicted } = fitted;
  const more = victimsFor({
    job,
    wanted,
    free: {
      cpuMhz: capacity.cpuMhz - used.cpuMhz + wanted.cpuMhz,
      memoryMB: capacity.memoryMB - used.memoryMB + wanted.memoryMB,
      diskMB: capacity.diskMB - used.diskMB + wanted.diskMB,
    },
    proposed: view.allocs.filter((alloc) => !evicted.includes(alloc)),
    preemptedOf: (group) => plan.preemptedOf(group),
  });
  if (!more) return undefined;
  const victims = [...evicted, ...more];
  if (victims.length === 0) return undefined;
  const preemption = preemptionScore(victims.map(priorityOf));
  return { ...fitting(node, ask, ranking, fitted, deps), victims, preemption };
}

/** The evictions for exclusive resources (SC-138, SC-139). */
function evictionsFor(job: Preemptor): Evictions {
  return {
    forPorts: (wanted, node, index, proposed) => victimsForPorts({ job, wanted, node, index, proposed }),
    forDevice: (request, node, index, proposed) => victimsForDevice({ job, request, node, index, proposed }),
  };
}
