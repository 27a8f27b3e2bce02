/** Runs begun before the first of them has been told, per worker: one long run does not keep the others waiting. */
export const AHEAD = 4;

/** Runs one seed; not asked for another before that is done. */
export type Worker<T> = (seed: number) => Promise<T>;

/**
 * Gives seeds to whichever worker is idle, and tells what they came to in the order of the seeds, however many workers
 * there are. Memory: workers × AHEAD outcomes. @throws what the worker of the seed whose turn it is throws
 */
export async function* inOrder<T>(seeds: Iterable<number>, workers: readonly Worker<T>[]): AsyncGenerator<T> {
  const idle = [...workers];
  const waiting: ((worker: Worker<T>) => void)[] = [];
  const free = (): Promise<Worker<T>> =>
    new Promise((resolve) => {
      const worker = idle.pop();
      if (worker) resolve(worker);
      else waiting.push(resolve);
    });
  const run = async (seed: number): Promise<T> => {
    const worker = await free();
    const outcome = await worker(seed);
    const next = waiting.shift();
    if (next) next(worker);
    else idle.push(worker);
    return outcome;
  };
  const begun: Promise<T>[] = [];
  for (const seed of seeds) {
    const outcome = run(seed);
    outcome.catch(() => {}); // told when its turn comes
    begun.push(outcome);
    const first = begun.length < workers.length * AHEAD ? undefined : begun.shift();
    if (first) yield await first;
  }
  for (const outcome of begun) yield await outcome;
}
