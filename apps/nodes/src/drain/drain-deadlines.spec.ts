import { CLOCK_LOOK_MS, FakeTime } from '@waybill/model';
import { expect, it } from 'vitest';
import { DrainDeadlines } from './drain-deadlines.js';

/** Deadlines by a clock that can be set. */
function setup() {
  const time = new FakeTime();
  const clock = { setMs: 0, nowMs: () => time.nowMs() + clock.setMs };
  const fired: string[] = [];
  const deadlines = new DrainDeadlines({ clock, timers: time }, (nodeIds) => {
    expect(nodeIds).not.toEqual([]);
    fired.push(...nodeIds);
  });
  return { time, clock, fired, deadlines };
}

it('DR-62: a deadline has passed when the clock says so, also one that was set forward', async () => {
  const { time, clock, fired, deadlines } = setup();
  deadlines.set('node', clock.nowMs() + 3_600_000, 3_600_000);
  await time.pass(60_000);
  clock.setMs = 7_200_000;
  await time.pass(CLOCK_LOOK_MS);
  expect(fired).toEqual(['node']);
  expect(time.pending).toBe(0);
});

it('DR-62: it is waited for on when its timer is a millisecond early by the clock', async () => {
  const { time, clock, fired, deadlines } = setup();
  deadlines.set('node', clock.nowMs() + 60_000, 60_000);
  clock.setMs = -1;
  await time.pass(60_000);
  expect(fired).toEqual([]);
  await time.pass(1);
  expect(fired).toEqual(['node']);
});

it.each([3_600_000, 86_400_000])(
  'DR-62: a deadline stored by a clock %d ms ahead passes when the drain has had its time',
  async (ahead) => {
    const { time, clock, fired, deadlines } = setup();
    deadlines.set('node', clock.nowMs() + ahead + 60_000, 60_000);
    await time.pass(59_999);
    expect(fired).toEqual([]);
    await time.pass(1);
    expect(fired).toEqual(['node']);
  },
);

it('DR-62: and so it does when all clocks were ahead and are set back', async () => {
  const { time, clock, fired, deadlines } = setup();
  clock.setMs = 3_600_000;
  deadlines.set('node', clock.nowMs() + 60_000, 60_000);
  await time.pass(8_000);
  clock.setMs = 0;
  await time.pass(52_000 - CLOCK_LOOK_MS);
  expect(fired).toEqual([]);
  await time.pass(2 * CLOCK_LOOK_MS);
  expect(fired).toEqual(['node']);
});

it('DR-92: without the role no deadline is waited for', async () => {
  const { time, clock, fired, deadlines } = setup();
  deadlines.set('node', clock.nowMs() + 60_000, 60_000);
  deadlines.stop();
  expect([time.pending, deadlines.size]).toEqual([0, 0]);
  await time.pass(60_000);
  expect(fired).toEqual([]);
});

it('DR-65: a deadline that has come does not wait for one that comes soon', async () => {
  const { time, clock, fired, deadlines } = setup();
  deadlines.set('soon', clock.nowMs() + 3_000, 60_000);
  const pending = time.pending;
  deadlines.set('now', clock.nowMs(), 60_000);
  expect(time.pending).toBe(pending);
  await time.pass(0);
  expect(fired).toEqual(['now']);
  await time.pass(3_000);
  expect(fired).toEqual(['now', 'soon']);
});

it('DR-64: a deadline that is dropped is waited for no more', async () => {
  const { time, clock, fired, deadlines } = setup();
  deadlines.set('node', clock.nowMs() + 3_000, 60_000);
  deadlines.drop('other');
  expect(deadlines.size).toBe(1);
  deadlines.drop('node');
  expect([time.pending, deadlines.size]).toEqual([0, 0]);
  await time.pass(3_000);
  expect(fired).toEqual([]);
});
