/** The intervals of agent.md sections 5 and 27. */
export const REGISTRATION_RETRY_MS = 15_000;
export const REGISTRATION_RETRY_RANDOM_MS = 15_000;
export const NO_SERVER_RETRY_MS = 1_000;
export const FIRST_HEARTBEAT_RANDOM_MS = 10_000;
export const DEV_RETRY_MS = 1_000;
const MIN_RETRY_MS = 1_000;
const MAX_RETRY_MS = 30_000;
const JUST_MISSED_MS = 30_000;

export interface FailedHeartbeat {
  /** The time of the last successful heartbeat or registration; undefined if there was none. */
  readonly lastSuccessMs: number | undefined;
  /** The TTL in the last answer. */
  readonly ttlMs: number;
  readonly hasLeader: boolean;
}

/** Returns the milliseconds until a failed heartbeat is sent again (AG-34). @param random a number in [0, 1) */
export function retryAfterMs(failed: FailedHeartbeat, nowMs: number, random: number): number {
  if (failed.lastSuccessMs === undefined || !failed.hasLeader)
    return REGISTRATION_RETRY_MS + random * REGISTRATION_RETRY_RANDOM_MS;
  const leftMs = failed.lastSuccessMs + failed.ttlMs - nowMs;
  if (leftMs > 0) return clampRetry(random * leftMs);
  if (-leftMs <= JUST_MISSED_MS) return MIN_RETRY_MS + random * MIN_RETRY_MS;
  return clampRetry(random * -leftMs);
}

const clampRetry = (ms: number): number => Math.min(MAX_RETRY_MS, Math.max(MIN_RETRY_MS, ms));
