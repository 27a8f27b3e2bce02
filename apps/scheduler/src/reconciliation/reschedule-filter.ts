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

/** `keep`: it counts as it is; `drop`: it does not count, its place is free; `later` also keeps. */
export type RescheduleVerdict =
  | { readonly kind: 'keep' | 'drop' | 'now' }
  | { readonly kind: 'later'; readonly atNs: number };

export interface RescheduleView {
  readonly isBatch: boolean;
  readonly evaluationId: string;
  readonly nowNs: number;
  /** The current deployment while it is active: it decides on what failed in it (SC-168). */
  readonly activeDeploymentId: string;
  /** Whether an allocation is a canary that waits for promotion. */
  readonly isWaitingCanary: (alloc: Allocation) => boolean;
  /** Whether a batch allocation ended well while it was out of reach, and nothing else has done its work. */
  readonly isFinished: (alloc: Allocation) => boolean;
  /** By id, of all that are stored of the group. */
  readonly stored: ReadonlyMap<string, Allocation>;
  /** Whether an evaluation is stored and has not ended. */
  readonly isComing: (evalId: string) => boolean;
  /** Whether a plan may rewrite an allocation where it is (SC-313). */
  readonly mayRewrite: (alloc: Allocation) => boolean;
}

const KEEP: RescheduleVerdict = { kind: 'keep' };
const DROP: RescheduleVerdict = { kind: 'drop' };
const NOW: RescheduleVerdict = { kind: 'now' };

/** SC-164 to SC-171: what an allocation that is not lost wants of the `reschedule` block. `leaving`: its node is just gone. */
export function rescheduleVerdict(alloc: Allocation, view: RescheduleView, leaving = false): RescheduleVerdict {
  if (leaving && alloc.ClientStatus === 'unknown') return DROP; // SC-165
  if (alloc.NextAllocation !== '' && !isLive(alloc)) return view.isFinished(alloc) ? KEEP : DROP; // SC-166
  const filter = view.isBatch ? batchFilter(alloc) : serviceFilter(alloc);
  if (filter === 'drop') return DROP;
  return filter === 'keep' && !leaving ? KEEP : examine(alloc, view, leaving);
}

function examine(alloc: Allocation, view: RescheduleView, leaving: boolean): RescheduleVerdict {
  const { DesiredTransition: wanted, FollowupEvalID } = alloc;
  if (isLeftToDeployment(alloc, view, leaving)) return KEEP; // SC-168
  if (hasSuccessor(alloc, view)) return KEEP; // SC-178
  if (wanted.ForceReschedule === true && isClientTerminal(alloc)) return NOW; // SC-169
  if (leaving && groupOf(alloc)?.Disconnect?.Replace === false) return KEEP; // SC-170
  const { eligible, atNs } = timeFor(alloc, view, leaving);
  if (!eligible) return KEEP;
  if (hasWaited(alloc, view) || atNs - view.nowNs <= RESCHEDULE_NOW_NS) return NOW;
  // One that was deleted, or superseded by another, comes no more (SC-176).
  if (FollowupEvalID !== '' && view.isComing(FollowupEvalID)) return KEEP;
  // On a node that takes no rewrite nothing could name the follow-up, and nobody would look again: it goes now.
  return leaving || view.mayRewrite(alloc) ? { kind: 'later', atNs } : NOW;
}

/**
 * SC-168. What is out of reach has not failed: the deployment hears nothing of it and does nothing about it, so it is
 * replaced as its group's blocks say (SC-192). Of a canary that failed after it had been healthy the deployment hears nothing more (DP-306), and its promotion may
 * be days away: it is rescheduled by its policy.
 */
function isLeftToDeployment(alloc: Allocation, view: RescheduleView, leaving: boolean): boolean {
  const { DesiredTransition: wanted, DeploymentID, DeploymentStatus, ClientStatus } = alloc;
  if (DeploymentID === '' || DeploymentID !== view.activeDeploymentId || wanted.Reschedule === true) return false;
  if (leaving || ClientStatus === 'unknown') return false;
  return !(ClientStatus === 'failed' && DeploymentStatus?.Healthy === true && view.isWaitingCanary(alloc));
}

/**
 * SC-171: its follow-up is what runs, however early that came. What found no place before is due at any later evaluation
 * (SC-151): its follow-up has been, and nothing else comes back to it.
 */
const hasWaited = ({ FollowupEvalID, RescheduleTracker }: Allocation, { evaluationId }: RescheduleView): boolean =>
  FollowupEvalID === evaluationId || RescheduleTracker?.LastReschedule === 'no placement';

/** SC-171. */
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

/** SC-167, batch rows. One that is out of reach is examined too, or its follow-up (SC-194) would find nothing to do. */
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

/** SC-167, service rows. */
function serviceFilter(alloc: Allocation): 'keep' | 'drop' | 'examine' {
  if (isServerTerminal(alloc)) return alloc.RescheduleTracker?.LastReschedule === 'no placement' ? 'examine' : 'drop';
  return alloc.ClientStatus === 'complete' || alloc.ClientStatus === 'lost' ? 'drop' : 'examine';
}
