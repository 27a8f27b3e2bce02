import { SimulatedTime } from '@waybill/model';
import { beforeEach, describe, expect, it } from 'vitest';
import { READABLE_LIMIT_MS, ReadModelBehindError, ReadModelIndex } from './read-model-index.js';

let time: SimulatedTime;
let readModel: ReadModelIndex;

beforeEach(() => {
  time = new SimulatedTime();
  readModel = new ReadModelIndex(time);
});

describe('the readModel of the read model', () => {
  it('what it has already, nobody waits for', async () => {
    readModel.advanceTo(7);
    await readModel.waitFor(7);
    expect(time.armedCount).toBe(0);
  });

  it('each waits for its own index, whatever is heard late', async () => {
    const done: number[] = [];
    const waiting = [5, 7].map((index) => readModel.waitFor(index).then(() => done.push(index)));
    readModel.advanceTo(6);
    readModel.advanceTo(3);
    await waiting[0];
    expect(done).toEqual([5]);
    readModel.advanceTo(7);
    await waiting[1];
    expect([done, time.armedCount]).toEqual([[5, 7], 0]);
  });

  it('a read model that stands still ends the wait', async () => {
    readModel.advanceTo(2);
    const waiting = expect(readModel.waitFor(5)).rejects.toThrow(ReadModelBehindError);
    time.advance(READABLE_LIMIT_MS);
    await waiting;
    expect(time.armedCount).toBe(0);
  });
});
