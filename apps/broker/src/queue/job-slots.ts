import { nsFromRfc3339, type Evaluation } from '@waybill/model';
import type { JobSlot, Tracked } from './tracked-evaluation.js';

/**
 * Which evaluation of each job has its turn: one at a time per namespace and job id (EB-52 to EB-55). A slot is here
 * while one of its evaluations holds it. Of those that wait only the newest will ever have a turn (EB-56), so they need
 * no order beyond which one that is. Nested maps: no key has to be put together. Cost: O(1).
 */
export class JobSlots {
  private slots = new Map<string, Map<string, JobSlot>>();
  private waiting = 0;

  /** Evaluations that wait for their job. */
  get pending(): number {
    return this.waiting;
  }

  /** True: it has its turn. False: it waits behind the one that has it. */
  enter(tracked: Tracked): boolean {
    const { Namespace: namespace, JobID: id } = tracked.evaluation;
    let ofNamespace = this.slots.get(namespace);
    if (!ofNamespace) this.slots.set(namespace, (ofNamespace = new Map()));
    const slot = ofNamespace.get(id);
    if (!slot) {
      tracked.job = {
        namespace,
        id,
        holder: tracked,
        passedAtMs: 0,
        dueNs: dueNsOf(tracked.evaluation),
        next: undefined,
        nextPriority: 0,
        nextModifyIndex: 0,
        older: undefined,
      };
      ofNamespace.set(id, tracked.job);
      return true;
    }
    tracked.job = slot;
    if (slot.holder === tracked) return true;
    slot.dueNs = Math.max(slot.dueNs, dueNsOf(tracked.evaluation));
    this.waitIn(slot, tracked);
    return false;
  }

  /** The turn is over: the newest that waits has the next one, and the others are handed over as superseded (EB-56). */
  pass(slot: JobSlot, supersede: (older: Tracked[]) => void): Tracked | undefined {
    const { next, older } = slot;
    if (!next) {
      this.free(slot);
      return undefined;
    }
    slot.holder = next;
    slot.next = undefined;
    slot.older = undefined;
    this.waiting -= 1 + (older?.length ?? 0);
    if (older) supersede(older);
    return next;
  }

  clear(): void {
    this.slots = new Map();
    this.waiting = 0;
  }

  private waitIn(slot: JobSlot, tracked: Tracked): void {
    this.waiting++;
    const { next } = slot;
    const isNewest = !next || isNewer(tracked, slot, next);
    if (isNewest) {
      slot.next = tracked;
      slot.nextPriority = tracked.evaluation.Priority;
      slot.nextModifyIndex = tracked.evaluation.ModifyIndex;
    }
    const older = isNewest ? next : tracked;
    if (!older) return;
    if (slot.older) slot.older.push(older);
    else slot.older = [older];
  }

  private free({ namespace, id }: JobSlot): void {
    const ofNamespace = this.slots.get(namespace);
    ofNamespace?.delete(id);
    if (ofNamespace?.size === 0) this.slots.delete(namespace);
  }
}

/** EB-34: with `Wait` the other does not count. */
const dueNsOf = ({ Wait, WaitUntil }: Evaluation): number =>
  Wait > 0 || WaitUntil === null ? 0 : nsFromRfc3339(WaitUntil);

/** EB-50: whether it comes before the newest so far. */
function isNewer({ evaluation }: Tracked, slot: JobSlot, next: Tracked): boolean {
  if (evaluation.Priority !== slot.nextPriority) return evaluation.Priority > slot.nextPriority;
  if (evaluation.ModifyIndex !== slot.nextModifyIndex) return evaluation.ModifyIndex > slot.nextModifyIndex;
  return evaluation.ID < next.evaluation.ID;
}
