import { NS_PER_SECOND, rfc3339FromNs, type NodeEvent, Refusal } from '@waybill/model';
import type { TxnPayloads } from '../log/catalogue.js';
import { upsertEvaluation } from '../evaluations/eval-upsert.js';
import { recomputeJobStatus } from '../jobs/job-status.js';
import { appendedEvents } from '../nodes/node-events.js';
import { applyPlanAllocations } from './plan-allocations.js';
import { applyPlanDeployments } from './plan-deployment.js';
import type { Appliers } from '../machine/applier.js';
import { putStickyClaims } from './sticky-claims.js';
import { namespacedKey } from '../machine/tables.js';
import type { Write } from '../machine/write.js';

/** Applier of plans (section 7.3). */
export const planAppliers: Appliers<'ApplyPlanResults'> = { ApplyPlanResults: applyPlan };

/**
 * Type 13: applies a plan, in the order of ST-112. The job's status follows from its allocations, not from the new
 * evaluations (ST-73).
 */
function applyPlan(w: Write, plan: TxnPayloads['ApplyPlanResults']): void {
  for (const nodeId of plan.IneligibleNodes) markIneligible(w, nodeId, plan.UpdatedAt);
  applyPlanDeployments(w, plan);
  const jobs = new Set([touchEvaluation(w, plan.EvalID)]);
  for (const job of applyPlanAllocations(w, plan)) jobs.add(job);
  putStickyClaims(w, plan.VolumeClaims ?? []);
  for (const job of jobs) recomputeJobStatus(w, job);
  for (const evaluation of plan.PreemptionEvals) upsertEvaluation(w, evaluation);
  for (const evaluation of plan.FollowupEvals) upsertEvaluation(w, evaluation);
}

/** Moves the evaluation's index, so that its next worker waits for this plan (ST-116). Returns the key of its job. */
function touchEvaluation(w: Write, id: string): string {
  const evaluation = w.tables.evals.get(id);
  if (!evaluation) throw new Refusal('not-found', `unable to find eval id "${id}"`);
  w.put('evals', { ...evaluation, ModifyIndex: w.index });
  return namespacedKey(evaluation.Namespace, evaluation.JobID);
}

/** Marks a node ineligible; a deleted node is skipped (ST-113). */
function markIneligible(w: Write, nodeId: string, updatedAtNs: number): void {
  const node = w.tables.nodes.get(nodeId);
  if (!node) return;
  const event: NodeEvent = {
    Message:
      'Node marked as ineligible for scheduling due to multiple plan rejections, refer to https://developer.hashicorp.com/nomad/s/port-plan-failure for more information',
    Subsystem: 'Scheduler',
    Details: null,
    Timestamp: rfc3339FromNs(updatedAtNs),
    CreateIndex: w.index,
  };
  w.put('nodes', {
    ...node,
    SchedulingEligibility: 'ineligible',
    StatusUpdatedAt: Math.floor(updatedAtNs / NS_PER_SECOND),
    Events: appendedEvents(w, node, event),
    ModifyIndex: w.index,
  });
}
