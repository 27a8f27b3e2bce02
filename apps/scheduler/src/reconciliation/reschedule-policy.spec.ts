import {
  NO_TRANSITION,
  NS_PER_MINUTE,
  NS_PER_SECOND,
  type Allocation,
  type RescheduleEvent,
  type ReschedulePolicy,
} from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { failTime, nextDelay, rescheduleTime, trackerForSuccessor } from './reschedule-policy.js';

const S = NS_PER_SECOND;
const policy = (over: Partial<ReschedulePolicy>): ReschedulePolicy => ({
  Attempts: 0,
  Interval: 0,
  Delay: 5 * S,
  DelayFunction: 'constant',
  MaxDelay: 0,
  Unlimited: true,
  ...over,
});
const event = (RescheduleTime: number, Delay = 5 * S): RescheduleEvent => ({
  RescheduleTime,
  Delay,
  PrevAllocID: '',
  PrevNodeID: '',
});

/** Delays of a row of failures, each allocation running this long before it fails. */
function delays(p: ReschedulePolicy, runsNs: number, n: number): number[] {
  const events: RescheduleEvent[] = [];
  let now = 0;
  return Array.from({ length: n }, () => {
    now += runsNs;
    const delay = nextDelay(p, events, now);
    now += delay;
    events.push(event(now, delay));
    return delay / S;
  });
}

const aTaskState = () => ({
  State: 'dead' as const,
  Failed: true,
  Restarts: 0,
  LastRestart: null,
  StartedAt: null,
  FinishedAt: null,
  Events: [],
  Paused: '',
});

describe('delays (22.7)', () => {
  it('SC-257: constant', () => {
    expect(delays(policy({}), S, 4)).toEqual([5, 5, 5, 5]);
  });

  it.each([
    [30, 3600, 5, [30, 60, 120, 240, 480, 960, 1920, 3600, 3600]],
    [30, 3600, 7200, [30, 60, 120, 240, 480, 960, 1920, 30, 60]],
    [5, 90, 1, [5, 10, 20, 40, 80, 90, 90]],
    [5, 90, 100, [5, 10, 20, 40, 80, 5, 10]],
  ])('SC-258, SC-260: exponential %d, at most %d, running %d s each', (delay, max, runs, expected) => {
    const p = policy({ Delay: delay * S, MaxDelay: max * S, DelayFunction: 'exponential' });
    expect(delays(p, runs * S, expected.length)).toEqual(expected);
  });

  it.each([
    [90, 1, [5, 5, 10, 15, 25, 40, 65, 90, 90]],
    [240, 1, [5, 5, 10, 15, 25, 40, 65, 105, 170, 240, 240]],
    [90, 100, [5, 5, 10, 15, 25, 40, 65, 5, 70, 75, 5, 80]],
  ])('SC-259: fibonacci, at most %d, running %d s each', (max, runs, expected) => {
    const p = policy({ MaxDelay: max * S, DelayFunction: 'fibonacci' });
    expect(delays(p, runs * S, expected.length)).toEqual(expected);
  });
});

it.each([
  ['a series that was restarted begins anew', [90, 5], 5],
  ['a series at its limit that was not restarted stays there', [90, 90], 90],
  ['a series that has not come to its limit goes on', [40, 5], 45],
  ['an event with another delay after the limit counts', [90, 0.5], 90],
])('SC-259, SC-260: fibonacci: %s', (_, before, expected) => {
  const p = policy({ MaxDelay: 90 * S, DelayFunction: 'fibonacci' });
  const events = before.map((delay, at) => event(at * S, delay * S));
  expect(nextDelay(p, events, 2 * S)).toBe(expected * S);
});

describe('a replacement that was forced while there was no policy', () => {
  it.each(['exponential', 'fibonacci'] as const)('SC-257: its event has no delay, so a %s series begins', (f) => {
    const p = policy({ Delay: 30 * S, MaxDelay: 3600 * S, DelayFunction: f });
    expect(nextDelay(p, [event(0, 0)], S)).toBe(30 * S);
    expect(nextDelay(p, [event(0, 0), event(0, 0)], S)).toBe(30 * S);
    expect(nextDelay(p, [event(0, 0), event(0, 30 * S)], S)).toBe(f === 'exponential' ? 60 * S : 30 * S);
  });
});

describe('eligibility', () => {
  const failedAt = 1_767_225_600 * S;
  const failed = (p: ReschedulePolicy | null, minutesAgo: number[], over: Partial<Allocation> = {}): Allocation =>
    fixtures.anAlloc({
      Job: fixtures.aJob({ TaskGroups: [fixtures.aGroup({ ReschedulePolicy: p })] }),
      ClientStatus: 'failed',
      ModifyTime: failedAt,
      RescheduleTracker: {
        Events: minutesAgo.map((m) => event(failedAt - m * NS_PER_MINUTE)),
        LastReschedule: 'ok',
      },
      ...over,
    });
  const twice = policy({ Attempts: 2, Interval: 10 * NS_PER_MINUTE, Unlimited: false });

  it.each([
    [[3, 2], false],
    [[2], true],
    [[11, 2], true],
    [[10, 2], true],
    [[9, 2], false],
    [[], true],
  ])('SC-262, SC-263: two attempts in 10 minutes, tried %j minutes ago: %s', (ago, eligible) => {
    expect(rescheduleTime(failed(twice, ago))).toEqual({ eligible, atNs: failedAt + 5 * S });
  });

  it('SC-262: no policy, a disabled one, or no failure', () => {
    expect(rescheduleTime(failed(null, [])).eligible).toBe(false);
    expect(rescheduleTime(failed(policy({ Unlimited: false }), [])).eligible).toBe(false);
    expect(rescheduleTime(failed(twice, [], { ClientStatus: 'running' })).eligible).toBe(false);
  });

  it('SC-262: a lost allocation, and a batch allocation that is to run again, may be rescheduled like a failed one', () => {
    expect(rescheduleTime(failed(twice, [], { ClientStatus: 'lost' })).eligible).toBe(true);
    const again = { ClientStatus: 'running' as const, DesiredTransition: { ...NO_TRANSITION, Reschedule: true } };
    const service = failed(twice, [], again);
    const batch = { ...service, Job: { ...service.Job!, Type: 'batch' as const } };
    expect([rescheduleTime(service).eligible, rescheduleTime(batch).eligible]).toEqual([false, true]);
    expect(rescheduleTime({ ...batch, DesiredTransition: NO_TRANSITION }).eligible).toBe(false);
  });

  it('SC-262: a delay as long as the interval leaves no attempt, unless attempts are unlimited', () => {
    const slow = { ...twice, Delay: 10 * NS_PER_MINUTE };
    expect(rescheduleTime(failed(slow, [2])).eligible).toBe(false);
    expect(rescheduleTime(failed({ ...slow, Delay: slow.Delay - 1 }, [2])).eligible).toBe(true);
    expect(rescheduleTime(failed({ ...slow, Unlimited: true }, [3, 2])).eligible).toBe(true);
  });

  it('SC-264: without a policy the successor keeps the last five events, and its own has no delay', () => {
    const minutesAgo = [9, 8, 7, 6, 5, 4];
    const { Events } = trackerForSuccessor(failed(null, minutesAgo), failedAt);
    expect(Events.map(({ Delay }) => Delay / S)).toEqual([5, 5, 5, 5, 5, 0]);
    expect(Events[0]!.RescheduleTime).toBe(failedAt - 8 * NS_PER_MINUTE);
  });

  it('SC-264: an event as old as the interval is kept', () => {
    const { Events } = trackerForSuccessor(failed(twice, [11, 10, 9]), failedAt);
    expect(Events.map(({ RescheduleTime }) => (failedAt - RescheduleTime) / NS_PER_MINUTE)).toEqual([10, 9, 0]);
  });

  it('SC-264: events older than the interval are dropped also where one attempt is allowed', () => {
    const { Events } = trackerForSuccessor(failed({ ...twice, Attempts: 1 }, [11, 9]), failedAt);
    expect(Events.map(({ RescheduleTime }) => (failedAt - RescheduleTime) / NS_PER_MINUTE)).toEqual([9, 0]);
  });

  it('SC-267: one that was stopped counts only if its last try found no place', () => {
    const stopped = failed(twice, [2], { DesiredStatus: 'stop' });
    expect(rescheduleTime(stopped).eligible).toBe(false);
    const tracker = { Events: [], LastReschedule: 'no placement' };
    expect(rescheduleTime({ ...stopped, RescheduleTracker: tracker }).eligible).toBe(true);
  });

  it('SC-6: the last end of a task is the time of failure', () => {
    const state = (FinishedAt: string | null) => ({ ...aTaskState(), FinishedAt });
    const TaskStates = { a: state('2026-01-01T00:00:05Z'), b: state('2026-01-01T00:00:09Z'), c: state(null) };
    const reported = { CreateTime: failedAt, ModifyTime: failedAt + 20 * S };
    expect(failTime({ TaskStates, ...reported })).toBe(failedAt + 9 * S);
    expect(failTime({ TaskStates: {}, CreateTime: 0, ModifyTime: 77 })).toBe(77);
  });

  it.each([3_600, 86_400])(
    'SC-6: a machine whose clock is %d s off makes no failure earlier than its placement or later than its report',
    (off) => {
      const at = (ns: number) => ({ a: { ...aTaskState(), FinishedAt: new Date(ns / 1e6).toISOString() } });
      const stored = { CreateTime: failedAt, ModifyTime: failedAt + 20 * S };
      expect(failTime({ TaskStates: at(failedAt + off * S), ...stored })).toBe(stored.ModifyTime);
      expect(failTime({ TaskStates: at(failedAt - off * S), ...stored })).toBe(stored.CreateTime);
    },
  );

  it('SC-264: the successor keeps the events of the interval, or the last five, and gets one more', () => {
    const counted = policy({
      Attempts: 5,
      Interval: 60 * NS_PER_MINUTE,
      DelayFunction: 'exponential',
      Unlimited: false,
      MaxDelay: 3600 * S,
    });
    const alloc = failed(counted, []);
    const Events = [120, 70, 30, 10].map((m, i) => event(failedAt - m * NS_PER_MINUTE, [5, 10, 20, 40][i]! * S));
    const tracker = trackerForSuccessor({ ...alloc, RescheduleTracker: { Events, LastReschedule: '' } }, failedAt);
    expect(tracker.Events.map((e) => e.Delay / S)).toEqual([20, 40, 80]);
    expect(tracker).toMatchObject({ LastReschedule: 'ok' });
    expect(tracker.Events.at(-1)).toMatchObject({ PrevAllocID: alloc.ID, PrevNodeID: alloc.NodeID });

    const unlimited = failed(policy({ DelayFunction: 'fibonacci', MaxDelay: 3600 * S }), []);
    const eight = [5, 5, 10, 15, 25, 40, 65, 105].map((d, i) => event(failedAt - (9 - i) * NS_PER_MINUTE, d * S));
    const after = trackerForSuccessor(
      { ...unlimited, RescheduleTracker: { Events: eight, LastReschedule: '' } },
      failedAt,
    );
    expect(after.Events.map((e) => e.Delay / S)).toEqual([15, 25, 40, 65, 105, 170]);
  });
});
