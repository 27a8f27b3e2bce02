const FIRST_DELAY_MS = 100;
const LONGEST_DELAY_MS = 5_000;
/**
 * The time in milliseconds after which a run counts as healthy. After a healthy run the next crash starts from the
 * first delay again.
 */
const HEALTHY_AFTER_MS = 10_000;

/** Returns the milliseconds to wait before the next start, after `failures` runs in a row that ended early. */
export function restartDelayMs(failures: number): number {
  return Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.max(0, failures - 1));
}

/** Returns the number of early endings in a row, after a run that lasted `ranMs`. */
export function failuresAfter(previous: number, ranMs: number): number {
  return ranMs >= HEALTHY_AFTER_MS ? 1 : previous + 1;
}
