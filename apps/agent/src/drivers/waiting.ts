export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** The interval in milliseconds between two looks. */
const LOOK_MS = 10;

/** Polls `look` and returns its first defined answer, or undefined after `timeoutMs`. */
export async function pollUntilDefined<T>(
  look: () => Promise<T | undefined>,
  timeoutMs: number,
): Promise<T | undefined> {
  for (const deadline = performance.now() + timeoutMs; ;) {
    const found = await look();
    if (found !== undefined || performance.now() >= deadline) return found;
    await pause(LOOK_MS);
  }
}

/** Says whether the promise settles within `ms`. @throws its error if it rejects by then */
export async function settlesWithin(settled: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => (timer = setTimeout(() => resolve(false), ms)));
  try {
    return await Promise.race([settled.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}
