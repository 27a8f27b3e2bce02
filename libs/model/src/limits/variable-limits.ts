import { NS_PER_HOUR, NS_PER_SECOND } from '../time/clock.js';

/** How much a variable may hold, and how long a lock of one lasts. All from the contract (OP-190, OP-191, OP-200). */

/** Characters of a path; all are ASCII. */
export const MAX_VARIABLE_PATH_CHARS = 128;
/** Bytes of all keys and values of a variable. */
export const MAX_VARIABLE_ITEMS_BYTES = 64 * 1_024;

/** A lock's TTL, and its delay, where its holder names none. */
export const DEFAULT_LOCK_TTL_NS = 15 * NS_PER_SECOND;
export const DEFAULT_LOCK_DELAY_NS = 15 * NS_PER_SECOND;
export const MIN_LOCK_TTL_NS = 10 * NS_PER_SECOND;
export const MAX_LOCK_TTL_NS = 24 * NS_PER_HOUR;
/** Waybill's own: a holder that falls silent must not keep others out for good. */
export const MAX_LOCK_DELAY_NS = 24 * NS_PER_HOUR;
