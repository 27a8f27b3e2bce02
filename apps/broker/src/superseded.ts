import type { Tracked } from './tracked-evaluation.js';

/**
 * Evaluations that a newer one of their job has made needless, until they are written as canceled (section 5.10). Kept in
 * the groups in which they came, so that the ack that supersedes thousands costs no more than one that supersedes one.
 */
export class Superseded {
  /** Oldest first. */
  private groups: Tracked[][] = [];
  private count = 0;

  get size(): number {
    return this.count;
  }

  add(group: Tracked[]): void {
    if (group.length === 0) return;
    this.groups.push(group);
    this.count += group.length;
  }

  /** At most `max`, those of the oldest group first. O(taken). */
  take(max: number): Tracked[] {
    const taken: Tracked[] = [];
    for (let [group] = this.groups; group && taken.length < max; [group] = this.groups) {
      for (let next = group.pop(); next; next = taken.length < max ? group.pop() : undefined) {
        next.place = 'cancelable';
        taken.push(next);
      }
      if (group.length === 0) this.groups.shift();
    }
    this.count -= taken.length;
    return taken;
  }

  clear(): void {
    this.groups = [];
    this.count = 0;
  }
}
