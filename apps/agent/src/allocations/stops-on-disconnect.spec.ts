import { CLOCK_LOOK_MS, FakeTime, WallClockTimers } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { type Disconnectable, LATE_GRACE_MS, RESTORED_GRACE_MS, StopsOnDisconnect } from './stops-on-disconnect.js';

const alloc = (id: string, afterS: number, isRestored = false): Disconnectable => ({
  id,
  afterMs: afterS * 1_000,
  isRestored,
});

function setup(allocs: Disconnectable[]) {
  const time = new FakeTime(1_800_000_000_000);
  const clock = { setMs: 0, nowMs: () => time.nowMs() + clock.setMs };
  const from = time.nowMs();
  const living = new Map(allocs.map((one) => [one.id, one]));
  const stopped: string[] = [];
  let contactMs: number | undefined = from;
  const watch = new StopsOnDisconnect({
    clock,
    timers: new WallClockTimers({ clock, timers: time }),
    contact: {
      get lastSuccessMs() {
        return contactMs;
      },
    },
    allocations: {
      disconnectable: () => [...living.values()],
      stopDisconnected: (id) => {
        stopped.push(`${id} ${time.nowMs() - from}`);
        living.delete(id);
      },
    },
  });
  const heartbeat = () => void (contactMs = time.nowMs());
  const without = () => void (contactMs = undefined);
  return { time, clock, watch, living, stopped, heartbeat, without };
}

describe('stop_on_client_after', () => {
  it('AG-171, AG-460: of two groups, 5 s and 60 s, ten seconds without contact stop the first only', async () => {
    const { time, watch, stopped, heartbeat } = setup([alloc('five', 5), alloc('sixty', 60)]);
    watch.start();
    await time.pass(10_000);
    heartbeat();
    await time.pass(60_000);
    expect(stopped).toEqual(['five 5001']);
  });

  it('AG-171: a machine that slept stops what its time was over for, after a heartbeat could have told otherwise', async () => {
    const { time, clock, watch, stopped } = setup([alloc('hour', 3_600)]);
    watch.start();
    await time.pass(60_000);
    clock.setMs = 7_200_000;
    await time.pass(CLOCK_LOOK_MS + LATE_GRACE_MS - 1_000);
    expect(stopped).toEqual([]);
    await time.pass(2_000);
    expect(stopped).toHaveLength(1);
  });

  it('AG-172, AG-461: a heartbeat just before begins the time again, for each to the millisecond', async () => {
    const { time, watch, stopped, heartbeat } = setup([alloc('a', 5), alloc('b', 7)]);
    watch.start();
    await time.pass(4_999);
    heartbeat();
    await time.pass(5_000);
    expect(stopped).toEqual([]);
    await time.pass(1);
    expect(stopped).toEqual(['a 10000']);
    await time.pass(2_000);
    expect(stopped).toEqual(['a 10000', 'b 12000']);
    expect(time.pending).toBe(0);
  });

  it('AG-173: without contact since the start it runs from there, with a grace for what was taken up again', async () => {
    const { time, watch, stopped, without } = setup([alloc('new', 5), alloc('old', 5, true)]);
    without();
    watch.start();
    await time.pass(5_001 + RESTORED_GRACE_MS);
    expect(stopped).toEqual(['new 5001', `old ${5_001 + RESTORED_GRACE_MS}`]);
  });

  it('AG-175: one that comes after the contact is back is watched, though another was stopped before', async () => {
    const { time, watch, living, stopped, heartbeat } = setup([alloc('a', 5)]);
    watch.start();
    await time.pass(6_000);
    heartbeat();
    living.set('b', alloc('b', 5));
    watch.stopOverdue();
    await time.pass(6_000);
    expect(stopped).toEqual(['a 5001', 'b 11001']);
  });

  it('AG-171, AG-172: a clock that is set forward is no time without contact', async () => {
    const { time, watch, stopped } = setup([alloc('a', 5)]);
    watch.start();
    await time.pass(2_000);
    time.freeze(3_600_000);
    watch.stopOverdue(); // a list of the servers was applied
    await time.pass(5_000);
    expect(stopped).toEqual([]);
    await time.pass(1);
    expect(stopped).toEqual(['a 3607001']);
  });

  it('AG-171: a machine that stood still for longer than that gets no more than the time of a heartbeat', async () => {
    const { time, watch, stopped } = setup([alloc('a', 3_600)]);
    watch.start();
    time.freeze(7_200_000);
    await time.pass(LATE_GRACE_MS);
    expect(stopped).toEqual([]);
    await time.pass(1);
    expect(stopped).toEqual(['a 7250001']);
  });

  it('one that is stopped stops nothing', async () => {
    const { time, watch, stopped } = setup([alloc('a', 5)]);
    watch.start();
    watch.stop();
    await time.pass(60_000);
    expect(stopped).toEqual([]);
    expect(time.pending).toBe(0);
  });
});
