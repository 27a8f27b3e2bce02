import { connect, ensureStreams, type NatsLink, serverTime } from '@waybill/journal';
import type { Stack } from '@waybill/embedded';
import type { Clock } from '@waybill/model';
import { monotonicClock } from '@waybill/roles';
import { MachineClock, systemTimers } from '@waybill/service';
import { silentLogger } from '@waybill/telemetry';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startEmptyStack } from '../support/begun-databases.js';
import { eventually } from '../support/wait.js';

const HOUR_MS = 3_600_000;
/** What a slow answer of NATS may be wrong by, and more. */
const NEAR_MS = 3_000;

let stack: Stack;
let link: NatsLink;

beforeAll(async () => {
  stack = await startEmptyStack();
  link = await connect({ url: stack.natsUrl, name: 'test' });
  await ensureStreams(link, { replicas: 1 });
}, 120_000);
afterAll(async () => {
  await link?.close();
  await stack?.stop();
});

it('NATS says what time it is', async () => {
  const time = await serverTime(link);
  expect(Math.abs(time!.unixMs - Date.now())).toBeLessThan(NEAR_MS);
  expect(time!.tripMs).toBeGreaterThan(0);
});

it.each([HOUR_MS, -HOUR_MS, 24 * HOUR_MS, -24 * HOUR_MS])(
  'the clock of a process that is set %d ms off beside NATS stays right, and so it does when it was wrong from the start',
  async (off) => {
    let offMs = off;
    const wall: Clock = { nowMs: () => Date.now() + offMs };
    const clock = new MachineClock({
      clocks: { wall, monotonic: monotonicClock },
      timers: systemTimers,
      logger: silentLogger,
    });
    try {
      await clock.attend(() => serverTime(link));
      await eventually('it believes NATS', () => Math.abs(clock.nowMs() - Date.now()) < NEAR_MS);
      offMs = 0;
      await eventually('it is right', () => Math.abs(clock.nowMs() - Date.now()) < NEAR_MS);
      offMs = off;
      expect(Math.abs(clock.nowMs() - Date.now())).toBeLessThan(NEAR_MS);
    } finally {
      clock.stop();
    }
  },
);
