import {
  newEvaluation,
  nsFromMs,
  type Allocation,
  type Clock,
  type Evaluation,
  type Job,
  type Plan,
  type PlanResult,
  Refusal,
} from '@waybill/model';
import { namespacedKey, stickyClaims, type Tables, type TxnPayloads } from '@waybill/state';

export type PlanPayload = TxnPayloads['ApplyPlanResults'];

export interface PlanPayloadDeps {
  readonly tables: Tables;
  readonly clock: Clock;
  readonly newId: () => string;
}

/**
 * The transaction that commits the accepted part of a plan. Cost: O(allocations placed, stopped and preempted).
 *
 * @param job the version the scheduler planned with, null for a plan that only stops
 * @throws Refusal if the plan places allocations and the job or its namespace does not exist (EB-266)
 */
export function payloadOf(
  plan: Plan,
  job: Job | null,
  result: PlanResult<Allocation>,
  { tables, clock, newId }: PlanPayloadDeps,
): PlanPayload {
  const now = nsFromMs(clock.nowMs());
  const placed = Object.values(result.NodeAllocation).flat();
  if (placed.length > 0 && !job) throw new Refusal('invalid', 'plan missing embedded job');
  if (placed.length > 0 && job && !tables.namespaces.has(job.Namespace))
    throw new Refusal('invalid', `namespace "${job.Namespace}" not found for job "${job.ID}": it was deleted`);
  const stopped = Object.values(result.NodeUpdate).flat();
  const preempted = Object.values(result.NodePreemptions).flat();
  const named = new Set([...placed, ...stopped].map((a) => a.FollowupEvalID));
  const disconnects = placed.some((alloc) => alloc.ClientStatus === 'unknown');
  const claims = stickyClaims(tables, job, placed, newId);
  return {
    Job: placed.length > 0 ? job : null,
    AllocsUpdated: placed.map((alloc) => withoutImpliedJob(alloc, job, tables)),
    AllocsStopped: stopped,
    AllocsPreempted: preempted,
    Deployment: result.Deployment,
    DeploymentUpdates: result.DeploymentUpdates,
    EvalID: plan.EvalID,
    PreemptionEvals: preemptionEvals(preempted, tables, now, newId),
    // Allocations name their follow-up evaluations (EB-22). When they name that of a delayed replacement, they do not name that
    // of the disconnect's end (SC-192), which is needed as well.
    FollowupEvals: plan.FollowupEvals.filter(
      (e) => named.has(e.ID) || (disconnects && e.TriggeredBy === 'max-disconnect-timeout'),
    ),
    IneligibleNodes: result.IneligibleNodes,
    ...(claims.length > 0 && { VolumeClaims: claims }),
    UpdatedAt: now,
  };
}

/**
 * The allocation as the transaction carries it: without its job, which the transaction carries once. A stored allocation that
 * moves to another version keeps its job, which says so (EB-340). The state fills in the times (EB-267).
 */
function withoutImpliedJob(alloc: Allocation, job: Job | null, tables: Tables): Allocation {
  if (!alloc.Job) return alloc;
  // An allocation that carries no job has the plan's job if it is new, and its stored version otherwise.
  const implied = tables.allocs.get(alloc.ID)?.Job ?? job;
  return isSameVersion(alloc.Job, implied) ? { ...alloc, Job: null } : alloc;
}

function isSameVersion(a: Job, b: Job | null): boolean {
  return a.Version === b?.Version && a.CreateIndex === b.CreateIndex;
}

/** One evaluation for each job that lost an allocation by preemption, if the job still exists (EB-280). */
function preemptionEvals(
  preempted: readonly { ID: string }[],
  tables: Tables,
  now: number,
  newId: () => string,
): Evaluation[] {
  const evals = new Map<string, Evaluation>();
  for (const { ID } of preempted) {
    const alloc = tables.allocs.get(ID);
    const key = alloc && namespacedKey(alloc.Namespace, alloc.JobID);
    const job = key === undefined ? undefined : tables.jobs.get(key);
    if (!job || key === undefined || evals.has(key)) continue;
    evals.set(
      key,
      newEvaluation({
        ID: newId(),
        Namespace: job.Namespace,
        JobID: job.ID,
        Priority: job.Priority,
        Type: job.Type,
        TriggeredBy: 'preemption',
        CreateTime: now,
      }),
    );
  }
  return [...evals.values()];
}
