import { availableParallelism } from 'node:os';
import { describe, expect, it } from 'vitest';
import { readCommandLine } from './command-line.js';
import { SHORT_RUN, SMALL_RUN } from './run-plan.js';

describe('npm run sim', () => {
  it('takes one seed, a range of them, or a time with seeds that nobody has tried', () => {
    expect(readCommandLine(['--seed', '42'], 7)).toMatchObject({ seeds: [42], forMs: undefined, size: SHORT_RUN });
    const range = readCommandLine(['--seeds', '3..5', '--small'], 7);
    expect([...range.seeds]).toEqual([3, 4, 5]);
    expect(range).toMatchObject({ size: SMALL_RUN, jobs: availableParallelism() });
    expect(readCommandLine(['--seeds', '3..5', '--jobs', '3'], 7).jobs).toBe(3);
    expect(readCommandLine(['--seed', '3', '--regions', '2'], 7).size.regions).toBe(2);
    const fresh = readCommandLine(['--minutes', '10'], 7);
    expect(fresh.forMs).toBe(600_000);
    expect(fresh.seeds[Symbol.iterator]().next().value).toBe(7);
  });

  it('refuses what is no seed and no time', () => {
    expect(() => readCommandLine(['--seed', 'x'], 7)).toThrow('"x" is no whole number');
    expect(() => readCommandLine(['--minutes', '0'], 7)).toThrow('no number above 0');
    expect(() => readCommandLine(['--jobs', '0'], 7)).toThrow('somebody has to do it');
    expect(() => readCommandLine(['--regions', '3'], 7)).toThrow('"3" is neither 1 nor 2');
  });
});
