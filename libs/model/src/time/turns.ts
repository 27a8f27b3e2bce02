/**
 * Runs one piece of work at a time for each key, in order of arrival. Keys do not wait for each other. Memory: the keys
 * with work in progress.
 */
export class Turns {
  private readonly last = new Map<string, Promise<unknown>>();

  /** Number of keys with work in progress. */
  get size(): number {
    return this.last.size;
  }

  /** Runs `work` once the earlier work of this key has ended, successfully or not. */
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
