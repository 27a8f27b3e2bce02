import { FakeTime, type NodeEvent } from '@waybill/model';
import { silentLogger } from '@waybill/telemetry';
import { describe, expect, it } from 'vitest';
import { EVENTS_RETRY_MS, MAX_PENDING_EVENTS, NodeEvents } from './node-events.js';

function setup() {
  const time = new FakeTime();
  const told: string[][] = [];
  let outcome: () => Promise<void> = async () => {};
  const events = new NodeEvents({
    send: async (all: readonly NodeEvent[]) => {
      told.push(all.map(({ Message }) => Message));
      await outcome();
    },
    clock: time,
    timers: time,
    logger: silentLogger,
  });
  const emit = (Message: string): void => events.emit({ Subsystem: 'Storage', Message, Details: null });
  return { time, told, emit, events, answer: (next: () => Promise<void>) => (outcome = next) };
}

describe('what happens on a machine', () => {
  it('AG-26: is told in order, one request at a time, and again if that failed', async () => {
    const { time, told, emit, answer } = setup();
    answer(() => Promise.reject(new Error('nobody')));
    emit('a');
    await time.pass(EVENTS_RETRY_MS - 1);
    answer(async () => {});
    expect(told).toEqual([['a']]);
    emit('b');
    await time.pass(EVENTS_RETRY_MS);
    expect(told).toEqual([['a'], ['a', 'b']]);
  });

  it('what cannot be told for long is forgotten, the oldest first; one that ends tells nothing more', async () => {
    const { time, told, emit, events, answer } = setup();
    answer(() => Promise.reject(new Error('nobody')));
    for (let i = 0; i < MAX_PENDING_EVENTS + 5; i++) emit(String(i));
    await time.pass(EVENTS_RETRY_MS);
    expect([told.at(-1)?.length, told.at(-1)?.[0]]).toEqual([MAX_PENDING_EVENTS, '5']);
    events.stop();
    const before = told.length;
    await time.pass(10 * EVENTS_RETRY_MS);
    expect(told).toHaveLength(before);
  });
});
