import { describe, expect, it } from 'vitest';
import { checkCron, CronSpecError, nextLaunchMs } from './cron.js';
import type { PeriodicConfig } from '../jobs/job.js';

const periodic = (over: Partial<PeriodicConfig>): PeriodicConfig => ({
  Enabled: true,
  Spec: '',
  Specs: null,
  SpecType: 'cron',
  ProhibitOverlap: false,
  TimeZone: 'UTC',
  ...over,
});
const next = (over: Partial<PeriodicConfig>, after: string): string | undefined => {
  const ms = nextLaunchMs(periodic(over), Date.parse(after));
  return ms === undefined ? undefined : new Date(ms).toISOString();
};

describe('schedules', () => {
  it('the first of several, strictly later', () => {
    expect(next({ Specs: ['0 3 * * *', '@weekly'] }, '2026-01-03T12:00:00Z')).toBe('2026-01-04T00:00:00.000Z');
    expect(next({ Spec: '0 3 * * *' }, '2026-01-01T03:00:00Z')).toBe('2026-01-02T03:00:00.000Z');
    expect(next({ Spec: '0 3 * * *' }, '2026-01-01T02:59:59.999Z')).toBe('2026-01-01T03:00:00.000Z');
  });

  it('day of month and day of week: either of them', () => {
    expect(next({ Spec: '0 0 15 * MON' }, '2026-01-01T00:00:00Z')).toBe('2026-01-05T00:00:00.000Z');
    expect(next({ Spec: '0 0 15 * MON' }, '2026-01-12T00:00:00Z')).toBe('2026-01-15T00:00:00.000Z');
  });

  it('six fields end with the year, seven begin with the second', () => {
    expect(next({ Spec: '0 3 * * * 2030' }, '2026-01-01T00:00:00Z')).toBe('2030-01-01T03:00:00.000Z');
    expect(next({ Spec: '*/10 * * * * * *' }, '2026-01-01T00:00:00Z')).toBe('2026-01-01T00:00:10.000Z');
    expect(next({ Spec: '0 3 * * * 2020' }, '2026-01-01T00:00:00Z')).toBeUndefined();
  });

  it('in the time zone of the block, over the change of the clocks', () => {
    const Berlin = { Spec: '30 2 * * *', TimeZone: 'Europe/Berlin' };
    expect(next(Berlin, '2026-01-01T00:00:00Z')).toBe('2026-01-01T01:30:00.000Z');
    expect(next(Berlin, '2026-07-01T00:00:00Z')).toBe('2026-07-01T00:30:00.000Z');
    // 02:30 does not exist: an hour later by the wall. It exists twice: once.
    expect(next(Berlin, '2026-03-29T00:00:00Z')).toBe('2026-03-29T01:30:00.000Z');
    expect(next(Berlin, '2026-10-25T00:30:00Z')).toBe('2026-10-26T01:30:00.000Z');
  });

  it('none without a spec, and what is no schedule says so', () => {
    expect(next({}, '2026-01-01T00:00:00Z')).toBeUndefined();
    for (const spec of ['every day', '0 0 1 13 *', '61 * * * *']) expect(() => checkCron(spec)).toThrow(CronSpecError);
    expect(() => checkCron('every day')).toThrow('Invalid cron spec "every day": ');
    expect(() => checkCron('*/15 9-17 * * MON-FRI')).not.toThrow();
  });
});
