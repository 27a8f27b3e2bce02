import { SimulatedTime, type Evaluation } from '@waybill/model';
import { beforeEach, describe, expect, it } from 'vitest';
import { CORE_PERIODS_MS, CoreTimers, type CorePeriods } from './core-timers.js';

const MINUTE_MS = 60_000;

let time: SimulatedTime;
let raised: Evaluation[];
let timers: CoreTimers;
let ids: number;

const coreTimers = (periodsMs: CorePeriods = {}): CoreTimers =>
  new CoreTimers({
    clock: time,
    timers: time,
    newId: () => `id-${++ids}`,
    index: () => 42,
    enqueue: (evaluation) => raised.push(evaluation),
    periodsMs,
  });

beforeEach(() => {
  time = new SimulatedTime();
  raised = [];
  ids = 0;
  timers = coreTimers();
});

const names = (): string[] => raised.map((e) => e.JobID).toSorted();

describe('core timers', () => {
  it('GC-3 EB-145: an evaluation of nobody, above all others, at the index it was raised', () => {
    timers.raise('eval-gc');
    timers.raise('eval-gc');
    expect(raised[0]).toMatchObject({
      Namespace: '-',
      Priority: 32_767,
      Type: '_core',
      TriggeredBy: 'scheduled',
      JobID: 'eval-gc',
      Status: 'pending',
      ModifyIndex: 42,
    });
    expect(raised[0]!.LeaderACL).not.toBe('');
    expect(raised[1]!.LeaderACL).toBe(raised[0]!.LeaderACL);
    expect(raised[1]!.ID).not.toBe(raised[0]!.ID);
  });

  it('GC-1 EB-146: one of each kind per interval, the first an interval after the start', () => {
    timers.start();
    time.advance(5 * MINUTE_MS - 1);
    expect(raised).toEqual([]);
    time.advance(1);
    const everyFive = [
      'csi-plugin-gc',
      'csi-volume-claim-gc',
      'deployment-gc',
      'eval-gc',
      'global-token-expired-gc',
      'job-gc',
      'local-token-expired-gc',
      'node-gc',
    ];
    expect(names()).toEqual(everyFive);
    time.advance(5 * MINUTE_MS);
    const everyTen = ['one-time-token-gc', 'root-key-rotate-gc', 'variables-rekey'];
    expect(names()).toEqual([...everyFive, ...everyFive, ...everyTen].toSorted());
    time.advance(50 * MINUTE_MS);
    expect(raised.filter((e) => e.JobID === 'eval-gc')).toHaveLength(12);
    expect(raised.filter((e) => e.JobID === 'variables-rekey')).toHaveLength(6);
  });

  it('GC-1 EB-146: none after the term, and no timer is left', () => {
    timers.start();
    expect(time.armedCount).toBe(Object.keys(CORE_PERIODS_MS).length);
    timers.stop();
    timers.stop();
    expect(time.armedCount).toBe(0);
  });

  it('GC-127 GC-128: an interval that somebody set takes the place of the usual one', () => {
    coreTimers({ 'job-gc': MINUTE_MS }).start();
    time.advance(5 * MINUTE_MS);
    expect(raised.filter((e) => e.JobID === 'job-gc')).toHaveLength(5);
    expect(raised.filter((e) => e.JobID === 'eval-gc')).toHaveLength(1);
  });

  it('GC-7: knows its own evaluations from those of another term', () => {
    timers.raise('eval-gc');
    expect(timers.raised(raised[0]!)).toBe(true);
    expect(coreTimers().raised(raised[0]!)).toBe(false);
    expect(timers.raised({ ...raised[0]!, LeaderACL: '' })).toBe(false);
  });
});
