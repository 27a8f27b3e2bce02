import type { Allocation } from '@waybill/model';
import { DELAYED_RESCHEDULE } from '../descriptions.js';
import type { GroupDraft } from './group-draft.js';
import { rescheduleVerdict } from './reschedule-filter.js';

/** Decides for each failed allocation whether it is replaced now, later, or not (SC-164 to SC-171). */
export function filterForRescheduling(draft: GroupDraft): void {
  const kept: Allocation[] = [];
  for (const alloc of draft.buckets.untainted) {
    const verdict = rescheduleVerdict(alloc, draft.view);
    if (verdict.kind === 'drop') continue;
    if (verdict.kind === 'now') {
      draft.rescheduleNow.push(alloc);
      // It is not stopped, because it may reconnect (SC-194).
      if (alloc.ClientStatus === 'unknown') draft.staying.add(alloc.ID);
      continue;
    }
    if (verdict.kind === 'later') draft.later.push({ alloc, atNs: verdict.atNs });
    kept.push(alloc);
  }
  draft.buckets.untainted = kept;
  if (draft.isBatch) for (const alloc of draft.buckets.migrate) rescheduleMigrating(draft, alloc);
}

/** Handles `alloc stop` of a batch job: the allocation is stopped now, and replaced as its policy says (SC-231). */
function rescheduleMigrating(draft: GroupDraft, alloc: Allocation): void {
  const verdict = rescheduleVerdict(alloc, draft.view);
  if (verdict.kind === 'later') draft.later.push({ alloc, atNs: verdict.atNs });
  if (verdict.kind !== 'now') return;
  draft.rescheduleNow.push(alloc);
  draft.staying.add(alloc.ID);
}

/** Creates the follow-up evaluations of delayed replacements (SC-173 to SC-177). */
export function delayReschedules({ out, job, later, desired }: GroupDraft): void {
  desired.RescheduleLater += later.length;
  // The rewrite carries no job, so the allocation keeps its version (EB-340).
  for (const { alloc, evalId } of out.followUps.cover(job, later, 'alloc-reschedule', DELAYED_RESCHEDULE))
    out.rewrites.set(alloc.ID, { ...alloc, ...out.rewrites.get(alloc.ID), Job: null, FollowupEvalID: evalId });
}
