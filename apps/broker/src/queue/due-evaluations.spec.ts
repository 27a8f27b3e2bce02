import { type Clock, CLOCK_LOOK_MS, rfc3339FromMs, SimulatedTime } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { expect, it } from 'vitest';
import { EvalBroker } from './eval-broker.js';

/** A broker whose clock can be set. */
function setup() {
  const time = new SimulatedTime();
  let setMs = 0;
  const clock: Clock = { nowMs: () => time.nowMs() + setMs };
  const broker = new EvalBroker({
    clock,
    timers: time,
    newId: () => 'token',
    random: () => 0,
    rows: { evaluation: () => undefined, highestEvalIndex: () => 0 },
  });
  broker.setEnabled(true);
  const waits = (ms: number) => broker.enqueue(fixtures.anEval({ WaitUntil: rfc3339FromMs(clock.nowMs() + ms) }));
  return { time, broker, waits, setClock: (ms: number) => void (setMs += ms) };
}

it('EB-39: what waits for a time of day is due at that time, also when the clock was set forward', () => {
  const { time, broker, waits, setClock } = setup();
  waits(1_800_000);
  time.advance(60_000);
  setClock(3_600_000);
  time.advance(CLOCK_LOOK_MS);
  expect(broker.stats()).toMatchObject({ totalReady: 1, totalWaiting: 0 });
  expect(time.armedCount).toBe(0);
});

it('EB-39: and not before it when the clock was set back', () => {
  const { time, broker, waits, setClock } = setup();
  waits(1_800_000);
  setClock(-600_000);
  time.advance(2_400_000 - 1);
  expect(broker.stats()).toMatchObject({ totalReady: 0, totalWaiting: 1 });
  time.advance(1);
  expect(broker.stats()).toMatchObject({ totalReady: 1, totalWaiting: 0 });
});
