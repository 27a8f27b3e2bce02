import { type CSIVolume, CLAIM_STATE, FakeTime } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { silentLogger, tracerFor } from '@waybill/telemetry';
import { describe, expect, it } from 'vitest';
import { VolumeWatcher } from './volume-watcher.js';
import { type Releasing, VolumeWorker } from './volume-worker.js';

const { aCSIClaim, aCSIVolume } = fixtures;

/** A worker over a volume with these past claims. Each release waits until it is told how it ends. */
function working(...past: string[]) {
  const time = new FakeTime();
  const claims = new Map(past.map((id) => [id, aCSIClaim({ AllocationID: id, State: CLAIM_STATE.unpublishing })]));
  const alive = new Set<string>();
  const asked: string[] = [];
  const ends: ((error?: Error) => void)[] = [];
  const counters = { passes: 0, unpublishes: 0, failures: 0 };
  const state = { exists: true, ended: 0 };
  const releasing: Releasing = {
    clock: time,
    timers: time,
    logger: silentLogger,
    tracer: () => tracerFor('test'),
    counters,
    volumeOf: (): CSIVolume | undefined =>
      state.exists ? aCSIVolume({ PastClaims: Object.fromEntries(claims) }) : undefined,
    isAlive: (id) => alive.has(id),
    unpublish: (_, { AllocationID }) =>
      new Promise((done, fail) => {
        asked.push(AllocationID);
        ends.push((error) => {
          if (error) return fail(error);
          claims.delete(AllocationID);
          done(undefined);
        });
      }),
  };
  const worker = new VolumeWorker('default/data', releasing, () => state.ended++);
  worker.requestPass();
  /** The release in progress ends, and what follows at once is done. */
  const finish = async (error?: Error): Promise<void> => {
    ends.shift()?.(error);
    await time.pass(0);
  };
  return { time, claims, alive, asked, counters, state, worker, finish };
}

describe('a worker of a volume', () => {
  it('VL-141: also releases the claim of an allocation that lives and has begun the release itself', async () => {
    const { time, claims, alive, asked, counters, finish, worker } = working();
    await time.pass(0);
    alive.add('a');
    claims.set('a', aCSIClaim({ AllocationID: 'a', State: CLAIM_STATE.unpublishing }));
    worker.requestPass();
    await time.pass(0);
    await finish();
    expect([asked, counters]).toEqual([['a'], { passes: 2, unpublishes: 1, failures: 0 }]);
  });

  it('VL-141: releases the past claims one after the other, and rests', async () => {
    const { time, asked, counters, state, finish } = working('a', 'b');
    await time.pass(0);
    expect(asked).toEqual(['a']);
    await finish();
    await finish();
    expect([asked, counters]).toEqual([['a', 'b'], { passes: 1, unpublishes: 2, failures: 0 }]);
    await time.pass(299_999);
    expect(state.ended).toBe(0);
    await time.pass(1);
    expect([state.ended, time.pending]).toEqual([1, 0]);
  });

  it('VL-135: that is stopped during a release begins no other, and does not count its failure', async () => {
    const { time, asked, counters, state, worker, finish } = working('a', 'b');
    await time.pass(0);
    worker.stop();
    await finish(new Error('the term is over'));
    expect([asked, counters.failures, state.ended, time.pending]).toEqual([['a'], 0, 0, 0]);
  });

  it('VL-308: leaves a claim alone that was released or taken again during the release before it', async () => {
    const { time, claims, asked, counters, finish } = working('a', 'b', 'c');
    await time.pass(0);
    claims.delete('b');
    await finish();
    await finish();
    expect([asked, counters]).toEqual([['a', 'c'], { passes: 1, unpublishes: 2, failures: 0 }]);
  });

  it('VL-142: ends at once when the volume is gone', async () => {
    const { time, asked, counters, state, worker, finish } = working('a');
    await time.pass(0);
    state.exists = false;
    worker.requestPass();
    await finish();
    await time.pass(0);
    expect([asked, counters.passes, state.ended, time.pending]).toEqual([['a'], 1, 1, 0]);
  });

  it('VL-145: changes during a pass lead to one more pass', async () => {
    const { time, counters, worker, finish } = working('a');
    await time.pass(0);
    for (let i = 0; i < 3; i++) worker.requestPass();
    await finish();
    await time.pass(10_000);
    expect(counters.passes).toBe(2);
  });

  it('VL-146: a failed pass is repeated after 1 s, 2 s, 4 s, and at most after a minute', async () => {
    const { time, asked, counters, finish } = working('a');
    await time.pass(0);
    for (const pauseMs of [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]) {
      const before = asked.length;
      await finish(new Error('no'));
      await time.pass(pauseMs - 1);
      expect(asked).toHaveLength(before);
      await time.pass(1);
      expect(asked).toHaveLength(before + 1);
    }
    expect(counters).toEqual({ passes: 9, unpublishes: 9, failures: 8 });
  });

  it('VL-146: a change begins with the first pause again, and does not wait for the retry', async () => {
    const { time, asked, worker, finish } = working('a');
    await time.pass(0);
    for (const pauseMs of [1_000, 2_000]) {
      await finish(new Error('no'));
      await time.pass(pauseMs);
    }
    await finish(new Error('no'));
    worker.requestPass();
    await time.pass(0);
    expect(asked).toHaveLength(4);
    await finish(new Error('no'));
    await time.pass(1_000);
    expect(asked).toHaveLength(5);
  });

  it('VL-146: a volume that changes all the time is looked at three times at once, then once a second', async () => {
    const { time, counters, worker } = working();
    const seen: number[] = [];
    for (let second = 0; second < 5; second++) {
      for (let i = 0; i < 10; i++) {
        await time.pass(i === 0 && second === 0 ? 0 : 100);
        worker.requestPass();
      }
      seen.push(counters.passes);
    }
    expect(seen).toEqual([3, 4, 5, 6, 7]);
  });

  it('VL-151: an allocation that came back keeps its claim until it ends again', async () => {
    const { time, alive, asked, counters, finish } = working('a');
    alive.add('a');
    await time.pass(0);
    expect([asked, counters.unpublishes]).toEqual([[], 0]);
    alive.delete('a');
    await time.pass(1_000);
    expect(asked).toEqual(['a']);
    await finish();
    expect(counters).toEqual({ passes: 2, unpublishes: 1, failures: 0 });
  });
});

it('VL-135: a watcher that is not enabled ignores changes', () => {
  const watcher = new VolumeWatcher();
  const machine = fixtures.aMachine();
  watcher.applied(fixtures.apply(machine, 'CSIVolumeRegister', { Volumes: [fixtures.aVolumeRegistration()] }));
  expect(watcher.stats()).toEqual({ workers: 0, passes: 0, unpublishes: 0, failures: 0, started: 0 });
});
