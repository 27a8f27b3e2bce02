const MS_PER_SECOND = 1_000;

/** A time in the API: unix nanoseconds, RFC 3339, or nothing. */
export type ApiTime = number | string | null | undefined;

/**
 * One day before the last instant of a date, so it is valid in any zone, in unix ms. A later time is shown as this one.
 */
const LAST_SHOWN_MS = 8_639_999_913_600_000;

/**
 * Converts to unix milliseconds, at most LAST_SHOWN_MS. Returns undefined for no time, zero or a time before the epoch.
 */
export function msOf(time: ApiTime): number | undefined {
  if (time === null || time === undefined || time === '') return undefined;
  const ms = typeof time === 'number' ? time / 1e6 : Date.parse(time);
  return Number.isFinite(ms) && ms > 0 ? Math.min(ms, LAST_SHOWN_MS) : undefined;
}

/** Formats as RFC 3339 in the local zone, cut to whole seconds. Empty for no time (CL-141). */
export function absoluteTime(time: ApiTime): string {
  const ms = msOf(time);
  return ms === undefined ? '' : rfc3339(ms);
}

/** Formats unix milliseconds as RFC 3339 in the local zone. */
export function rfc3339(ms: number): string {
  const seconds = Math.floor(ms / MS_PER_SECOND) * MS_PER_SECOND;
  const offset = -new Date(seconds).getTimezoneOffset();
  const local = new Date(seconds + offset * 60_000).toISOString().slice(0, -'.000Z'.length);
  if (offset === 0) return `${local}Z`;
  const part = (n: number) => String(Math.floor(n)).padStart(2, '0');
  return `${local}${offset < 0 ? '-' : '+'}${part(Math.abs(offset) / 60)}:${part(Math.abs(offset) % 60)}`;
}

const UNITS: readonly (readonly [string, number])[] = [
  ['y', 12 * 30 * 86_400],
  ['mo', 30 * 86_400],
  ['d', 86_400],
  ['h', 3_600],
  ['m', 60],
  ['s', 1],
];

/** Formats `12m20s ago` or `6h from now`: the two largest units that are not zero. Empty for no time (CL-142). */
export function relativeTime(time: ApiTime, nowMs: number): string {
  const ms = msOf(time);
  if (ms === undefined) return '';
  const seconds = Math.round(nowMs / MS_PER_SECOND) - Math.round(ms / MS_PER_SECOND);
  const parts: string[] = [];
  let left = Math.abs(seconds);
  for (const [unit, size] of UNITS) {
    const n = Math.floor(left / size);
    left -= n * size;
    if (n > 0 && parts.length < 2) parts.push(`${n}${unit}`);
  }
  return `${parts.join('') || '0s'} ${seconds < 0 ? 'from now' : 'ago'}`;
}
