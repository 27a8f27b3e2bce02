/**
 * Representation of time: instants are unix nanoseconds (made from milliseconds, so they print exactly although they
 * exceed 2^53), durations are nanoseconds, and RFC 3339 strings are used where the wire has a time type (API-13,
 * API-14).
 */
export interface Clock {
  /** Wall clock in unix milliseconds. */
  nowMs(): number;
}

export const NS_PER_MS = 1_000_000;
export const NS_PER_SECOND = 1_000_000_000;
export const NS_PER_MINUTE = 60 * NS_PER_SECOND;
export const NS_PER_HOUR = 60 * NS_PER_MINUTE;

/**
 * Whether an object made at `atMs` is younger than `ageMs`. A time in the future does not count as young, because the
 * clock was set back.
 */
export const isYounger = (atMs: number, nowMs: number, ageMs: number): boolean => nowMs >= atMs && nowMs - atMs < ageMs;

/** Milliseconds (unix time or duration) to nanoseconds. */
export function nsFromMs(ms: number): number {
  return Math.round(ms) * NS_PER_MS;
}

/**
 * Most inexactness of an instant, in ns. An instant made from milliseconds is off by up to 128 ns, and a sum with it by
 * as much again, because the numbers exceed 2^53.
 */
const INEXACT_NS = 500;

/** Converts nanoseconds (unix time or duration) to whole milliseconds, rounded down. It reverses `nsFromMs` exactly. */
export function msFromNs(ns: number): number {
  return Math.floor((ns + INEXACT_NS) / NS_PER_MS);
}

/** Converts unix nanoseconds to an RFC 3339 string in UTC. Zero is the zero time and becomes null (API-14). */
export function rfc3339FromNs(ns: number): string | null {
  return ns === 0 ? null : rfc3339FromMs(msFromNs(ns));
}

/** The last instant that a date can represent, in unix ms. The first one is its negative. */
const LAST_DATE_MS = 8_640_000_000_000_000;

/**
 * Converts unix milliseconds to an RFC 3339 string in UTC. A time outside the range of dates becomes the last or first
 * date, because a number from a client or an agent must not stop the process that applies it (ST-8).
 */
export function rfc3339FromMs(ms: number): string {
  return new Date(Math.max(-LAST_DATE_MS, Math.min(ms, LAST_DATE_MS))).toISOString();
}

/** Converts an RFC 3339 string to unix nanoseconds with millisecond precision. Null and an invalid text become 0. */
export function nsFromRfc3339(time: string | null): number {
  if (time === null) return 0;
  const ms = Date.parse(time);
  return Number.isNaN(ms) ? 0 : nsFromMs(ms);
}
