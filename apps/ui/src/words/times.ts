const NS_PER_MS = 1e6;
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Converts a time of the API: Unix nanoseconds, RFC 3339, or none. @returns Unix milliseconds */
export function millisecondsOf(time: number | string | null | undefined): number | undefined {
  if (time === null || time === undefined || time === 0 || time === '') return undefined;
  const ms = typeof time === 'number' ? time / NS_PER_MS : Date.parse(time);
  return Number.isNaN(ms) ? undefined : ms;
}

/** Returns a duration in its two largest units: `3 h 12 min`, `12 s`, `0.4 s`. */
export function lengthInWords(ms: number): string {
  const units = [
    [DAY, 'd'],
    [HOUR, 'h'],
    [MINUTE, 'min'],
    [SECOND, 's'],
  ] as const;
  const at = units.findIndex(([size]) => ms >= size);
  if (at < 0) return ms < 50 ? '0 s' : `${(ms / SECOND).toFixed(1)} s`;
  const [size, name] = units[at] ?? [SECOND, 's'];
  const next = units[at + 1];
  const rest = next && Math.floor((ms % size) / next[0]);
  const first = `${Math.floor(ms / size)} ${name}`;
  return next && rest !== undefined && rest > 0 ? `${first} ${rest} ${next[1]}` : first;
}

/** Returns the distance of a time from now in one unit: `12 s ago`, `in 3 min`. */
export function distanceInWords(fromMs: number, nowMs: number): string {
  const ms = Math.abs(nowMs - fromMs);
  const size = ms >= DAY ? DAY : ms >= HOUR ? HOUR : ms >= MINUTE ? MINUTE : SECOND;
  const words = lengthInWords(Math.floor(ms / size) * size);
  if (ms < SECOND) return 'just now';
  return fromMs <= nowMs ? `${words} ago` : `in ${words}`;
}

/** Returns the whole time in the reader's zone, to the millisecond. */
export const exactTime = (ms: number): string => {
  const date = new Date(ms);
  const day = date.toLocaleDateString('en-CA');
  const time = date.toLocaleTimeString('en-GB', { hour12: false });
  const zone = /GMT[^)]*$/.exec(date.toString().replace(/ \(.*/, ''))?.[0] ?? '';
  return `${day} ${time}.${String(Math.floor(date.getMilliseconds())).padStart(3, '0')} ${zone}`;
};
