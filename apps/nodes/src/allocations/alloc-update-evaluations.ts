import {
  type Allocation,
  type ClientAllocUpdate,
  type Evaluation,
  type EvalTrigger,
  findTaskGroup,
  isClientTerminal,
  isTerminalEvaluation,
  type Job,
  newEvaluation,
  type ReschedulePolicy,
} from '@waybill/model';
import { namespacedKey, type Tables } from '@waybill/state';

/**
 * The evaluations that agents' updates require (ND-125 to ND-134), decided on the state before the write; one for each
 * job, by the first update that requires it. Cost: O(updates).
 * @param nowNs time of the write
 */
export function evaluationsOfUpdates(
  tables: Tables,
  updates: readonly ClientAllocUpdate[],
  nowNs: number,
  newId: () => string,
): Evaluation[] {
  const evals = new Map<string, Evaluation>();
  for (const update of updates) {
    const stored = tables.allocs.get(update.ID);
    if (!stored) continue;
    const key = namespacedKey(stored.Namespace, stored.JobID);
    if (evals.has(key)) continue;
    const job = tables.jobs.get(key);
    const trigger = triggerOf(stored, update, { job, nowNs, isFollowed: hasFollowup(tables, stored) });
    const subject = job ?? stored.Job;
    if (trigger === undefined || !subject) continue;
    evals.set(
      key,
      newEvaluation({
        ID: newId(),
        Namespace: stored.Namespace,
        JobID: stored.JobID,
        Type: subject.Type,
        Priority: subject.Priority,
        TriggeredBy: trigger,
        CreateTime: nowNs,
      }),
    );
  }
  return [...evals.values()];
}

interface Circumstances {
  readonly job: Job | undefined;
  readonly nowNs: number;
  readonly isFollowed: boolean;
}

function triggerOf(
  stored: Allocation,
  update: ClientAllocUpdate,
  { job, nowNs, isFollowed }: Circumstances,
): EvalTrigger | undefined {
  const wasUnknown = stored.ClientStatus === 'unknown';
  // The allocation runs again and was replaced meanwhile: one of the two must stop.
  const runsBeside =
    stored.DesiredStatus === 'run' &&
    stored.NextAllocation !== '' &&
    isClientTerminal(stored) &&
    !isClientTerminal(update);
  if (!isClientTerminal(update) && !wasUnknown && !runsBeside) return undefined;
  if (!job) return 'job-deregister';
  const failedAnew = update.ClientStatus === 'failed' && !isFollowed;
  const group = findTaskGroup(job, stored.TaskGroup);
  if (failedAnew && !group) return undefined;
  if (wasUnknown || runsBeside) return 'reconnect';
  return failedAnew && group && mayReschedule(stored, group.ReschedulePolicy, nowNs) ? 'alloc-failure' : undefined;
}

/**
 * Whether the allocation's replacement exists, or an evaluation that decides about it is pending (ND-128). An
 * evaluation that has ended decides nothing any more: a machine may report that failed work runs, and later that it
 * failed (ND-110).
 */
function hasFollowup(tables: Tables, { FollowupEvalID, NextAllocation }: Allocation): boolean {
  if (FollowupEvalID === '') return false;
  if (NextAllocation !== '') return true;
  const followup = tables.evals.get(FollowupEvalID);
  return followup !== undefined && !isTerminalEvaluation(followup);
}

/** Whether the reschedule policy allows another attempt now (ND-128); the scheduler computes the delay. */
export function mayReschedule(
  alloc: Pick<Allocation, 'RescheduleTracker'>,
  policy: ReschedulePolicy | null,
  nowNs: number,
): boolean {
  if (!policy) return false;
  if (policy.Unlimited) return true;
  if (policy.Interval <= 0) return false;
  const events = alloc.RescheduleTracker?.Events ?? [];
  const attempted = events.filter((event) => nowNs - event.RescheduleTime < policy.Interval).length;
  return attempted < policy.Attempts;
}
