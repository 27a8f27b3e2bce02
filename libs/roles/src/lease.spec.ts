import { FakeTime, settle } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { Lease, TRUSTED_SHARE } from './lease.js';
import type { LeaseStore } from './lease-store.js';

const TTL_MS = 3_000;

/** A lease of a store that answers when it is told to, and a clock that may lack a millisecond when a timer comes. */
function setup({ onGain = (): void => {} } = {}) {
  const time = new FakeTime();
  const clock = { lacksMs: 0, nowMs: () => time.nowMs() - clock.lacksMs };
  const asked: ((revision: number | undefined) => void)[] = [];
  let tellFree = (): void => {};
  let isReachable = true;
  let renewal: Promise<number> | undefined;
  let renewalMs = 0;
  let isOurs = true;
  /** Revisions that were given back, and when each renewal was sent, ms from the beginning. */
  const released: number[] = [];
  const renewedAt: number[] = [];
  const watched = { begun: 0, ended: 0 };
  const store: LeaseStore = {
    acquire: () => new Promise((resolve) => void asked.push(resolve)),
    renew: () => {
      renewedAt.push(time.nowMs() - began);
      if (!isOurs) return Promise.resolve(undefined);
      if (renewal) return renewal;
      if (!isReachable) return Promise.reject(new Error('down'));
      return new Promise((resolve) => void time.after(renewalMs, () => resolve(2)));
    },
    release: async (_, revision) => {
      released.push(revision);
      if (!isReachable) throw new Error('down');
    },
    watch: (_, onFree) => {
      watched.begun++;
      tellFree = onFree;
      return () => void watched.ended++;
    },
  };
  const events: string[] = [];
  const lease = new Lease({
    store,
    role: 'broker',
    holder: 'me',
    ttlMs: TTL_MS,
    clock,
    timers: time,
    onGain: () => {
      events.push('gained');
      onGain();
    },
    onLoss: (reason) => void events.push(`lost at ${time.nowMs() - began}: ${reason}`),
  });
  const began = time.nowMs();
  const answer = async (revision: number | undefined): Promise<void> => {
    asked.shift()?.(revision);
    await settle();
  };
  const setReachable = (reachable: boolean) => void (isReachable = reachable);
  const setRenewal = (next: Promise<number>) => void (renewal = next);
  const setRenewalMs = (ms: number) => void (renewalMs = ms);
  const takeAway = () => void (isOurs = false);
  const recorded = { events, asked, released, renewedAt, watched };
  const changes = { answer, free: () => tellFree(), setReachable, setRenewal, setRenewalMs, takeAway };
  return { time, clock, lease, ...recorded, ...changes };
}

describe('a lease', () => {
  it('is asked for again when the pause after a release is over, also where its timer is early by the clock', async () => {
    const { time, clock, lease, asked, answer } = setup();
    lease.start();
    await answer(1);
    await time.pass(TTL_MS / 10);
    await lease.release(250);
    clock.lacksMs = 1;
    await time.pass(249);
    expect(asked).toHaveLength(0);
    await time.pass(1);
    expect(asked).toHaveLength(1);
    await lease.stop();
  });

  it('that becomes free while the store says that somebody has it is asked for once more', async () => {
    const { time, lease, events, asked, answer, free } = setup();
    lease.start();
    free();
    await answer(undefined);
    expect(asked).toHaveLength(1);
    await answer(1);
    expect(events).toEqual(['gained']);
    await lease.stop();
    await time.pass(TTL_MS);
    expect(time.pending).toBe(0);
  });

  it('is trusted from when it was asked for, not from when the answer came', async () => {
    const { time, lease, answer } = setup();
    lease.start();
    await time.pass(1_000);
    await answer(1);
    expect(lease.held).toBe(true);
    time.freeze(TTL_MS * TRUSTED_SHARE - 1_000 - 1);
    expect(lease.held).toBe(true);
    time.freeze(1);
    expect(lease.held).toBe(false);
    await lease.stop();
  });

  it('that is renewed is trusted from when the renewal was sent, not from when its answer came', async () => {
    const { time, lease, answer, setRenewal } = setup();
    lease.start();
    await answer(1);
    let arrive = (_revision: number): void => {};
    setRenewal(new Promise((resolve) => (arrive = resolve)));
    const sentAfterMs = TTL_MS / 5;
    await time.pass(sentAfterMs);
    await time.pass(1_000);
    arrive(2);
    await settle();
    time.freeze(TTL_MS * TRUSTED_SHARE - 1_000 - 1);
    expect(lease.held).toBe(true);
    time.freeze(1);
    expect(lease.held).toBe(false);
    await lease.stop();
  });

  it('is not asked for without end by one word that it is free', async () => {
    const { lease, asked, answer, free } = setup();
    lease.start();
    free();
    await answer(undefined);
    await answer(undefined);
    expect(asked).toHaveLength(0);
    await lease.stop();
  });

  it('that cannot be renewed is given up in time, also where the timer is early by the clock', async () => {
    const { time, clock, lease, events, answer, setReachable } = setup();
    lease.start();
    await answer(1);
    setReachable(false);
    clock.lacksMs = 1;
    await time.pass(TTL_MS);
    expect(events).toEqual([
      'gained',
      expect.stringContaining(`lost at ${TTL_MS * TRUSTED_SHARE}: it was not renewed`),
    ]);
    expect(events[1]).toContain('raise WAYBILL_LEASE_TTL_MS');
    await lease.stop();
  });

  it('is kept where each answer takes a quarter of its time, and was slow to come', async () => {
    const { time, lease, events, answer, setRenewalMs } = setup();
    setRenewalMs(TTL_MS / 4);
    lease.start();
    await time.pass(TTL_MS * 0.45);
    await answer(1);
    await time.pass(10 * TTL_MS);
    expect(events).toEqual(['gained']);
    expect(lease.held).toBe(true);
    await lease.stop();
  });

  it('is asked for once at the start, and once in each TTL while another has it', async () => {
    const { time, lease, asked, answer, watched } = setup();
    expect(lease.held).toBe(false);
    lease.start();
    lease.start();
    expect([asked.length, watched.begun, time.pending]).toEqual([1, 1, 1]);
    await answer(undefined);
    for (let ttl = 0; ttl < 2; ttl++) {
      await time.pass(TTL_MS - 1);
      expect(asked).toHaveLength(0);
      await time.pass(1);
      expect(asked).toHaveLength(1);
      await answer(undefined);
    }
    await lease.stop();
    expect([watched.ended, time.pending]).toEqual([1, 0]);
  });

  it('is asked for again in the next TTL by a contender that the store did not answer', async () => {
    const { time, lease, asked, events } = setup();
    lease.start();
    asked.shift()?.(Promise.reject(new Error('down')) as never);
    await time.pass(TTL_MS);
    expect([asked.length, events]).toEqual([1, []]);
    await lease.stop();
  });

  it('is renewed five times within its TTL, and tried again twenty times as often while the store is away', async () => {
    const { time, lease, renewedAt, answer, setReachable } = setup();
    lease.start();
    await answer(1);
    await time.pass(TTL_MS);
    expect(renewedAt).toEqual([600, 1_200, 1_800, 2_400, 3_000]);
    setReachable(false);
    await time.pass(TTL_MS / 5 + 2 * (TTL_MS / 20));
    expect(renewedAt.slice(5)).toEqual([3_600, 3_750, 3_900]);
    setReachable(true);
    await time.pass(TTL_MS / 20);
    expect(lease.held).toBe(true);
    await lease.stop();
  });

  it('that another has by now is lost at the next renewal, and asked for again', async () => {
    const { time, lease, events, asked, answer, takeAway } = setup();
    lease.start();
    await answer(1);
    takeAway();
    await time.pass(TTL_MS / 5);
    expect(events).toEqual(['gained', 'lost at 600: it is not ours any more']);
    expect([lease.held, time.pending]).toEqual([false, 1]);
    await time.pass(TTL_MS);
    expect(asked).toHaveLength(1);
    await lease.stop();
  });

  it('whose answer comes when its trusted time is over is not held', async () => {
    const { time, lease, events, answer } = setup();
    lease.start();
    await time.pass(TTL_MS * TRUSTED_SHARE);
    await answer(1);
    expect([lease.held, events]).toEqual([false, ['lost at 2250: the store answered too late']]);
    await lease.stop();
  });

  it('is given back once, by its revision, at a release; by a contender that has none, nothing is', async () => {
    const { time, lease, events, asked, released, answer, free } = setup();
    lease.start();
    await answer(undefined);
    await lease.release(100);
    expect(released).toEqual([]);
    await time.pass(100);
    await answer(7);
    await lease.release(0);
    expect([released, lease.held, events]).toEqual([[7], false, ['gained']]);
    await time.pass(0);
    expect(asked).toHaveLength(1);
    await answer(undefined);
    free();
    expect(asked).toHaveLength(1);
    await lease.stop();
    expect(released).toEqual([7]);
  });

  it('is not asked for in the pause after a release, however often it is free, and a later release prolongs the pause', async () => {
    const { time, lease, asked, answer, free } = setup();
    lease.start();
    await answer(1);
    await lease.release(100);
    await time.pass(50);
    await lease.release(100);
    free();
    await time.pass(99);
    free();
    expect(asked).toHaveLength(0);
    await time.pass(1);
    expect(asked).toHaveLength(1);
    await lease.stop();
  });

  it('is given back at the stop, also one that is answered only then, and never asked for again', async () => {
    const { time, lease, asked, released, answer, free } = setup();
    lease.start();
    await answer(3);
    await lease.stop();
    expect([released, lease.held, time.pending]).toEqual([[3], false, 0]);
    free();
    await time.pass(2 * TTL_MS);
    expect(asked).toHaveLength(0);

    const late = setup();
    late.lease.start();
    await late.lease.stop();
    await late.answer(4);
    expect([late.released, late.lease.held, late.events, late.time.pending]).toEqual([[4], false, [], 0]);

    const refused = setup();
    refused.lease.start();
    await refused.lease.stop();
    await refused.answer(undefined);
    expect(refused.released).toEqual([]);
  });

  it('that the store does not take back ends by itself: neither release nor stop fails', async () => {
    const { lease, answer, setReachable } = setup();
    lease.start();
    await answer(1);
    setReachable(false);
    await lease.release(0);
    await lease.stop();
    const late = setup();
    late.lease.start();
    late.setReachable(false);
    await late.lease.stop();
    await late.answer(4);
    expect(late.released).toEqual([4]);
  });

  it('is not renewed by the answer to a renewal that was sent before it was lost and gained anew', async () => {
    const { time, lease, events, renewedAt, answer, setRenewal } = setup();
    lease.start();
    await answer(1);
    let arrive = (_revision: number): void => {};
    setRenewal(new Promise((resolve) => (arrive = resolve)));
    await time.pass(TTL_MS / 5);
    await lease.release(0);
    await time.pass(0);
    await answer(5);
    arrive(2);
    await time.pass(TTL_MS / 5 - 1);
    expect(lease.held).toBe(true);
    await time.pass(1);
    expect(renewedAt).toEqual([600, 1_200]);
    expect(events).toEqual(['gained', 'gained']);
    await lease.stop();
  });

  it('is not tried again for a renewal that failed after it was given back and gained anew', async () => {
    const { time, lease, renewedAt, answer, setRenewal } = setup();
    lease.start();
    await answer(1);
    let fail = (_error: Error): void => {};
    setRenewal(new Promise((_, reject) => (fail = reject)));
    await time.pass(TTL_MS / 5);
    await lease.release(0);
    await time.pass(0);
    await answer(5);
    fail(new Error('down'));
    await time.pass(TTL_MS / 5 - 1);
    expect(renewedAt).toEqual([600]);
    await lease.stop();
  });

  it('that its owner gives back as soon as it is gained is renewed no more', async () => {
    const { time, lease, events, renewedAt, released, answer } = setup({
      onGain: () => void lease.release(10 * TTL_MS),
    });
    lease.start();
    await answer(1);
    await time.pass(TTL_MS);
    expect([events, released, renewedAt]).toEqual([['gained'], [1], []]);
    await lease.stop();
  });
});
