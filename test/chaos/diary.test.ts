import { expect, it } from 'vitest';
import { linesOf, livingOf } from './diary.js';

it('tells processes apart that had the same number one after the other', () => {
  const lines = linesOf(
    'web a 7 begun\nbatch b 8 begun\nbatch b 8 ended\nother c 7 begun\nbatch d 8 begun\nbatch d 8 ended\n',
  );
  const [web, batch, batchEnd, other, again, againEnd] = lines;
  expect(lines.map(({ job, alloc, what }) => `${job} ${alloc} ${what}`)).toEqual([
    'web a begun',
    'batch b begun',
    'batch b ended',
    'other c begun',
    'batch d begun',
    'batch d ended',
  ]);
  expect([web?.pid, batch?.pid]).toEqual([7, 8]);
  expect(batchEnd?.pid).toBe(batch?.pid);
  expect(againEnd?.pid).toBe(again?.pid);
  expect(new Set([web, other, batch, again].map((line) => line?.pid)).size).toBe(4);
  expect(livingOf(lines, (number) => number === 7)).toEqual(new Set([other?.pid]));
});
