import type { Evaluation } from '@waybill/model';
import type { JobSlot, Tracked } from './tracked-evaluation.js';

/**
 * Which evaluation of each job has its turn: one at a time per namespace and job id (EB-52 to EB-55). A slot is here
 * while one of its evaluations holds it. Nested maps: no key has to be put together. Cost: O(1).
 */
export class JobSlots {
  private slots = new Map<string, Map<string, JobSlot>>();

  /** The slot of an evaluation's job; a new one is not entered before somebody holds it. */
  of({ Namespace: namespace, JobID: id }: Evaluation): JobSlot {
    return this.slots.get(namespace)?.get(id) ?? { namespace, id, holder: undefined, pending: undefined };
  }

  /** The slot of its job, held by it if the job was free. A delayed one may bring a slot that another has replaced. */
  hold(tracked: Tracked): JobSlot {
    const { namespace, id } = tracked.job;
    let ofNamespace = this.slots.get(namespace);
    if (!ofNamespace) this.slots.set(namespace, (ofNamespace = new Map()));
    const held = ofNamespace.get(id);
    if (held) tracked.job = held;
    else ofNamespace.set(id, tracked.job);
    tracked.job.holder ??= tracked;
    return tracked.job;
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
