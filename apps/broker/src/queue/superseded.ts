import type { Evaluation } from '@waybill/model';
import type { Tracked } from './tracked-evaluation.js';
import type { TrackedEvaluations } from './tracked-evaluations.js';

/**
 * Evaluations that a newer one of their job has made needless, until they are written as canceled (section 5.10). Taken
 * to be written, they stay tracked until they are forgotten, or put back because the write failed (EB-98, EB-338). Kept in
 * the groups in which they came, so that the ack that supersedes thousands costs no more than one that supersedes one.
 */
export class Superseded {
  /** Oldest first. */
  private groups: Tracked[][] = [];
  private count = 0;

  constructor(private readonly tracked: TrackedEvaluations) {}

  get size(): number {
    return this.count;
  }

  add(group: Tracked[]): void {
    if (group.length === 0) return;
    this.groups.push(group);
    this.count += group.length;
  }

  /** At most `max`, those of the oldest group first. O(taken). */
  take(max: number): Evaluation[] {
    const taken: Evaluation[] = [];
    for (let [group] = this.groups; group && taken.length < max; [group] = this.groups) {
      for (let next = group.pop(); next; next = taken.length < max ? group.pop() : undefined) {
        next.place = 'cancelable';
        taken.push(next.evaluation);
      }
      if (group.length === 0) this.groups.shift();
    }
    this.count -= taken.length;
    return taken;
  }

  /** They are written. */
  forget(evalIds: Iterable<string>): void {
    for (const tracked of this.taken(evalIds)) this.tracked.forget(tracked);
  }

  /** They could not be written: they are taken again. */
  putBack(evalIds: Iterable<string>): void {
    this.add([...this.taken(evalIds)]);
  }

  clear(): void {
    this.groups = [];
    this.count = 0;
  }

  /** Those that are still here: the broker may have been flushed meanwhile. */
  private *taken(evalIds: Iterable<string>): IterableIterator<Tracked> {
    for (const id of evalIds) {
      const tracked = this.tracked.get(id);
      if (tracked?.place === 'cancelable') yield tracked;
    }
  }
}
