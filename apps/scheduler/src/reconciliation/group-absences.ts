import { isServerTerminal, ranSuccessfully, type Allocation } from '@waybill/model';
import { asReconnected, asUnknown, lostAfterOf, lostStop, needsReconnect } from './classification.js';
import { replaceableFrom } from './delayed-stop.js';
import { DELAYED_RESCHEDULE, DISCONNECT_TIMEOUT, MIGRATING, NOT_NEEDED_RECONNECTED } from '../descriptions.js';
import { evalIdsOf } from './follow-ups.js';
import type { GroupDraft } from './group-draft.js';
import { chainOf, resolveReconnecting } from './reconnect.js';
import { rescheduleVerdict } from './reschedule-filter.js';

/**
 * Keeps batch allocations that completed while they were disconnected: their work is done, so a replacement is not
 * needed any more, unless it has completed too. Read strictly, the rule (SC-166) has the replacement repeat the work.
 */
export function keepFinished(draft: GroupDraft): void {
  if (!draft.isBatch) return;
  const dropped = new Set<string>();
  for (const original of draft.buckets.untainted) {
    if (original.ClientStatus !== 'complete' || !needsReconnect(original) || !ranSuccessfully(original)) continue;
    const chain = chainOf(original, draft.stored);
    if (chain.some(ranSuccessfully)) continue;
    draft.finished.add(original.ID);
    for (const alloc of chain) {
      if (isServerTerminal(alloc)) continue;
      dropped.add(alloc.ID);
      draft.desired.Stop++;
      draft.stopAs(alloc, NOT_NEEDED_RECONNECTED);
    }
  }
  for (const name of ['untainted', 'migrate', 'lost', 'expiring', 'reconnecting', 'disconnecting'] as const)
    draft.buckets[name] = draft.buckets[name].filter(({ ID }) => !dropped.has(ID));
}

/**
 * Stops allocations that reconnected and must leave their node, if their replacement runs: placing them again would
 * leave two running allocations of one name until the next evaluation (SC-340).
 */
export function stopReplaced(draft: GroupDraft): void {
  const { buckets, stored, desired } = draft;
  buckets.migrate = buckets.migrate.filter((alloc) => {
    if (!chainOf(alloc, stored).some(standsIn)) return true;
    desired.Stop++;
    draft.stopAs(alloc, MIGRATING);
    return false;
  });
}

/** Whether a replacement stands in for the original; a failed one does too, as its place is kept for it (SC-266). */
const standsIn = (alloc: Allocation): boolean =>
  !isServerTerminal(alloc) && ['pending', 'running', 'failed'].includes(alloc.ClientStatus);

/** Decides which reconnected allocations and which of their replacements stay (SC-179 to SC-187). */
export function reconnect(draft: GroupDraft): void {
  const { buckets, input, out, desired } = draft;
  const { kept, stops } = resolveReconnecting(buckets.reconnecting, draft.stored, draft.job, input.nowNs);
  const stopped = new Set<string>();
  for (const order of stops) {
    stopped.add(order.alloc.ID);
    desired.Stop++;
    out.stop(order);
  }
  const stays = ({ ID }: Allocation): boolean => !stopped.has(ID);
  for (const name of ['untainted', 'migrate', 'lost', 'expiring', 'disconnecting'] as const)
    buckets[name] = buckets[name].filter(stays);
  draft.rescheduleNow = draft.rescheduleNow.filter(stays);
  draft.later = draft.later.filter(({ alloc }) => stays(alloc));
  for (const alloc of kept) {
    buckets.untainted.push(alloc);
    // The next evaluation handles it (SC-185).
    if (alloc.ClientStatus !== 'running' || !input.hasSettled(alloc.NodeID)) continue;
    out.rewrites.set(alloc.ID, asReconnected(alloc, input.nowNs));
    desired.Reconnect++;
  }
}

/** Decides what happens to allocations whose node disconnected (SC-190 to SC-193). */
export function disconnect(draft: GroupDraft): void {
  const { buckets, input, out, job, desired } = draft;
  const { disconnecting } = buckets;
  if (disconnecting.length === 0) return;
  const verdicts = disconnecting.map((alloc) => ({ alloc, verdict: rescheduleVerdict(alloc, draft.view, true) }));
  const now = new Set(verdicts.filter(({ verdict }) => verdict.kind === 'now').map(({ alloc }) => alloc));
  const later = verdicts.flatMap(({ alloc, verdict: v }) => (v.kind === 'later' ? [{ alloc, atNs: v.atNs }] : []));
  draft.rescheduleNow = [...draft.rescheduleNow, ...now];
  for (const { ID } of now) draft.staying.add(ID);
  const timeouts = disconnecting.map((alloc) => ({ alloc, atNs: input.nowNs + lostAfterOf(alloc) }));
  // Of two follow-ups of an allocation, the one that reschedules it is named (SC-192).
  const evalIds = evalIdsOf([
    ...out.followUps.cover(job, timeouts, 'max-disconnect-timeout', DISCONNECT_TIMEOUT),
    ...out.followUps.cover(job, later, 'alloc-reschedule', DELAYED_RESCHEDULE),
  ]);
  desired.RescheduleLater += later.length;
  desired.RescheduleNow = draft.rescheduleNow.length; // counted for the dry run (SC-177)
  desired.Disconnect += disconnecting.length;
  for (const alloc of disconnecting) out.rewrites.set(alloc.ID, asUnknown(alloc, input.nowNs, evalIds.get(alloc.ID)));
  // From here on they count in their new form.
  const stay = disconnecting.filter((alloc) => !now.has(alloc));
  buckets.untainted = [
    ...buckets.untainted,
    ...stay.map((alloc): Allocation => ({ ...alloc, ClientStatus: 'unknown' })),
  ];
}

/** Places that must stay empty because the agents of lost allocations stop them only later (SC-201 to SC-203). */
export interface LostWait {
  /** The follow-up evaluations of allocations that wait, by allocation. */
  readonly followups: ReadonlyMap<string, string>;
  /** Whether an allocation begins to wait: this attempt then places nothing of the group. */
  readonly delayed: boolean;
  /** Places of earlier stopped allocations that must stay empty for now. */
  readonly waiting: number;
}

export function waitForLost({ input, buckets, stored, job, out }: GroupDraft): LostWait {
  const { nowNs, evaluation } = input;
  const due = buckets.lost
    .map((alloc) => ({ alloc, atNs: replaceableFrom(alloc, nowNs) }))
    .filter(({ atNs }) => atNs > nowNs);
  let waiting = 0;
  for (const alloc of stored.values()) {
    const isGone = alloc.DesiredStatus === 'stop' && alloc.ClientStatus === 'lost' && alloc.NextAllocation === '';
    const waits = alloc.FollowupEvalID !== '' && alloc.FollowupEvalID !== evaluation.ID;
    if (isGone && waits && replaceableFrom(alloc, nowNs) > nowNs) waiting++;
  }
  const followups = evalIdsOf(out.followUps.cover(job, due, 'alloc-failure', DELAYED_RESCHEDULE));
  return { followups, delayed: due.length > 0, waiting };
}

export function stopLost(draft: GroupDraft, { followups }: LostWait): void {
  const { lost } = draft.buckets;
  draft.desired.Stop += lost.length;
  for (const alloc of lost) draft.out.stop(lostStop(alloc, draft.input.nowNs, followups.get(alloc.ID)));
}
