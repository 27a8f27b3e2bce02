import {
  DEPLOYMENT_RUNNING,
  isHealthyCanary,
  nestedList,
  requiresPromotion,
  rfc3339FromNs,
  type Allocation,
  type Deployment,
  type DeploymentState,
  Refusal,
} from '@waybill/model';
import type { TxnPayloads } from '../log/catalogue.js';
import { activeDeployment } from './deployment-status.js';
import { compareText } from '../machine/row-order.js';
import { upsertEvaluation } from '../evaluations/eval-upsert.js';
import type { Write } from '../machine/write.js';

/**
 * Type 15: promotes a deployment (ST-127 to ST-130), all requested groups or none. Its healthy canaries become ordinary
 * allocations.
 */
export function promoteDeployment(w: Write, payload: TxnPayloads['DeploymentPromote']): void {
  const deployment = activeDeployment(w, payload.DeploymentID);
  const promoted = Object.entries(deployment.TaskGroups)
    .filter(([name]) => payload.All || payload.Groups.includes(name))
    .toSorted(([a], [b]) => compareText(a, b))
    .map(([name, state]) => ({ name, state, canaries: healthyCanaries(w, name, state) }));
  refuseShortGroups(promoted);
  w.put('deployment', withPromoted(deployment, promoted, payload.PromotedAt, w.index));
  for (const { canaries } of promoted) for (const canary of canaries) w.put('allocs', asOrdinary(canary, w.index));
  if (payload.Eval) upsertEvaluation(w, payload.Eval);
}

/** A group of the deployment that is to be promoted. */
interface PromotedGroup {
  readonly name: string;
  readonly state: DeploymentState;
  /** Those that are healthy. */
  readonly canaries: readonly Allocation[];
}

function healthyCanaries(w: Write, group: string, { PlacedCanaries }: DeploymentState): Allocation[] {
  return PlacedCanaries.flatMap((id) => {
    const alloc = w.tables.allocs.get(id);
    return alloc && alloc.TaskGroup === group && isHealthyCanary(alloc) ? [alloc] : [];
  });
}

/** Refuses with the names of all groups that lack healthy canaries (DP-851). */
function refuseShortGroups(groups: readonly PromotedGroup[]): void {
  const short = groups.flatMap(({ name, state: { DesiredCanaries }, canaries }) =>
    canaries.length < DesiredCanaries
      ? [`Task group "${name}" has ${canaries.length}/${DesiredCanaries} healthy allocations`]
      : [],
  );
  if (short.length > 0) throw new Refusal('conflict', nestedList(short));
}

function withPromoted(
  deployment: Deployment,
  groups: readonly PromotedGroup[],
  atNs: number,
  index: number,
): Deployment {
  const TaskGroups = { ...deployment.TaskGroups };
  for (const { name, state } of groups) TaskGroups[name] = promotedState(state, atNs);
  const next: Deployment = { ...deployment, TaskGroups, ModifyIndex: index, ModifyTime: atNs };
  const waits = next.Status !== 'running' || requiresPromotion(next);
  return waits ? next : { ...next, StatusDescription: DEPLOYMENT_RUNNING };
}

/**
 * The promoted group with a new deadline: an old one, which may have passed, must not fail the promoted deployment
 * (ST-128).
 */
function promotedState(state: DeploymentState, atNs: number): DeploymentState {
  const restarts = state.ProgressDeadline > 0 && state.RequireProgressBy !== null;
  return {
    ...state,
    Promoted: true,
    RequireProgressBy: restarts ? rfc3339FromNs(atNs + state.ProgressDeadline) : state.RequireProgressBy,
  };
}

/** The canary as an ordinary allocation. It is written, because its agent has to learn of the change (ST-130). */
function asOrdinary(canary: Allocation, index: number): Allocation {
  return {
    ...canary,
    DeploymentStatus: canary.DeploymentStatus && { ...canary.DeploymentStatus, Canary: false, ModifyIndex: index },
    ModifyIndex: index,
    AllocModifyIndex: index,
  };
}
