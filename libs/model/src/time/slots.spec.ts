import { describe, expect, it } from 'vitest';
import { Slots } from './slots.js';

const heldUp = () => {
  const ends: (() => void)[] = [];
  const begun: number[] = [];
  const work = (number: number) => async () => {
    begun.push(number);
    await new Promise<void>((resolve) => ends.push(resolve));
    return number;
  };
  return { begun, work, endNext: () => ends.shift()?.() };
};

describe('Slots', () => {
  it('a few at a time, in order of arrival', async () => {
    const slots = new Slots(2);
    const { begun, work, endNext } = heldUp();
    const all = [0, 1, 2, 3].map((number) => slots.use(work(number)));
    expect([begun, slots.size]).toEqual([[0, 1], 2]);
    endNext();
    expect(await all[0]).toBe(0);
    expect(begun).toEqual([0, 1, 2]);
    for (let i = 0; i < 3; i++) {
      endNext();
      await all[i + 1];
    }
    expect([await Promise.all(all), slots.size]).toEqual([[0, 1, 2, 3], 0]);
  });

  it('a line that has emptied forms again', async () => {
    const slots = new Slots(1);
    for (const round of [0, 1]) {
      const { begun, work, endNext } = heldUp();
      const all = [0, 1, 2].map((number) => slots.use(work(number)));
      for (const one of all) {
        endNext();
        await one;
      }
      expect([begun, slots.size], `round ${round}`).toEqual([[0, 1, 2], 0]);
    }
  });

  it('one that fails gives its place on', async () => {
    const slots = new Slots(1);
    const failing = slots.use(() => Promise.reject(new Error('log unavailable')));
    const next = slots.use(async () => 'next');
    await expect(failing).rejects.toThrow('log unavailable');
    expect(await next).toBe('next');
  });

  it('beyond its limit it refuses at once', async () => {
    const slots = new Slots(1, { most: 1, refusal: 'too many wait' });
    const { work } = heldUp();
    void slots.use(work(0));
    void slots.use(work(1));
    await expect(slots.use(work(2))).rejects.toMatchObject({ code: 'limit', message: 'too many wait' });
  });
});
