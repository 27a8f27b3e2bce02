/** Shortest wait before a token is renewed (AU-153). */
export const MIN_RENEWAL_WAIT_MS = 10_000;
/** Largest share of the wait that is random. */
const JITTER = 0.1;
const FIRST_RETRY_MS = 10_000;
const LONGEST_RETRY_MS = 3_600_000;
const RETRY_JITTER_MS = 10_000;

/**
 * Returns how long to wait before a token is renewed: half of its remaining time, and a random part of up to a tenth of
 * that half (AU-153).
 * @param leftMs remaining time; zero or less if the token has expired
 * @param random in [0, 1)
 */
export function renewalWaitMs(leftMs: number, random: number, minMs = MIN_RENEWAL_WAIT_MS): number {
  const waitMs = Math.max(leftMs / 2, minMs);
  return waitMs + waitMs * JITTER * random;
}

/**
 * Returns the wait before a renewal is retried after the n-th failure in a row, n from 1 (AU-154). @param random in [0,
 * 1)
 */
export const renewalRetryMs = (failures: number, random: number): number =>
  Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** failures) + RETRY_JITTER_MS * random;
