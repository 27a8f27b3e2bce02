import { describe, expect, it } from 'vitest';
import { RegistrationTurns } from './registration-turns.js';

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

describe('turns of registrations', () => {
  it('a few at a time, in order of arrival', async () => {
    const turns = new RegistrationTurns(2);
    const { begun, work, endNext } = heldUp();
    const all = [0, 1, 2, 3].map((number) => turns.runInTurn(work(number)));
    expect([begun, turns.size]).toEqual([[0, 1], 2]);
    endNext();
    expect(await all[0]).toBe(0);
    expect(begun).toEqual([0, 1, 2]);
    for (let i = 0; i < 3; i++) {
      endNext();
      await all[i + 1];
    }
    expect([await Promise.all(all), turns.size]).toEqual([[0, 1, 2, 3], 0]);
  });

  it('a line that has emptied forms again', async () => {
    const turns = new RegistrationTurns(1);
    for (const round of [0, 1]) {
      const { begun, work, endNext } = heldUp();
      const all = [0, 1, 2].map((number) => turns.runInTurn(work(number)));
      for (const one of all) {
        endNext();
        await one;
      }
      expect([begun, turns.size], `round ${round}`).toEqual([[0, 1, 2], 0]);
    }
  });

  it('one that fails gives its place on', async () => {
    const turns = new RegistrationTurns(1);
    const failing = turns.runInTurn(() => Promise.reject(new Error('log unavailable')));
    const next = turns.runInTurn(async () => 'next');
    await expect(failing).rejects.toThrow('log unavailable');
    expect(await next).toBe('next');
  });

  it('beyond its limit it refuses at once', async () => {
    const turns = new RegistrationTurns(1, 1);
    const { work } = heldUp();
    void turns.runInTurn(work(0));
    void turns.runInTurn(work(1));
    await expect(turns.runInTurn(work(2))).rejects.toMatchObject({ code: 'limit' });
  });
});
