import { NS_PER_HOUR, NS_PER_SECOND } from '../time/clock.js';

/**
 * Limits of variables and their locks. All come from the contract (OP-190, OP-191, OP-200) except MAX_LOCK_DELAY_NS.
 */

/** Characters of a path; all are ASCII. */
export const MAX_VARIABLE_PATH_CHARS = 128;
/** Bytes of all keys and values of a variable. */
export const MAX_VARIABLE_ITEMS_BYTES = 64 * 1_024;

/** Defaults for the TTL and the delay of a lock. */
export const DEFAULT_LOCK_TTL_NS = 15 * NS_PER_SECOND;
export const DEFAULT_LOCK_DELAY_NS = 15 * NS_PER_SECOND;
export const MIN_LOCK_TTL_NS = 10 * NS_PER_SECOND;
export const MAX_LOCK_TTL_NS = 24 * NS_PER_HOUR;
/** Waybill's own limit: a holder that falls silent must not keep others out for good. */
export const MAX_LOCK_DELAY_NS = 24 * NS_PER_HOUR;
