import { describe, expect, it } from 'vitest';
import { Turns } from './turns.js';

describe('turns', () => {
  it('one at a time for a key, in order, also after one that failed; other keys do not wait', async () => {
    const turns = new Turns();
    const done: string[] = [];
    const ends: (() => void)[] = [];
    const work =
      (name: string, fails = false) =>
      async (): Promise<void> => {
        await new Promise<void>((resolve) => ends.push(resolve));
        done.push(name);
        if (fails) throw new Error(name);
      };
    const first = turns.runInTurn('a', work('a1', true)).catch((error: Error) => error.message);
    const second = turns.runInTurn('a', work('a2'));
    const other = turns.runInTurn('b', work('b1'));
    expect([ends.length, turns.size]).toEqual([2, 2]);
    ends[1]!();
    await other;
    ends[0]!();
    expect(await first).toBe('a1');
    ends[2]!();
    await second;
    expect([done, turns.size]).toEqual([['b1', 'a1', 'a2'], 0]);
  });
});
