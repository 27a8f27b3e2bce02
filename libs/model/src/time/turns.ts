/**
 * One piece of work at a time for each key, in the order in which they came; keys do not wait for each other.
 * Memory: the keys that are worked on.
 */
export class Turns {
  private readonly last = new Map<string, Promise<unknown>>();

  /** Keys with work in progress. */
  get size(): number {
    return this.last.size;
  }

  /** Runs `work` when the earlier ones of this key have ended, however they did; at once if there are none. */
  async runInTurn<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.last.get(key);
    const mine = before ? before.then(work, work) : work();
    this.last.set(key, mine);
    try {
      return await mine;
    } finally {
      if (this.last.get(key) === mine) this.last.delete(key);
    }
  }
}
