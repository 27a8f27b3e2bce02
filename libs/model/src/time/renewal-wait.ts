/** A token is renewed after this at the earliest (AU-153). */
export const MIN_RENEWAL_WAIT_MS = 10_000;
/** The random part is at most this part of the wait. */
const JITTER = 0.1;
const FIRST_RETRY_MS = 10_000;
const LONGEST_RETRY_MS = 3_600_000;
const RETRY_JITTER_MS = 10_000;

/**
 * How long something that expires is kept before it is renewed: half of the time that is left, and a random part of up to
 * a tenth of that half (AU-153).
 * @param leftMs zero or less: it has expired
 * @param random in [0, 1)
 */
export function renewalWaitMs(leftMs: number, random: number, minMs = MIN_RENEWAL_WAIT_MS): number {
  const waitMs = Math.max(leftMs / 2, minMs);
  return waitMs + waitMs * JITTER * random;
}

/** How long after the n-th failure in a row a renewal is tried again, n from 1 (AU-154). @param random in [0, 1) */
export const renewalRetryMs = (failures: number, random: number): number =>
  Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** failures) + RETRY_JITTER_MS * random;
