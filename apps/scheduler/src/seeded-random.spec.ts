import { expect, it } from 'vitest';
import { SeededRandom } from './seeded-random.js';

const first = (random: SeededRandom, n = 4): number[] => Array.from({ length: n }, () => random.next());

it('SC-41: the same seed gives the same numbers, also in a later program', () => {
  expect(first(new SeededRandom(7n)).map((number) => number * 2 ** 32)).toEqual([
    3_069_104_647, 3_582_417_929, 1_446_471_690, 4_196_707_356,
  ]);
  expect(new SeededRandom(7n).shuffle([0, 1, 2, 3, 4, 5, 6, 7])).toEqual([1, 0, 6, 3, 4, 2, 7, 5]);
});

it('SC-41: another evaluation, or the same one on another state, gives others', () => {
  const id = '00000000-0000-4000-8000-0123456789ab';
  const of = (evalId: string, index: number) => first(SeededRandom.of(evalId, index));
  expect(of(id, 9)).toEqual(of(id, 9));
  expect(of(id, 10)).not.toEqual(of(id, 9));
  expect(of('00000000-0000-4000-8000-0123456789ac', 9)).not.toEqual(of(id, 9));
  expect(of('ffffffff-0000-4000-8000-0123456789ab', 9)).toEqual(of(id, 9)); // the last eight bytes decide
  expect(of('no hex at all, surely', 9)).toEqual(first(new SeededRandom(9n)));
});

it('numbers are at least 0 and below 1; a shuffle keeps every item', () => {
  const numbers = first(new SeededRandom(1n), 200);
  expect(Math.min(...numbers)).toBeGreaterThanOrEqual(0);
  expect(Math.max(...numbers)).toBeLessThan(1);
  expect(new Set(numbers).size).toBe(200);
  const random = new SeededRandom(3n);
  const firsts = new Set<number | undefined>();
  for (let i = 0; i < 60; i++) {
    const shuffled = random.shuffle([1, 2, 3]);
    expect(new Set(shuffled)).toEqual(new Set([1, 2, 3]));
    firsts.add(shuffled[0]);
  }
  expect(firsts.size).toBe(3);
  expect([random.shuffle([]), random.shuffle(['a'])]).toEqual([[], ['a']]);
});
