import type { Allocation } from '@waybill/model';
import { NOT_NEEDED } from '../descriptions.js';
import type { GroupDraft } from './group-draft.js';
import { NameIndex } from './name-index.js';

/** Stops allocations beyond `Count`, in the order of SC-210 (SC-209 to SC-214). */
export function stopSurplus(draft: GroupDraft, names: NameIndex): void {
  const { buckets, canaries, group, job } = draft;
  const held = draft.isCanarying ? buckets.untainted.filter(({ ID }) => canaries.has(ID)) : [];
  const inHold = new Set(held.map(({ ID }) => ID));
  // Of two allocations with one name, the one that is not unknown stops first.
  let candidates = buckets.untainted
    .filter(({ ID }) => !inHold.has(ID))
    .toSorted((a, b) => Number(a.ClientStatus === 'unknown') - Number(b.ClientStatus === 'unknown'));
  const known = candidates.filter((a) => a.ClientStatus !== 'unknown').length;
  let surplus = Math.max(0, known + buckets.migrate.length - group.Count);
  if (surplus === 0) return; // most often
  const stopWhere = (from: readonly Allocation[], chosen: (alloc: Allocation) => boolean): Allocation[] =>
    from.filter((alloc) => {
      if (surplus === 0 || !chosen(alloc)) return true;
      surplus--;
      draft.desired.Stop++;
      draft.stopAs(alloc, NOT_NEEDED); // unless it was stopped before (SC-211)
      names.release(alloc.Name);
      return false;
    });
  if (!draft.isCanarying) {
    const replaced = new Set([...canaries.values()].map(({ Name }) => Name));
    candidates = stopWhere(candidates, ({ ID, Name }) => replaced.has(Name) && !canaries.has(ID));
  }
  const migrating = new NameIndex(job.ID, group.Name, group.Count, buckets.migrate).highest(surplus);
  buckets.migrate = stopWhere(buckets.migrate, ({ Name }) => migrating.has(Name));
  const highest = names.highest(surplus);
  candidates = stopWhere(candidates, ({ Name }) => highest.has(Name));
  candidates = stopWhere(candidates, () => true);
  const left = new Set([...candidates, ...held].map(({ ID }) => ID));
  buckets.untainted = buckets.untainted.filter(({ ID }) => left.has(ID));
}
