import { FakeTime } from '@waybill/model';
import { expect, it } from 'vitest';
import { Pace } from './pace.js';

it('a reader that pauses as it is told keeps the rate', async () => {
  const time = new FakeTime();
  const began = time.nowMs();
  const pace = new Pace(1_000_000, time);
  for (let i = 0; i < 100; i++) await time.pass(pace.pauseAfter(50_000));
  expect(time.nowMs() - began).toBe(5_000);
});

it('the time that reading takes counts, and time that nobody read is not caught up with', async () => {
  const time = new FakeTime();
  const pace = new Pace(1_000, time);
  expect(pace.pauseAfter(1_000)).toBe(1_000);
  await time.pass(400);
  expect(pace.pauseAfter(500)).toBe(1_100);
  await time.pass(3_600_000);
  expect(pace.pauseAfter(1_000)).toBe(1_000);
});
