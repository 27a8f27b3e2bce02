/** Waiting is a change that has not begun. */
interface Waiting {
  readonly keys: () => readonly string[];
  readonly begin: (keys: readonly string[]) => void;
}

/**
 * NetworkTurns lets changes of the machine's networks run side by side, up to a limit (NW-45).
 *
 * Changes with a common key run one at a time, in order of arrival. Other changes need not wait for them, but a change
 * never overtakes an earlier one with a common key. Keys are asked for each time the change could begin, because they
 * may become fewer while it waits. Cost of an end: O(waiting changes). Memory: the waiting changes.
 */
export class NetworkTurns {
  /** In order of arrival. */
  private readonly waiting = new Set<Waiting>();
  private readonly held = new Set<string>();
  private running = 0;

  /** @param limit the number of changes that run at the same time, at least 1 */
  constructor(private readonly limit: number) {}

  /** Runs `work` when its turn comes. @throws any error of `work` */
  runInTurn<T>(keys: () => readonly string[], work: () => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const begin = (mine: readonly string[]): void => {
        const end = (): void => {
          this.running--;
          for (const key of mine) this.held.delete(key);
          this.beginWaiting();
        };
        work().then(resolve, reject).finally(end);
      };
      this.waiting.add({ keys, begin });
      this.beginWaiting();
    });
  }

  private beginWaiting(): void {
    const taken = new Set(this.held);
    for (const next of this.waiting) {
      if (this.running >= this.limit) return;
      const keys = next.keys();
      const isFree = !keys.some((key) => taken.has(key));
      for (const key of keys) taken.add(key);
      if (!isFree) continue;
      this.waiting.delete(next);
      for (const key of keys) this.held.add(key);
      this.running++;
      next.begin(keys);
    }
  }
}
