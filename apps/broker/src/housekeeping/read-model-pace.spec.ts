import { SimulatedTime } from '@waybill/model';
import { beforeEach, describe, expect, it } from 'vitest';
import { READABLE_LIMIT_MS, ReadModelBehindError, ReadModelPace } from './read-model-pace.js';

let time: SimulatedTime;
let pace: ReadModelPace;

beforeEach(() => {
  time = new SimulatedTime();
  pace = new ReadModelPace(time);
});

describe('the pace of the read model', () => {
  it('what it has already, nobody waits for', async () => {
    pace.heard(7);
    await pace.readable(7);
    expect(time.armedCount).toBe(0);
  });

  it('each waits for its own index, whatever is heard late', async () => {
    const done: number[] = [];
    const waiting = [5, 7].map((index) => pace.readable(index).then(() => done.push(index)));
    pace.heard(6);
    pace.heard(3);
    await waiting[0];
    expect(done).toEqual([5]);
    pace.heard(9);
    await waiting[1];
    expect([done, time.armedCount]).toEqual([[5, 7], 0]);
  });

  it('a read model that stands still ends the wait', async () => {
    pace.heard(2);
    const waiting = expect(pace.readable(5)).rejects.toThrow(ReadModelBehindError);
    time.advance(READABLE_LIMIT_MS);
    await waiting;
    expect(time.armedCount).toBe(0);
  });
});
