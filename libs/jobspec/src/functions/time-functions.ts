import { DurationError, parseDurationText } from '../decoding/duration-text.js';
import { FunctionError, type LanguageFunction } from './function-table.js';
import { of, str, textOf } from './parameters.js';

const RFC_3339 = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(\.\d+)?(Z|[+-]\d\d:\d\d)$/u;
const NS_PER_MS = 1_000_000;

export const TIME_FUNCTIONS: Readonly<Record<string, LanguageFunction>> = {
  formatdate: of([str('format'), str('time')], ([format, time]) => formatted(textOf(format), parsed(textOf(time)))),
  timeadd: of([str('timestamp'), str('duration')], ([time, duration]) => later(parsed(textOf(time)), textOf(duration))),
};

/** A parsed time, with its fields in its own zone. */
interface Moment {
  /** The fields as if they were UTC. */
  readonly local: Date;
  /** `Z`, or an offset such as `+01:00`. */
  readonly zone: string;
}

function parsed(text: string): Moment {
  const zone = RFC_3339.exec(text)?.[8];
  const local = new Date(zone === undefined ? Number.NaN : `${text.slice(0, -zone.length)}Z`);
  // Date would accept the 30th of February as the 2nd of March, and hour 24 as the next day.
  const isDate = !Number.isNaN(local.getTime()) && local.toISOString().startsWith(text.slice(0, 19));
  if (zone === undefined || !isDate) throw new FunctionError(`not a valid RFC3339 timestamp: ${JSON.stringify(text)}`);
  return { local, zone };
}

function later({ local, zone }: Moment, duration: string): string {
  try {
    const moved = new Date(local.getTime() + parseDurationText(duration) / NS_PER_MS);
    if (Number.isNaN(moved.getTime())) throw new FunctionError('the resulting time is out of range');
    const milliseconds = moved.getUTCMilliseconds();
    const fraction = milliseconds === 0 ? '' : `.${String(milliseconds).padStart(3, '0').replace(/0+$/u, '')}`;
    return `${moved.toISOString().slice(0, 19)}${fraction}${zone}`;
  } catch (error) {
    if (error instanceof DurationError) throw new FunctionError(error.message);
    throw error;
  }
}

const LETTERS = /'((?:[^']|'')*)'|([A-Za-z])\2*|[^]/gu;
const MONTHS = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
];
const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];

function formatted(format: string, moment: Moment): string {
  return format.replaceAll(LETTERS, (token: string, literal: string | undefined, letter: string | undefined) => {
    if (literal !== undefined) return literal.replaceAll("''", "'");
    return letter === undefined ? token : fieldOf(token, moment);
  });
}

function fieldOf(token: string, { local, zone }: Moment): string {
  const two = (number: number): string => String(number).padStart(2, '0');
  const hour = local.getUTCHours();
  const fields: Readonly<Record<string, string>> = {
    YYYY: String(local.getUTCFullYear()).padStart(4, '0'),
    YY: two(local.getUTCFullYear() % 100),
    MMMM: MONTHS[local.getUTCMonth()] ?? '',
    MMM: (MONTHS[local.getUTCMonth()] ?? '').slice(0, 3),
    MM: two(local.getUTCMonth() + 1),
    M: String(local.getUTCMonth() + 1),
    DD: two(local.getUTCDate()),
    D: String(local.getUTCDate()),
    EEEE: DAYS[local.getUTCDay()] ?? '',
    EEE: (DAYS[local.getUTCDay()] ?? '').slice(0, 3),
    hh: two(hour),
    h: String(hour),
    HH: two(hour % 12 || 12),
    H: String(hour % 12 || 12),
    AA: hour < 12 ? 'AM' : 'PM',
    aa: hour < 12 ? 'am' : 'pm',
    mm: two(local.getUTCMinutes()),
    m: String(local.getUTCMinutes()),
    ss: two(local.getUTCSeconds()),
    s: String(local.getUTCSeconds()),
    ZZZZZ: zone === 'Z' ? '+00:00' : zone,
    ZZZZ: zone === 'Z' ? '+0000' : zone.replace(':', ''),
    ZZZ: zone === 'Z' ? 'UTC' : zone.replace(':', ''),
    Z: zone,
  };
  const field = fields[token];
  if (field === undefined) throw new FunctionError(`invalid date format verb "${token}"`);
  return field;
}
