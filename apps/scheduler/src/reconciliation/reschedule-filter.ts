import {
  findTaskGroup,
  isClientTerminal,
  isServerTerminal,
  NS_PER_SECOND,
  ranSuccessfully,
  type Allocation,
} from '@waybill/model';
import { isLive, lastUnknownTime } from './classification.js';
import { rescheduleTime, rescheduleTimeFrom, type RescheduleTime } from './reschedule-policy.js';

/** A failed allocation that is due within this time is rescheduled now (SC-171). */
export const RESCHEDULE_NOW_NS = NS_PER_SECOND;

/** `keep`: it counts as it is; `drop`: it does not count, its place is free; `later` also keeps it. */
export type RescheduleVerdict =
  | { readonly kind: 'keep' | 'drop' | 'now' }
  | { readonly kind: 'later'; readonly atNs: number };

export interface RescheduleView {
  readonly isBatch: boolean;
  readonly evaluationId: string;
  readonly nowNs: number;
  /** The current deployment while it is active: it decides on allocations that failed in it (SC-168). */
  readonly activeDeploymentId: string;
  /** Whether an allocation is a canary that waits for promotion. */
  readonly isWaitingCanary: (alloc: Allocation) => boolean;
  /** Whether a batch allocation completed while it was disconnected, and no replacement has done its work. */
  readonly isFinished: (alloc: Allocation) => boolean;
  /** All stored allocations of the group, by ID. */
  readonly stored: ReadonlyMap<string, Allocation>;
  /** Whether an evaluation is stored and has not ended. */
  readonly isComing: (evalId: string) => boolean;
  /** Whether a plan may rewrite an allocation where it is (SC-313). */
  readonly mayRewrite: (alloc: Allocation) => boolean;
}

const KEEP: RescheduleVerdict = { kind: 'keep' };
const DROP: RescheduleVerdict = { kind: 'drop' };
const NOW: RescheduleVerdict = { kind: 'now' };

/**
 * What an allocation that is not lost needs by its `reschedule` block (SC-164 to SC-171). `leaving`: its node has just
 * been lost.
 */
export function rescheduleVerdict(alloc: Allocation, view: RescheduleView, leaving = false): RescheduleVerdict {
  if (leaving && alloc.ClientStatus === 'unknown') return DROP; // unknown allocations are handled before (SC-165)
  // Its replacement counts instead (SC-166).
  if (alloc.NextAllocation !== '' && !isLive(alloc)) return view.isFinished(alloc) ? KEEP : DROP;
  const filter = view.isBatch ? batchFilter(alloc) : serviceFilter(alloc);
  if (filter === 'drop') return DROP;
  return filter === 'keep' && !leaving ? KEEP : examine(alloc, view, leaving);
}

function examine(alloc: Allocation, view: RescheduleView, leaving: boolean): RescheduleVerdict {
  const { DesiredTransition: wanted, FollowupEvalID } = alloc;
  if (isLeftToDeployment(alloc, view, leaving)) return KEEP; // its deployment decides (SC-168)
  if (hasSuccessor(alloc, view)) return KEEP; // it was replaced before (SC-178)
  if (wanted.ForceReschedule === true && isClientTerminal(alloc)) return NOW; // a user forced it (SC-169)
  // The group does not replace it while it is disconnected (SC-170).
  if (leaving && groupOf(alloc)?.Disconnect?.Replace === false) return KEEP;
  const { eligible, atNs } = timeFor(alloc, view, leaving);
  if (!eligible) return KEEP;
  if (hasWaited(alloc, view) || atNs - view.nowNs <= RESCHEDULE_NOW_NS) return NOW;
  // A follow-up that was deleted or superseded does not come any more (SC-176).
  if (FollowupEvalID !== '' && view.isComing(FollowupEvalID)) return KEEP;
  // No follow-up can be named on a node that accepts no rewrite, so nothing would reschedule the allocation later: it
  // is replaced now.
  return leaving || view.mayRewrite(alloc) ? { kind: 'later', atNs } : NOW;
}

/**
 * Whether the allocation's deployment decides on it (SC-168). A disconnected allocation has not failed: the deployment
 * does not know of it, so it is replaced as its group's blocks say (SC-192). A canary that fails after it was healthy
 * is not reported to the deployment any more (DP-306), and its promotion may be days away: it is rescheduled by its
 * policy.
 */
function isLeftToDeployment(alloc: Allocation, view: RescheduleView, leaving: boolean): boolean {
  const { DesiredTransition: wanted, DeploymentID, DeploymentStatus, ClientStatus } = alloc;
  if (DeploymentID === '' || DeploymentID !== view.activeDeploymentId || wanted.Reschedule === true) return false;
  if (leaving || ClientStatus === 'unknown') return false;
  return !(ClientStatus === 'failed' && DeploymentStatus?.Healthy === true && view.isWaitingCanary(alloc));
}

/**
 * Whether the allocation has waited long enough: this evaluation is its follow-up, however early it came (SC-171). An
 * allocation that found no node before is due at any later evaluation (SC-151): its follow-up is over, and nothing else
 * reschedules it.
 */
const hasWaited = ({ FollowupEvalID, RescheduleTracker }: Allocation, { evaluationId }: RescheduleView): boolean =>
  FollowupEvalID === evaluationId || RescheduleTracker?.LastReschedule === 'no placement';

/** When the allocation may be rescheduled (SC-171). */
function timeFor(alloc: Allocation, view: RescheduleView, leaving: boolean): RescheduleTime {
  if (leaving) return rescheduleTimeFrom(alloc, view.nowNs);
  if (alloc.ClientStatus === 'unknown' && hasWaited(alloc, view))
    return rescheduleTimeFrom(alloc, lastUnknownTime(alloc));
  return rescheduleTime(alloc);
}

function hasSuccessor(alloc: Allocation, view: RescheduleView): boolean {
  const next = view.stored.get(alloc.NextAllocation);
  return next !== undefined && !isServerTerminal(next);
}

const groupOf = (alloc: Allocation): ReturnType<typeof findTaskGroup> =>
  alloc.Job ? findTaskGroup(alloc.Job, alloc.TaskGroup) : undefined;

/**
 * The batch rows of SC-167. A disconnected allocation is examined too, or its follow-up (SC-194) would have nothing to
 * do.
 */
function batchFilter(alloc: Allocation): 'keep' | 'drop' | 'examine' {
  const { DesiredTransition: wanted, DesiredStatus } = alloc;
  if (wanted.MigrateDisablePlacement === true) return 'keep';
  if (wanted.Reschedule === true) return 'examine';
  if (DesiredStatus === 'stop') {
    if (ranSuccessfully(alloc)) return 'keep';
    return alloc.RescheduleTracker?.LastReschedule === 'no placement' ? 'examine' : 'drop';
  }
  if (DesiredStatus === 'evict') return 'drop';
  return alloc.ClientStatus === 'failed' || alloc.ClientStatus === 'unknown' ? 'examine' : 'keep';
}

/** The service rows of SC-167. */
function serviceFilter(alloc: Allocation): 'keep' | 'drop' | 'examine' {
  if (isServerTerminal(alloc)) return alloc.RescheduleTracker?.LastReschedule === 'no placement' ? 'examine' : 'drop';
  return alloc.ClientStatus === 'complete' || alloc.ClientStatus === 'lost' ? 'drop' : 'examine';
}
