import { SimulatedTime } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { Considerate, MAX_REST_MS, REST_PER_WORK } from './considerate.js';

const considerate = (time: SimulatedTime): Considerate =>
  new Considerate(time, (ms) => new Promise((resolve) => void time.after(ms, resolve)));
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('deletions one after the other', () => {
  it('the first begins at once, the next when others had their time', async () => {
    const time = new SimulatedTime();
    const pace = considerate(time);
    const began: number[] = [];
    const start = time.nowMs();
    const work = async (): Promise<string> => {
      began.push(time.nowMs() - start);
      time.advance(100);
      return 'done';
    };
    expect(await pace.runAfterRest(work)).toBe('done');
    const second = pace.runAfterRest(work);
    await settled();
    expect(began).toEqual([0]);
    time.advance(100 * REST_PER_WORK);
    await second;
    expect(began).toEqual([0, 100 + 100 * REST_PER_WORK]);
  });

  it('what took no time costs no rest, and no rest is so long that the delivery would be taken away', async () => {
    const time = new SimulatedTime();
    const pace = considerate(time);
    await pace.runAfterRest(async () => {});
    await pace.runAfterRest(async () => time.advance(60_000));
    expect(time.armedCount).toBe(0);
    let over = false;
    void pace.runAfterRest(async () => void (over = true));
    time.advance(MAX_REST_MS - 1);
    await settled();
    expect(over).toBe(false);
    time.advance(1);
    await settled();
    expect(over).toBe(true);
  });
});
