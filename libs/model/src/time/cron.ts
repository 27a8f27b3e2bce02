import { Cron } from 'croner';
import type { PeriodicConfig } from '../jobs/job.js';
import { DAY_MS, ZoneClock } from './zone-clock.js';

/** The text is not a valid schedule. */
export class CronSpecError extends Error {
  override readonly name = 'CronSpecError';
  constructor(
    readonly spec: string,
    why: string,
  ) {
    super(`Invalid cron spec "${spec}": ${why}`);
  }
}

/** @throws CronSpecError */
export function checkCron(spec: string): void {
  scheduleOf(spec);
}

/**
 * Returns the first time after `afterMs` at which one of the block's schedules is due in its time zone, or undefined if
 * there is none. The time is in unix milliseconds and always a whole second.
 * @throws CronSpecError
 */
export function nextLaunchMs(periodic: PeriodicConfig, afterMs: number): number | undefined {
  const zone = zoneOf(periodic);
  let first: number | undefined;
  for (const spec of specsOf(periodic)) {
    const next = nextOf(scheduleOf(spec), zone, afterMs);
    if (next !== undefined && (first === undefined || next < first)) first = next;
  }
  return first;
}

/**
 * Formats a launch as RFC 3339 in whole seconds, with the offset of the block's time zone at that time. A schedule
 * refers to the clock of that zone.
 */
export function launchTimeText(periodic: PeriodicConfig, launchMs: number): string {
  const offsetMs = new ZoneClock(zoneOf(periodic)).offsetMs(launchMs);
  const local = new Date(launchMs + offsetMs).toISOString().slice(0, 19);
  if (offsetMs === 0) return `${local}Z`;
  const minutes = Math.abs(offsetMs) / 60_000;
  const part = (amount: number): string => String(Math.floor(amount)).padStart(2, '0');
  return `${local}${offsetMs < 0 ? '-' : '+'}${part(minutes / 60)}:${part(minutes % 60)}`;
}

/** Returns the IANA name of the time zone, or undefined for the machine's own zone. */
const zoneOf = ({ TimeZone }: PeriodicConfig): string | undefined =>
  TimeZone === 'Local' ? undefined : TimeZone || 'UTC';

export const specsOf = ({ Spec, Specs }: PeriodicConfig): readonly string[] => Specs ?? (Spec === '' ? [] : [Spec]);

interface Schedule {
  /**
   * Returns the first matching clock reading after another one. Both are unix milliseconds as if the clock showed UTC.
   */
  readonly nextReading: (afterMs: number) => number | undefined;
  /** The hour is `*` or a step of it. Such a schedule continues while the clock repeats an hour. */
  readonly everyHour: boolean;
}

const SHORTHANDS: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
};
const LONG_NAMES = new Set(
  (
    'january february march april may june july august september october november december ' +
    'sunday monday tuesday wednesday thursday friday saturday'
  ).split(' '),
);
/**
 * Last year of schedules. The library searches by recursion: without this end, a schedule that is never due, such as
 * the 31st of short months, would overflow the stack on its way to the year 10000.
 */
const LAST_YEAR = 2099;
const YEARS = `1970-${LAST_YEAR}`;
/** One item of a field's list. The library would accept other texts and, for example, never find a time for `5*`. */
const ITEM =
  /^(?:\*(?:\/\d{1,4})?|(?:\d{1,4}|[a-z]{3})(?:-(?:\d{1,4}|[a-z]{3}))?(?:\/\d{1,4})?|\d{1,2}W|LW?|(?:\d|[a-z]{3})(?:L|#[\dL]))$/i;
/** Least and greatest number of each field, from seconds on. The library does not check the start of a step. */
const BOUNDS = [
  [0, 59],
  [0, 59],
  [0, 23],
  [1, 31],
  [1, 12],
  [0, 7],
  [1970, LAST_YEAR],
] as const;

/**
 * Parses a schedule. Five fields start with the minute. Of six fields the last is the year, as in existing schedules
 * (the library would expect seconds first). Seven fields start with the second. `?` becomes `*`, because the library
 * would treat it as a restriction, and a schedule that restricts only one of the two days would match either.
 */
function scheduleOf(spec: string): Schedule {
  const given = spec.trim();
  const fields = (SHORTHANDS[given.toLowerCase()] ?? given).split(/\s+/).map(fieldOf);
  if (fields.length < 5 || fields.length > 7) throw new CronSpecError(spec, 'five to seven fields are needed');
  const [second = '0', minute, hour = '', day, month, weekday, year = '*'] =
    fields.length === 7 ? fields : ['0', ...fields];
  const all = [second, minute, hour, day, month, weekday, year];
  const pattern = [...all.slice(0, -1), withEnd(year)].join(' ');
  if (/(?:^|[\s,])\//.test(pattern)) throw new CronSpecError(spec, 'a step needs what it starts from');
  const unclear = all.flatMap((field = '') => field.replace(/^\+/, '').split(',')).find((item) => !ITEM.test(item));
  if (unclear !== undefined) throw new CronSpecError(spec, `"${unclear}" is no time`);
  for (const [i, [least, most]] of BOUNDS.entries())
    for (const [, start] of (all[i] ?? '').matchAll(/(?:^|,)(\d+)\//g))
      if (Number(start) < least || Number(start) > most)
        throw new CronSpecError(spec, `a step starts at ${start}, which is not within ${least} to ${most}`);
  try {
    const cron = new Cron(pattern, { timezone: 'UTC', sloppyRanges: true });
    return {
      nextReading: (afterMs) => cron.nextRun(new Date(afterMs))?.getTime(),
      everyHour: hour.startsWith('*'),
    };
  } catch (error) {
    throw new CronSpecError(spec, error instanceof Error ? error.message : String(error));
  }
}

/** Adds the last year to ranges of years without an end. */
const withEnd = (years: string): string =>
  years.replace(/^\*(?=$|\/)/, YEARS).replaceAll(/(^|,)(\d+)(?=\/)/g, `$1$2-${LAST_YEAR}`);

const fieldOf = (field: string): string =>
  field
    .replace(/^\?/, '*')
    .replace(/[a-z]+/gi, (word) => (LONG_NAMES.has(word.toLowerCase()) ? word.slice(0, 3) : word));

function nextOf(schedule: Schedule, zone: string | undefined, afterMs: number): number | undefined {
  if (zone === 'UTC') return schedule.nextReading(afterMs);
  const clock = new ZoneClock(zone);
  return schedule.everyHour ? nextRead(schedule, clock, afterMs) : nextNamed(schedule, clock, afterMs);
}

/**
 * Finds the next moment at which the clock shows a matching reading. A repeated hour has such moments twice, and a
 * skipped hour has none.
 */
function nextRead(schedule: Schedule, clock: ZoneClock, afterMs: number): number | undefined {
  for (let fromMs = afterMs; ;) {
    const offset = clock.offsetMs(fromMs);
    const reading = schedule.nextReading(fromMs + offset);
    if (reading === undefined) return undefined;
    const momentMs = reading - offset;
    const changeMs = clock.changeWithin(fromMs, Math.min(momentMs, fromMs + DAY_MS));
    if (changeMs !== undefined) {
      const shown = changeMs + clock.offsetMs(changeMs);
      if (schedule.nextReading(shown - 1) === shown) return changeMs;
      fromMs = changeMs;
    } else if (momentMs <= fromMs + DAY_MS) {
      return momentMs;
    } else {
      // A reading that the clock repeats on the way would have been found before.
      fromMs = momentMs - DAY_MS / 2;
    }
  }
}

/**
 * Finds the next moment of a schedule that names its hours. Each comes once a day: the first time in a repeated hour,
 * and later in a skipped one.
 */
function nextNamed(schedule: Schedule, clock: ZoneClock, afterMs: number): number | undefined {
  for (
    let reading = schedule.nextReading(afterMs + clock.leastOffsetMs(afterMs));
    reading !== undefined;
    reading = schedule.nextReading(reading)
  ) {
    const momentMs = clock.momentOf(reading);
    if (momentMs > afterMs) return momentMs;
  }
  return undefined;
}
