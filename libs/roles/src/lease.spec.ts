import { FakeTime, settle } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { Lease, TRUSTED_SHARE } from './lease.js';
import type { LeaseStore } from './lease-store.js';

const TTL_MS = 3_000;

/** A lease of a store that answers when it is told to, and a clock that may lack a millisecond when a timer comes. */
function setup() {
  const time = new FakeTime();
  const clock = { lacksMs: 0, nowMs: () => time.nowMs() - clock.lacksMs };
  const asked: ((revision: number | undefined) => void)[] = [];
  let tellFree = (): void => {};
  let isReachable = true;
  let renewal: Promise<number> | undefined;
  let renewalMs = 0;
  const store: LeaseStore = {
    acquire: () => new Promise((resolve) => void asked.push(resolve)),
    renew: () => {
      if (renewal) return renewal;
      if (!isReachable) return Promise.reject(new Error('down'));
      return new Promise((resolve) => void time.after(renewalMs, () => resolve(2)));
    },
    release: () => Promise.resolve(),
    watch: (_, onFree) => {
      tellFree = onFree;
      return () => {};
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
    onGain: () => void events.push('gained'),
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
  return { time, clock, lease, events, asked, answer, free: () => tellFree(), setReachable, setRenewal, setRenewalMs };
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
});
