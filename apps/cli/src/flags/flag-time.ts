import { NS_PER_MS } from '@waybill/model/clock';
import { parseDuration } from '@waybill/model/duration';
import { CommandFailure } from '../failure.js';

const UNIX_NS = /^\d+$/;

/**
 * Returns the time of a flag, given as RFC 3339, as unix nanoseconds, or as an age such as `2h`. @throws CommandFailure
 */
export function pastTime(flag: string, text: string, nowMs: number): string {
  const agoNs = parseDuration(text);
  if (agoNs !== undefined) return new Date(nowMs - agoNs / NS_PER_MS).toISOString();
  if (UNIX_NS.test(text) || !Number.isNaN(Date.parse(text))) return text;
  throw new CommandFailure(
    `Invalid -${flag} "${text}": neither a time like 2026-03-01T10:00:00Z nor how long ago, like 2h`,
  );
}
