import { describe, expect, it } from 'vitest';
import { indexIn, NameIndex } from './name-index.js';

const named = (...indexes: number[]) => indexes.map((i) => ({ Name: `web.g[${i}]` }));
const indexes = (names: Iterable<string>): number[] => [...names].map(indexIn);
const of = (count: number, ...used: number[]) => new NameIndex('web', 'g', count, named(...used));

describe('names of a group', () => {
  it('SC-206: the lowest unused ones below Count come first, then all from 0 on once more', () => {
    expect(of(3).next(2)).toEqual(['web.g[0]', 'web.g[1]']);
    expect(indexes(of(5, 0, 2).next(2))).toEqual([1, 3]);
    expect(indexes(of(3, 1).next(5))).toEqual([0, 2, 0, 1, 2]);
    const index = of(3);
    expect([indexes(index.next(1)), indexes(index.next(1)), indexes(index.next(0))]).toEqual([[0], [1], []]);
  });

  it('SC-206: a name that canaries alone use is free, one that others use as well is not', () => {
    const canaries = [{ name: 'web.g[0]' }, { name: 'web.g[1]' }];
    expect(indexes(of(3, 0, 1, 1).next(2, canaries))).toEqual([0, 2]);
    expect(indexes(of(3, 0, 0).next(1, [...canaries, { name: 'web.g[0]' }]))).toEqual([0]);
  });

  it('SC-208: canaries take the names of what they will replace, then unused ones, then those above Count', () => {
    expect(indexes(of(4, 0, 1, 3).nextCanaries(2, [], named(3, 1)))).toEqual([1, 3]);
    expect(indexes(of(4, 0, 1, 3).nextCanaries(3, [], named(3)))).toEqual([3, 2, 4]);
    expect(indexes(of(2, 0, 1).nextCanaries(2, [], []))).toEqual([2, 3]);
    expect(indexes(of(2, 0, 1).nextCanaries(1, [], named(5)))).toEqual([2]);
    expect(indexes(of(3, 0, 1).nextCanaries(2, named(0, 2), named(0, 1)))).toEqual([1, 3]);
  });

  it('SC-207: the highest names in use are taken out, once each', () => {
    const index = of(5, 0, 4, 2, 4);
    expect(indexes(index.highest(2))).toEqual([4, 2]);
    expect(indexes(index.highest(5))).toEqual([0]);
    expect(indexes(index.next(2))).toEqual([0, 1]);
  });

  it('a name that is released as often as it was used is free again', () => {
    const index = of(3, 0, 0, 1);
    index.release('web.g[0]');
    expect(indexes(index.next(1))).toEqual([2]);
    index.release('web.g[0]');
    index.release('web.g[0]');
    expect(indexes(index.next(1))).toEqual([0]);
    const canaries = of(2, 0, 1);
    canaries.release('web.g[0]');
    expect(indexes(canaries.nextCanaries(1, [], []))).toEqual([0]);
  });

  it('SC-149: a replacement has the name of the original; of two with one name, one takes the next that is free', () => {
    expect(of(3, 1).successorOf('web.g[1]')).toBe('web.g[1]');
    expect(of(3, 2).successorOf('web.g[1]')).toBe('web.g[1]');
    const index = of(3, 0, 1, 1);
    expect(index.successorOf('web.g[1]')).toBe('web.g[2]');
    expect(index.successorOf('web.g[1]')).toBe('web.g[1]');
    expect(of(2, 0, 1, 1).successorOf('web.g[1]')).toBe('web.g[1]');
  });

  it('SC-10: a name without a readable index counts as 0', () => {
    expect([indexIn('web.g[7]'), indexIn('web'), indexIn('')]).toEqual([7, 0, 0]);
    expect(indexes(new NameIndex('web', 'g', 2, [{ Name: 'odd' }]).next(1))).toEqual([1]);
  });
});
