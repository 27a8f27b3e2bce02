/** How often a condition is looked at. */
const POLL_MS = 20;

/**
 * Waits until `condition` gives something other than undefined, null or false, and returns it.
 * @throws with `what` and the last failure after `deadlineMs`
 */
export async function eventually<T>(
  what: string,
  condition: () => Promise<T | undefined | null | false> | T | undefined | null | false,
  deadlineMs = 20_000,
): Promise<T> {
  const until = performance.now() + deadlineMs;
  let last: unknown;
  for (;;) {
    try {
      const value = await condition();
      if (value !== undefined && value !== null && value !== false) return value;
      last = value;
    } catch (error) {
      last = error;
    }
    if (performance.now() > until) throw new Error(`not in ${deadlineMs} ms: ${what} (last: ${String(last)})`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}
