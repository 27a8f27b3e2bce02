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

  it('leaves nothing behind when its timeout has passed, also one that was parked', async () => {
    const { time, dequeues } = waiting();
    const answers = [true, false].map((parked) => dequeues.wait(['service', 'batch'], TIMEOUT_MS, parked));
    expect(dequeues.size).toBe(2);
    await time.pass(TIMEOUT_MS);
    expect([await Promise.all(answers), dequeues.size]).toEqual([[null, null], 0]);
  });

  it('gets what became ready while another type was served', async () => {
    const ready = new Map<string, string[]>([
      ['a', []],
      ['b', ['one of b']],
    ]);
    const asked: string[] = [];
    const dequeues: WaitingDequeues = new WaitingDequeues(new FakeTime(), ([type = '']) => {
      asked.push(type);
      const token = ready.get(type)?.shift();
      if (token === undefined) return undefined;
      if (type === 'b') {
        ready.set('a', ['one of a']);
        dequeues.signal('a');
      }
      return { evaluation: fixtures.anEval(), token, waitIndex: 0, dueNs: 0, enqueuedAtMs: 0 };
    });
    const answers = ['a', 'b'].map((type) => dequeues.wait([type], 0, false));
    for (const type of ['a', 'b']) dequeues.signal(type);
    dequeues.serve();
    expect((await Promise.all(answers)).map((answer) => answer?.token)).toEqual(['one of a', 'one of b']);
    void dequeues.wait(['a'], 0, false);
    asked.length = 0;
    dequeues.serve();
    expect(asked).toEqual([]); // nothing became ready since
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
