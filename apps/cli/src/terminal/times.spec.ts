import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { absoluteTime, relativeTime } from './times.js';

const MINUTE = 60_000;
const NOW = Date.parse('2026-03-01T10:00:00Z');
const ago = (minutes: number) => relativeTime((NOW - minutes * MINUTE) * 1e6, NOW);

describe('times', () => {
  const zone = process.env['TZ'];
  beforeEach(() => {
    process.env['TZ'] = 'UTC';
  });
  afterEach(() => {
    if (zone === undefined) delete process.env['TZ'];
    else process.env['TZ'] = zone;
  });

  it('CL-141: RFC 3339 in the local zone, seconds cut', () => {
    expect(absoluteTime('2026-03-01T10:00:00.999Z')).toBe('2026-03-01T10:00:00Z');
    expect(absoluteTime(NOW * 1e6)).toBe('2026-03-01T10:00:00Z');
    process.env['TZ'] = 'Asia/Kolkata';
    expect(absoluteTime('2026-03-01T10:00:00Z')).toBe('2026-03-01T15:30:00+05:30');
    process.env['TZ'] = 'America/New_York';
    expect(absoluteTime('2026-03-01T10:00:00Z')).toBe('2026-03-01T05:00:00-05:00');
  });

  it('CL-141: no time, zero and the epoch are empty', () => {
    for (const none of [null, undefined, '', 0, -1, '1970-01-01T00:00:00Z', '0001-01-01T00:00:00Z'])
      expect(absoluteTime(none)).toBe('');
  });

  it('a time that no date holds is shown as the last one, in every zone', () => {
    for (const TZ of ['UTC', 'Asia/Kolkata', 'America/New_York']) {
      process.env['TZ'] = TZ;
      expect(absoluteTime(1e300)).toMatch(/^\+275760-09-1[12]T/);
      expect(absoluteTime(2 ** 63)).toMatch(/^2262-04-1[12]T/);
    }
    expect(relativeTime(1e300, NOW)).toMatch(/from now$/);
  });

  it('CL-142: the two largest units that are not zero', () => {
    expect(ago(12 + 20 / 60)).toBe('12m20s ago');
    expect(ago(6 * 60 + 9)).toBe('6h9m ago');
    expect(ago(4 * 1440 + 4 * 60)).toBe('4d4h ago');
    expect(ago(438_000)).toBe('10mo4d ago');
    expect(ago(20_460 * 60)).toBe('2y4mo ago');
    expect(ago(-360)).toBe('6h from now');
    expect(ago(1440 + 5)).toBe('1d5m ago');
    expect(ago(0)).toBe('0s ago');
    expect(relativeTime(0, NOW)).toBe('');
  });
});
