import {
  findTaskGroup,
  nsFromRfc3339,
  type Allocation,
  type RescheduleEvent,
  type ReschedulePolicy,
  type RescheduleTracker,
} from '@waybill/model';

/** Events that a replacement inherits when attempts are unlimited (SC-264). */
export const KEPT_EVENTS = 5;

/** When a failed allocation may be rescheduled, and whether at all. Times in unix ns. */
export interface RescheduleTime {
  readonly eligible: boolean;
  readonly atNs: number;
}

/** The policy that the failed allocation was placed with; undefined if there is none, or it is disabled (SC-265). */
export function policyOf(alloc: Allocation): ReschedulePolicy | undefined {
  const policy = alloc.Job && findTaskGroup(alloc.Job, alloc.TaskGroup)?.ReschedulePolicy;
  return policy && (policy.Unlimited || policy.Attempts > 0) ? policy : undefined;
}

/**
 * When the allocation failed, unix ns (SC-6). The machine's clock may be wrong, so its report is limited by the
 * servers' clocks: to between the placement and the last write of the allocation.
 */
export function failTime(alloc: Pick<Allocation, 'TaskStates' | 'CreateTime' | 'ModifyTime'>): number {
  let latest = 0;
  for (const { FinishedAt } of Object.values(alloc.TaskStates)) latest = Math.max(latest, nsFromRfc3339(FinishedAt));
  return latest === 0 ? alloc.ModifyTime : Math.min(Math.max(latest, alloc.CreateTime), alloc.ModifyTime);
}

/**
 * Delay until the next attempt, ns, counted from the failure (SC-257 to SC-260). A forced attempt without a policy had
 * no delay: a series that continued from it would never have one.
 */
export function nextDelay(policy: ReschedulePolicy, events: readonly RescheduleEvent[], failedAtNs: number): number {
  const last = events.at(-1);
  if (!last || last.Delay === 0 || policy.DelayFunction === 'constant') return policy.Delay;
  const delay = policy.DelayFunction === 'fibonacci' ? fibonacci(policy, events, last) : last.Delay * 2;
  if (policy.MaxDelay <= 0 || delay <= policy.MaxDelay) return delay;
  return failedAtNs - last.RescheduleTime > policy.MaxDelay ? policy.Delay : policy.MaxDelay;
}

function fibonacci(policy: ReschedulePolicy, events: readonly RescheduleEvent[], last: RescheduleEvent): number {
  const before = events.at(-2);
  if (!before) return policy.Delay;
  const restarted = before.Delay === policy.MaxDelay && last.Delay === policy.Delay;
  return restarted ? policy.Delay : before.Delay + last.Delay;
}

/** When a failed allocation may be rescheduled (SC-261, SC-262). */
export function rescheduleTime(alloc: Allocation): RescheduleTime {
  const { eligible, atNs } = rescheduleTimeFrom(alloc, failTime(alloc));
  return { eligible: eligible && hasFailed(alloc), atNs };
}

/** The same for an allocation that has been disconnected since a time, unix ns, and need not have failed (SC-262). */
export function rescheduleTimeFrom(alloc: Allocation, sinceNs: number): RescheduleTime {
  const policy = policyOf(alloc);
  if (!policy) return { eligible: false, atNs: sinceNs };
  const events = alloc.RescheduleTracker?.Events ?? [];
  const delay = nextDelay(policy, events, sinceNs);
  return { eligible: hasAttemptLeft(policy, events, sinceNs, delay), atNs: sinceNs + delay };
}

function hasFailed(alloc: Allocation): boolean {
  if (alloc.DesiredStatus === 'stop' && alloc.RescheduleTracker?.LastReschedule !== 'no placement') return false;
  const wanted = alloc.Job?.Type === 'batch' && alloc.DesiredTransition.Reschedule === true;
  return alloc.ClientStatus === 'failed' || alloc.ClientStatus === 'lost' || wanted;
}

function hasAttemptLeft(
  policy: ReschedulePolicy,
  events: readonly RescheduleEvent[],
  failedAtNs: number,
  delay: number,
): boolean {
  if (policy.Unlimited || events.length === 0) return true;
  const attempted = events.filter((event) => failedAtNs - event.RescheduleTime < policy.Interval).length;
  return attempted < policy.Attempts && delay < policy.Interval;
}

/** The tracker of the replacement (SC-264). @param sinceNs when the allocation failed or disconnected, unix ns */
export function trackerForSuccessor(
  failed: Allocation,
  nowNs: number,
  sinceNs: number = failTime(failed),
): RescheduleTracker {
  const policy = policyOf(failed);
  const events = failed.RescheduleTracker?.Events ?? [];
  const kept =
    policy && policy.Attempts > 0
      ? events.filter((event) => nowNs - event.RescheduleTime <= policy.Interval)
      : events.slice(-KEPT_EVENTS);
  const event: RescheduleEvent = {
    RescheduleTime: nowNs,
    PrevAllocID: failed.ID,
    PrevNodeID: failed.NodeID,
    Delay: policy ? nextDelay(policy, events, sinceNs) : 0,
  };
  return { Events: [...kept, event], LastReschedule: 'ok' };
}
