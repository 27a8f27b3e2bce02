import type { JobSlot, Tracked } from './tracked-evaluation.js';

/**
 * Which evaluation of each job has its turn: one at a time per namespace and job id (EB-52 to EB-55). A slot is here
 * while one of its evaluations holds it. Nested maps: no key has to be put together. Cost: O(1).
 */
export class JobSlots {
  private slots = new Map<string, Map<string, JobSlot>>();

  /** The slot of its job, held by it if the job was free. */
  hold(tracked: Tracked): JobSlot {
    const { Namespace: namespace, JobID: id } = tracked.evaluation;
    let ofNamespace = this.slots.get(namespace);
    if (!ofNamespace) this.slots.set(namespace, (ofNamespace = new Map()));
    let slot = ofNamespace.get(id);
    if (!slot) ofNamespace.set(id, (slot = { namespace, id, holder: undefined, pending: undefined }));
    slot.holder ??= tracked;
    tracked.job = slot;
    return slot;
  }

  /** Nothing of the job is left. */
  free({ namespace, id }: JobSlot): void {
    const ofNamespace = this.slots.get(namespace);
    ofNamespace?.delete(id);
    if (ofNamespace?.size === 0) this.slots.delete(namespace);
  }

  clear(): void {
    this.slots = new Map();
  }
}
