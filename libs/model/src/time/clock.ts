/**
 * Time as Waybill keeps it: instants in unix nanoseconds (numbers made from milliseconds, so they print exactly although
 * they exceed 2^53), durations in nanoseconds, and RFC 3339 strings where the wire has a time type (API-13, API-14).
 */
export interface Clock {
  /** Wall clock in unix milliseconds. */
  nowMs(): number;
}

export const NS_PER_MS = 1_000_000;
export const NS_PER_SECOND = 1_000_000_000;
export const NS_PER_MINUTE = 60 * NS_PER_SECOND;
export const NS_PER_HOUR = 60 * NS_PER_MINUTE;

/** Whether what was made at `atMs` is younger than `ageMs`. Of a time that is still to come, as the clock was set back, it is not. */
export const isYounger = (atMs: number, nowMs: number, ageMs: number): boolean => nowMs >= atMs && nowMs - atMs < ageMs;

/** Milliseconds (unix time or duration) to nanoseconds. */
export function nsFromMs(ms: number): number {
  return Math.round(ms) * NS_PER_MS;
}

/** An instant made from milliseconds is off by up to 128 ns, a sum with it by as much again: numbers beyond 2^53. */
const INEXACT_NS = 500;

/** Nanoseconds (unix time or duration) to whole milliseconds, rounded down; back from `nsFromMs` it is what it was. */
export function msFromNs(ns: number): number {
  return Math.floor((ns + INEXACT_NS) / NS_PER_MS);
}

/** Unix nanoseconds to an RFC 3339 string in UTC; zero is the zero time, which is null (API-14). */
export function rfc3339FromNs(ns: number): string | null {
  return ns === 0 ? null : rfc3339FromMs(msFromNs(ns));
}

/** The last instant that a date holds, and by its sign the first, unix ms. */
const LAST_DATE_MS = 8_640_000_000_000_000;

/**
 * Unix milliseconds to an RFC 3339 string in UTC. What no date holds is written as the last or first one: a number that a
 * client or an agent sent must not stop who applies it (ST-8).
 */
export function rfc3339FromMs(ms: number): string {
  return new Date(Math.max(-LAST_DATE_MS, Math.min(ms, LAST_DATE_MS))).toISOString();
}

/** RFC 3339 string to unix nanoseconds (millisecond precision); null and an unreadable text are 0. */
export function nsFromRfc3339(time: string | null): number {
  if (time === null) return 0;
  const ms = Date.parse(time);
  return Number.isNaN(ms) ? 0 : nsFromMs(ms);
}
