import { FakeTime, NS_PER_MINUTE, NS_PER_SECOND, type RestartPolicy } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import type { ExitResult } from '../drivers/driver.js';
import { isSuccess, RestartTracker, type RoundEnd } from './restart-tracker.js';

const SERVICE: RestartPolicy = {
  Attempts: 2,
  Interval: 30 * NS_PER_MINUTE,
  Delay: 15 * NS_PER_SECOND,
  Mode: 'fail',
  RenderTemplates: false,
};
const exit = (ExitCode: number, over: Partial<ExitResult> = {}): RoundEnd => ({
  kind: 'exit',
  result: { ExitCode, Signal: 0, OOMKilled: false, Err: '', ...over },
});

function tracker(policy: Partial<RestartPolicy> = {}, restartOnSuccess = true, random = 0) {
  const time = new FakeTime();
  return { time, tracker: new RestartTracker({ ...SERVICE, ...policy }, restartOnSuccess, time, () => random) };
}

describe('restart policy', () => {
  it('AG-111: success is exit code 0, no signal, no error', () => {
    const ok = { ExitCode: 0, Signal: 0, OOMKilled: false, Err: '' };
    expect(isSuccess(ok)).toBe(true);
    expect([{ ExitCode: 1 }, { Signal: 9 }, { Err: 'x' }].map((over) => isSuccess({ ...ok, ...over }))).toEqual([
      false,
      false,
      false,
    ]);
  });

  it('AG-111: a service task that exits 0 is restarted, counted and delayed as a failed one', () => {
    const { tracker: t } = tracker();
    expect(t.decide(exit(0))).toEqual({ kind: 'restart', delayMs: 15_000, reason: 'Restart within policy' });
    t.decide(exit(0));
    expect(t.decide(exit(0)).kind).toBe('failed');
  });

  it('AG-112: with 2 attempts it starts 3 times and then fails with the exact text', () => {
    const { tracker: t } = tracker();
    expect([t.decide(exit(1)).kind, t.decide(exit(1)).kind]).toEqual(['restart', 'restart']);
    expect(t.decide(exit(1))).toEqual({
      kind: 'failed',
      reason: 'Exceeded allowed attempts 2 in interval 30m0s and mode is "fail"',
    });
  });

  it('AG-112, AG-117: a clock that is set back begins the interval anew, instead of making it longer', () => {
    for (const Mode of ['fail', 'delay'] as const) {
      const time = new FakeTime();
      const clock = { setMs: 0, nowMs: () => time.nowMs() + clock.setMs };
      const t = new RestartTracker({ ...SERVICE, Mode, Attempts: 1 }, true, clock, () => 0);
      t.decide(exit(1));
      clock.setMs = -3_600_000;
      expect(t.decide(exit(1))).toMatchObject({ kind: 'restart', delayMs: 15_000 });
    }
  });

  it('the delay grows by up to 25 % of it', () => {
    expect(tracker({}, true, 0.5).tracker.decide(exit(1))).toMatchObject({ delayMs: 16_875 });
    expect(tracker({}, true, 0.999999).tracker.decide(exit(1))).toMatchObject({ delayMs: 18_749 });
  });

  it('a kill ends it, whatever the exit; an asked restart has no delay and is not counted', () => {
    const { tracker: t } = tracker({ Attempts: 1 });
    expect(t.decide({ kind: 'killed' })).toEqual({ kind: 'killed' });
    for (let i = 0; i < 5; i++)
      expect(t.decide({ kind: 'restart-requested' })).toMatchObject({ kind: 'restart', delayMs: 0 });
    expect(t.decide(exit(1)).kind).toBe('restart');
  });

  it('no attempts: fails at once, but a task that may end well just ends', () => {
    expect(tracker({ Attempts: 0 }).tracker.decide(exit(0))).toEqual({
      kind: 'failed',
      reason: 'Policy allows no restarts',
    });
    expect(tracker({ Attempts: 0 }, false).tracker.decide(exit(0))).toEqual({ kind: 'done' });
    expect(tracker({ Attempts: 0 }, false).tracker.decide(exit(1)).kind).toBe('failed');
  });

  it('a start error that is not recoverable fails; a recoverable one restarts by policy', () => {
    const { tracker: t } = tracker();
    expect(t.decide({ kind: 'start-error', recoverable: true }).kind).toBe('restart');
    expect(t.decide({ kind: 'start-error', recoverable: false })).toEqual({
      kind: 'failed',
      reason: 'Error was unrecoverable',
    });
  });

  it('AG-422: after more than the interval the count begins again, at exactly the interval not yet', () => {
    const { time, tracker: t } = tracker();
    t.decide(exit(1));
    t.decide(exit(1));
    time.freeze(30 * 60_000);
    expect(t.decide(exit(1)).kind).toBe('failed');
    time.freeze(1);
    expect(t.decide(exit(1)).kind).toBe('restart');
    expect(t.decide(exit(1)).kind).toBe('restart');
    expect(t.decide(exit(1)).kind).toBe('failed');
  });

  it('AG-117: in mode delay it waits for the end of the interval and never fails', () => {
    const { time, tracker: t } = tracker({ Mode: 'delay', Interval: 60 * NS_PER_SECOND });
    t.decide(exit(1));
    time.freeze(20_000);
    t.decide(exit(1));
    expect(t.decide(exit(1))).toEqual({
      kind: 'restart',
      delayMs: 40_000,
      reason: 'Exceeded allowed attempts, applying a delay',
    });
  });

  it('AG-115: a new policy applies from the next decision, the count is kept', () => {
    const { tracker: t } = tracker({ Attempts: 1 });
    t.decide(exit(1));
    t.policy = { ...SERVICE, Attempts: 2 };
    expect(t.decide(exit(1)).kind).toBe('restart');
    expect(t.decide(exit(1)).kind).toBe('failed');
  });
});
