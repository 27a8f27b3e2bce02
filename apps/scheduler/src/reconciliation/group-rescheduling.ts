import type { Allocation } from '@waybill/model';
import { DELAYED_RESCHEDULE } from '../descriptions.js';
import type { GroupDraft } from './group-draft.js';
import { rescheduleVerdict } from './reschedule-filter.js';

/** SC-164 to SC-171: what failed is replaced now, later, or not. */
export function filterForRescheduling(draft: GroupDraft): void {
  const kept: Allocation[] = [];
  for (const alloc of draft.buckets.untainted) {
    const verdict = rescheduleVerdict(alloc, draft.view);
    if (verdict.kind === 'drop') continue;
    if (verdict.kind === 'now') {
      draft.rescheduleNow.push(alloc);
      if (alloc.ClientStatus === 'unknown') draft.staying.add(alloc.ID); // SC-194
      continue;
    }
    if (verdict.kind === 'later') draft.later.push({ alloc, atNs: verdict.atNs });
    kept.push(alloc);
  }
  draft.buckets.untainted = kept;
  if (draft.isBatch) for (const alloc of draft.buckets.migrate) rescheduleMigrating(draft, alloc);
}

/** SC-231: `alloc stop` of a batch job; it is stopped now, and replaced as its policy says. */
function rescheduleMigrating(draft: GroupDraft, alloc: Allocation): void {
  const verdict = rescheduleVerdict(alloc, draft.view);
  if (verdict.kind === 'later') draft.later.push({ alloc, atNs: verdict.atNs });
  if (verdict.kind !== 'now') return;
  draft.rescheduleNow.push(alloc);
  draft.staying.add(alloc.ID);
}

/** SC-173 to SC-177. */
export function delayReschedules({ out, job, later, desired }: GroupDraft): void {
  desired.RescheduleLater += later.length;
  const evalIds = out.followUps.cover(job, later, 'alloc-reschedule', DELAYED_RESCHEDULE);
  for (const { alloc } of later) {
    const FollowupEvalID = evalIds.get(alloc.ID) ?? '';
    // No job: it keeps the version it has (EB-340).
    out.rewrites.set(alloc.ID, { ...alloc, ...out.rewrites.get(alloc.ID), Job: null, FollowupEvalID });
  }
}
