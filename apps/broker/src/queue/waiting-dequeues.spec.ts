import { FakeTime, NotHolderError } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import type { Delivery } from './waiting-dequeues.js';
import { WaitingDequeues } from './waiting-dequeues.js';

const TIMEOUT_MS = 60_000;

function waiting() {
  const time = new FakeTime();
  const ready: Delivery[] = [];
  const dequeues = new WaitingDequeues(time, () => ready.shift());
  const arrive = (): Delivery => {
    const delivery: Delivery = {
      evaluation: fixtures.anEval(),
      token: 'token',
      waitIndex: 0,
      dueNs: 0,
      enqueuedAtMs: 0,
    };
    ready.push(delivery);
    dequeues.signal('service');
    dequeues.serve();
    return delivery;
  };
  return { time, dequeues, arrive };
}

describe('a dequeue that waits', () => {
  it('leaves no timer behind when it is answered', async () => {
    const { time, dequeues, arrive } = waiting();
    const answered = dequeues.wait(['service', 'batch'], TIMEOUT_MS, false);
    expect(time.pending).toBe(1);
    const delivery = arrive();
    expect(await answered).toBe(delivery);
    expect(time.pending).toBe(0);
  });

  it('leaves no timer behind when the broker is disabled', async () => {
    const { time, dequeues } = waiting();
    const failed = expect(dequeues.wait(['service'], TIMEOUT_MS, false)).rejects.toThrow(NotHolderError);
    const parked = dequeues.wait(['service'], TIMEOUT_MS, true);
    dequeues.endAll();
    await failed;
    expect(await parked).toBeNull();
    expect(time.pending).toBe(0);
  });

  it('is answered with nothing at its timeout, and takes nothing afterwards', async () => {
    const { time, dequeues, arrive } = waiting();
    const late = dequeues.wait(['service'], TIMEOUT_MS, false);
    await time.pass(TIMEOUT_MS);
    expect(await late).toBeNull();
    const next = dequeues.wait(['service'], 0, false);
    const delivery = arrive();
    expect(await next).toBe(delivery);
    expect(time.pending).toBe(0);
  });
});
