export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** How often something is looked at again that will be there soon. */
const LOOK_MS = 10;

/** The first answer that is one, or undefined after `timeoutMs`. */
export async function until<T>(look: () => Promise<T | undefined>, timeoutMs: number): Promise<T | undefined> {
  for (const deadline = performance.now() + timeoutMs; ;) {
    const found = await look();
    if (found !== undefined || performance.now() >= deadline) return found;
    await pause(LOOK_MS);
  }
}

/** True if it is settled within `ms`. */
export async function within(settled: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => (timer = setTimeout(() => resolve(false), ms)));
  try {
    return await Promise.race([settled.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}
