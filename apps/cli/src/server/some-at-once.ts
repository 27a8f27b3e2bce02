/** Number of requests of one run at the same time. Each has its own connection. */
export const AT_ONCE = 8;

/**
 * Maps items with at most AT_ONCE calls at a time. The results are in order, as with `Promise.all`. @throws the first
 * error
 */
export async function someAtOnce<T, R>(items: readonly T[], each: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const queue = items.entries();
  const working = async (): Promise<void> => {
    for (const [at, item] of queue) results[at] = await each(item);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, working));
  return results;
}
