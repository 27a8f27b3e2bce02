/** Of one run, on their way at the same time: a connection each. */
export const AT_ONCE = 8;

/** What comes of each, in their order, as `Promise.all` gives it. @throws what the first one fails with */
export async function someAtOnce<T, R>(items: readonly T[], each: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const queue = items.entries();
  const working = async (): Promise<void> => {
    for (const [at, item] of queue) results[at] = await each(item);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, working));
  return results;
}
