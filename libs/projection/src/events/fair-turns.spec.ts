import { expect, it } from 'vitest';
import { FairTurns, TURNS_AT_ONCE } from './fair-turns.js';

it('turns are taken in the order in which they were asked for, and everything else runs between so many', async () => {
  const rounds: (() => void)[] = [];
  const turns = new FairTurns((run) => rounds.push(run));
  const taken: string[] = [];
  const reads = async (name: string, times: number): Promise<void> => {
    for (let n = 0; n < times; n++) {
      await turns.takeTurn();
      taken.push(name);
    }
  };
  const names = Array.from({ length: TURNS_AT_ONCE + 4 }, (_, n) => `r${n}`);
  const all = Promise.all(names.map((name) => reads(name, 2)));
  const roundEnds = async (): Promise<void> => {
    rounds.shift()?.();
    await new Promise(setImmediate);
  };
  await roundEnds();
  expect(taken).toEqual(names.slice(0, TURNS_AT_ONCE));
  while (rounds.length > 0) await roundEnds();
  await all;
  expect(taken).toEqual([...names, ...names]); // nobody has a second turn before all had the first
});
