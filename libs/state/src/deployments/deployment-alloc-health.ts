import { rfc3339FromNs, type Allocation, Refusal } from '@waybill/model';
import type { TxnPayloads } from '../log/catalogue.js';
import { countInDeployment } from './deployment-counters.js';
import { activeDeployment, applyStatusAndRevert } from './deployment-status.js';
import { upsertEvaluation } from '../evaluations/eval-upsert.js';
import type { Write } from '../machine/write.js';

/**
 * Type 16: sets the health of allocations (ST-131, ST-132). Healthy ones first (DP-908); an allocation of another
 * deployment refuses the whole transaction.
 */
export function setAllocHealth(w: Write, payload: TxnPayloads['DeploymentAllocHealth']): void {
  const { DeploymentID, Timestamp } = payload;
  activeDeployment(w, DeploymentID);
  const set = (ids: readonly string[], healthy: boolean): void => {
    for (const id of ids) setHealth(w, memberOf(w, DeploymentID, id), { healthy, atNs: Timestamp });
  };
  set(payload.HealthyAllocationIDs, true);
  set(payload.UnhealthyAllocationIDs, false);
  const counted = activeDeployment(w, DeploymentID);
  const { DeploymentUpdate: update } = payload;
  if (update) applyStatusAndRevert(w, counted, { update, updatedAtNs: Timestamp, revert: payload });
  if (payload.Eval) upsertEvaluation(w, payload.Eval);
}

function memberOf(w: Write, deploymentId: string, allocId: string): Allocation {
  const alloc = w.tables.allocs.get(allocId);
  if (!alloc) throw new Refusal('not-found', `unknown alloc "${allocId}"`);
  if (alloc.DeploymentID !== deploymentId) {
    throw new Refusal('invalid', `alloc "${allocId}" is not part of deployment "${deploymentId}"`);
  }
  return alloc;
}

/** Sets the health of one allocation. `atNs` in unix ns. */
function setHealth(
  w: Write,
  alloc: Allocation,
  { healthy: Healthy, atNs }: { readonly healthy: boolean; readonly atNs: number },
): void {
  const next: Allocation = {
    ...alloc,
    DeploymentStatus: {
      Healthy,
      Timestamp: rfc3339FromNs(atNs),
      Canary: alloc.DeploymentStatus?.Canary ?? false,
      ModifyIndex: w.index,
    },
    ModifyIndex: w.index,
    ModifyTime: atNs,
  };
  countInDeployment(w, alloc, next);
  w.put('allocs', next);
}
