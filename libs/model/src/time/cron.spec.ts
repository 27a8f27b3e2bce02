import { describe, expect, it } from 'vitest';
import { checkCron, CronSpecError, launchTimeText, nextLaunchMs } from './cron.js';
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

  it.each([
    ['Europe/Berlin', '2026-07-01T00:30:00.000Z', '2026-07-01T02:30:00+02:00'],
    ['Asia/Kolkata', '2026-07-01T00:30:00.500Z', '2026-07-01T06:00:00+05:30'],
    ['America/New_York', '2026-01-01T00:30:00.000Z', '2025-12-31T19:30:00-05:00'],
    ['', '2026-01-01T00:30:00.000Z', '2026-01-01T00:30:00Z'],
  ])('API-143, CL-304: in zone %j a launch at %s is shown as %s', (TimeZone, moment, text) => {
    expect(launchTimeText(periodic({ TimeZone }), Date.parse(moment))).toBe(text);
  });

  it('in the time zone of the block, over the change of the clocks', () => {
    const Berlin = { Spec: '30 2 * * *', TimeZone: 'Europe/Berlin' };
    expect(next(Berlin, '2026-01-01T00:00:00Z')).toBe('2026-01-01T01:30:00.000Z');
    expect(next(Berlin, '2026-07-01T00:00:00Z')).toBe('2026-07-01T00:30:00.000Z');
    // 02:30 does not exist: an hour later by the wall. It exists twice: once.
    expect(next(Berlin, '2026-03-29T00:00:00Z')).toBe('2026-03-29T01:30:00.000Z');
    expect(next(Berlin, '2026-10-25T00:30:00Z')).toBe('2026-10-26T01:30:00.000Z');
  });

  it('an hour that the clock repeats: every hour goes on, and no time comes before what it is after', () => {
    const half = { Spec: '*/30 * * * *', TimeZone: 'Europe/Berlin' };
    expect(next(half, '2026-10-25T00:30:00Z')).toBe('2026-10-25T01:00:00.000Z');
    expect(next(half, '2026-10-25T01:00:00Z')).toBe('2026-10-25T01:30:00.000Z');
    expect(next(half, '2026-10-25T01:30:00Z')).toBe('2026-10-25T02:00:00.000Z');
    expect(next({ ...half, Spec: '@hourly' }, '2026-10-25T00:00:00Z')).toBe('2026-10-25T01:00:00.000Z');
    expect(next({ ...half, Spec: '15 */2 * * *' }, '2026-10-25T00:15:00Z')).toBe('2026-10-25T01:15:00.000Z');
    expect(next({ ...half, Spec: '30 2 * * *' }, '2026-10-25T01:10:00Z')).toBe('2026-10-26T01:30:00.000Z');
    expect(next(half, '2026-03-29T00:30:00Z')).toBe('2026-03-29T01:00:00.000Z');
    // Thirty minutes of the hour, and a midnight that is left out.
    expect(next({ Spec: '0 * * * *', TimeZone: 'Australia/Lord_Howe' }, '2026-04-04T14:00:00Z')).toBe(
      '2026-04-04T15:30:00.000Z',
    );
    expect(next({ Spec: '0 0 * * *', TimeZone: 'America/Sao_Paulo' }, '2018-11-03T12:00:00Z')).toBe(
      '2018-11-04T03:00:00.000Z',
    );
    expect(next({ Spec: '0 * 29 2 *', TimeZone: 'America/New_York' }, '2026-01-01T00:00:00Z')).toBe(
      '2028-02-29T05:00:00.000Z',
    );
  });

  it('a time that is due is always later, in every zone, minute by minute around a change', { timeout: 60_000 }, () => {
    for (const TimeZone of ['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Africa/Cairo', 'Local'])
      for (const Spec of ['*/20 * * * *', '10,50 1-3 * * *', '@hourly', '30 2 * * *', '0 0 * * *'])
        for (const day of ['2026-03-08', '2026-03-29', '2026-04-04', '2026-10-25', '2026-11-01'])
          for (let minute = 0; minute < 24 * 60; minute += 41) {
            const after = Date.parse(`${day}T00:00:00Z`) + minute * 60_000;
            expect(nextLaunchMs(periodic({ Spec, TimeZone }), after)).toBeGreaterThan(after);
          }
  });

  it('what other schedules have: ? for *, a step from a number, long names', () => {
    expect(next({ Spec: '0 0 ? * MON' }, '2026-11-23T00:00:00Z')).toBe('2026-11-30T00:00:00.000Z');
    expect(next({ Spec: '0 0 1 * ?' }, '2026-11-22T00:00:00Z')).toBe('2026-12-01T00:00:00.000Z');
    expect(next({ Spec: '5/20 * * * *' }, '2026-11-22T10:05:00Z')).toBe('2026-11-22T10:25:00.000Z');
    expect(next({ Spec: '0 0 * * Sunday' }, '2026-11-22T00:00:00Z')).toBe('2026-11-29T00:00:00.000Z');
    expect(next({ Spec: '0 0 1 january-march *' }, '2026-11-22T00:00:00Z')).toBe('2027-01-01T00:00:00.000Z');
    expect(next({ Spec: '0 3 1 1 * */2' }, '2026-11-22T00:00:00Z')).toBe('2028-01-01T03:00:00.000Z');
    expect(next({ Spec: '0 0 * * 5L' }, '2026-11-22T00:00:00Z')).toBe('2026-11-27T00:00:00.000Z');
    for (const spec of ['2030-01-01T00:00:00', '@every 5m', '/5 * * * *', '* * * *', '* * * * * * * *'])
      expect(() => checkCron(spec)).toThrow(CronSpecError);
  });

  it('none without a spec, and what is no schedule says so', () => {
    expect(next({}, '2026-01-01T00:00:00Z')).toBeUndefined();
    for (const spec of ['every day', '0 0 1 13 *', '61 * * * *']) expect(() => checkCron(spec)).toThrow(CronSpecError);
    expect(() => checkCron('every day')).toThrow('Invalid cron spec "every day": ');
    expect(() => checkCron('*/15 9-17 * * MON-FRI')).not.toThrow();
  });

  it.each(['0 0 31 2,4,6,9,11 *', '0 0 30 2 * */3', '* 30 17 2,21 2,4,6,9,11 +5L 2087/5', '0 0 * * * 1970'])(
    '%s is never due, which is found out without the end of the stack',
    (Spec) => expect(next({ Spec }, '2026-03-28T00:00:00Z')).toBeUndefined(),
  );

  it.each(['5*/15 * * * *', '0 0 1--2 * *', '0 0 * * MONDAYS', '0 0 1W2 * *', '0 12345 * * *', '0 0 , * *'])(
    '%s has something that is no time',
    (Spec) => expect(() => checkCron(Spec)).toThrow(/is no time/),
  );

  it.each(['0 0 L * *', '0 0 LW * *', '0 0 15W * *', '0 0 * * MON#2', '0 0 * * 5L', '0 0 * * FRI#L', '0 0 1-7 * +MON'])(
    '%s is a schedule',
    (Spec) => expect(next({ Spec }, '2026-03-28T00:00:00Z')).toBeDefined(),
  );

  it.each(['0 122/15 * * *', '60/5 * * * *', '0 0 32/2 * *', '0 0 * 13/2 *', '0 0 * * 9/2', '0 0 * * * 2200/3'])(
    '%s has a step that starts nowhere',
    (Spec) => expect(() => checkCron(Spec)).toThrow(/a step starts at \d+, which is not within/),
  );
});
