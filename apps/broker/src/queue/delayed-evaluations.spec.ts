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
    rows: { evaluation: (id) => fixtures.anEval({ ID: id }), highestEvalIndex: () => 0 },
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

it('EB-39: and not before it when the clock was ahead and is set back', () => {
  const { time, broker, setClock } = setup();
  const now = time.nowMs();
  setClock(600_000);
  broker.enqueue(fixtures.anEval({ CreateTime: now * 1e6, WaitUntil: rfc3339FromMs(now + 1_800_000) }));
  time.advance(8_000);
  setClock(-600_000);
  time.advance(1_800_000 - 8_000 - 1);
  expect(broker.stats()).toMatchObject({ totalReady: 0, totalWaiting: 1 });
  time.advance(1);
  expect(broker.stats()).toMatchObject({ totalReady: 1, totalWaiting: 0 });
});

it.each([3_600_000, 86_400_000])(
  'EB-39: what was stored by a clock %d ms ahead waits as long as was meant',
  (ahead) => {
    const { time, broker } = setup();
    const written = time.nowMs() + ahead;
    broker.enqueue(fixtures.anEval({ CreateTime: written * 1e6, WaitUntil: rfc3339FromMs(written + 30_000) }));
    time.advance(29_999);
    expect(broker.stats()).toMatchObject({ totalReady: 0, totalWaiting: 1 });
    time.advance(1);
    expect(broker.stats()).toMatchObject({ totalReady: 1, totalWaiting: 0 });
    expect(time.armedCount).toBe(0);
  },
);

it.each([3_600_000, 86_400_000])('EB-39: and so it is when all clocks were %d ms ahead and are set back', (ahead) => {
  const { time, broker, setClock } = setup();
  setClock(ahead);
  const written = time.nowMs() + ahead;
  broker.enqueue(fixtures.anEval({ CreateTime: written * 1e6, WaitUntil: rfc3339FromMs(written + 30_000) }));
  time.advance(8_000);
  setClock(-ahead);
  time.advance(22_000 - CLOCK_LOOK_MS);
  expect(broker.stats()).toMatchObject({ totalReady: 0, totalWaiting: 1 });
  time.advance(2 * CLOCK_LOOK_MS);
  expect(broker.stats()).toMatchObject({ totalReady: 1, totalWaiting: 0 });
});

it('EB-39: an hour back for some seconds makes nothing early or late', () => {
  const { time, broker, waits, setClock } = setup();
  waits(1_800_000);
  time.advance(1_700_000);
  setClock(-3_600_000);
  time.advance(8_000);
  setClock(3_600_000);
  time.advance(92_000 - 1);
  expect(broker.stats()).toMatchObject({ totalReady: 0, totalWaiting: 1 });
  time.advance(1);
  expect(broker.stats()).toMatchObject({ totalReady: 1, totalWaiting: 0 });
});

it('EB-260: a redelivery waits no longer because the clock was set back', async () => {
  const { time, broker, setClock } = setup();
  broker.enqueue(fixtures.anEval());
  const delivery = await broker.dequeue([fixtures.anEval().Type], 1_000);
  broker.nack(delivery!.evaluation.ID, delivery!.token);
  const waiting = broker.stats().totalWaiting;
  setClock(-3_600_000);
  time.advance(120_000);
  expect([waiting, broker.stats().totalReady]).toEqual([1, 1]);
});
