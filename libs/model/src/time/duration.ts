import { NS_PER_HOUR, NS_PER_MINUTE, NS_PER_MS, NS_PER_SECOND } from './clock.js';

/**
 * Formats a duration in nanoseconds in the notation of messages and task events: `500ms`, `16.2s`, `1m30s`, `24h0m0s`.
 * Leading zero parts are left out, trailing ones are not.
 */
export function formatDuration(ns: number): string {
  if (ns === 0) return '0s';
  if (ns < 0) return `-${formatDuration(-ns)}`;
  if (ns < 1000) return `${ns}ns`;
  if (ns < NS_PER_MS) return `${decimal(ns, 1000)}µs`;
  if (ns < NS_PER_SECOND) return `${decimal(ns, NS_PER_MS)}ms`;
  const hours = Math.floor(ns / NS_PER_HOUR);
  const minutes = Math.floor((ns % NS_PER_HOUR) / NS_PER_MINUTE);
  const seconds = `${decimal(ns % NS_PER_MINUTE, NS_PER_SECOND)}s`;
  if (hours > 0) return `${hours}h${minutes}m${seconds}`;
  return minutes > 0 ? `${minutes}m${seconds}` : seconds;
}

function decimal(ns: number, unitNs: number): string {
  const digits = String(unitNs).length - 1;
  const fraction = String(ns % unitNs)
    .padStart(digits, '0')
    .replace(/0+$/, '');
  const whole = String(Math.floor(ns / unitNs));
  return fraction === '' ? whole : `${whole}.${fraction}`;
}

const UNIT_NS: ReadonlyMap<string, number> = new Map([
  ['ns', 1],
  ['us', 1000],
  ['µs', 1000],
  ['ms', NS_PER_MS],
  ['s', NS_PER_SECOND],
  ['m', NS_PER_MINUTE],
  ['h', NS_PER_HOUR],
]);

/** Parses a duration such as `90s`, `1h30m`, `-5m` or `0` into nanoseconds. Returns undefined for an invalid text. */
export function parseDuration(text: string): number | undefined {
  if (text === '0') return 0;
  const [, sign] = /^([+-]?)(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|ms|s|m|h))+$/.exec(text) ?? [];
  if (sign === undefined) return undefined;
  let ns = 0;
  for (const [, amount, unit = ''] of text.matchAll(/(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)/g))
    ns += Math.round(Number(amount) * (UNIT_NS.get(unit) ?? Number.NaN));
  return sign === '-' ? -ns : ns;
}
