import { describe, expect, it } from 'vitest';
import { newAllocation } from './evaluations/allocation.js';
import { unpackObjects, packObjects, type PackedObjects } from './similar-objects.js';
import { randomOf } from './similar-objects.fixture.js';

const overJson = (list: readonly object[]): object[] => unpackObjects(JSON.parse(JSON.stringify(packObjects(list))));

describe('objects that are much alike', () => {
  it.each<[string, object[]]>([
    ['none', []],
    ['one', [{ a: 1 }]],
    ['equal ones', [{ a: { b: [1] } }, { a: { b: [1] } }]],
    [
      'another value, also none',
      [
        { a: 1, b: 'x' },
        { a: null, b: 'x' },
        { a: { c: 1 }, b: [] },
      ],
    ],
    ['a member less, one more, others', [{ a: 1, b: 2 }, { a: 1 }, { a: 1, b: 2, c: 3 }, { c: 1, d: 2 }, {}]],
    ['lists of other lengths', [{ a: [1, 2] }, { a: [1] }, { a: [] }, { a: [1, 3] }, { a: [1, 2, 3] }]],
    ['a list for an object', [{ a: ['x'] }, { a: { 0: 'x' } }, { a: ['x'] }]],
    ['an object for a list', [{ a: { 0: 'x' } }, { a: ['x'] }]],
    ['the name that marks', [{ a: { '=': 1 } }, { a: { '=': 2 } }, { '=': 1 }, { a: { '=': { '=': 3 } } }]],
    ['a name that objects inherit', [{ a: { b: 1 } }, JSON.parse('{"a":{"__proto__":1}}'), { a: { toString: 1 } }]],
    ['that name in both', [JSON.parse('{"__proto__":{"a":1}}'), JSON.parse('{"__proto__":{"a":2}}')]],
  ])('come back from JSON as they were: %s', (_, list) => {
    expect(JSON.stringify(overJson(list))).toBe(JSON.stringify(list));
  });

  it('come back as JSON alone would give them where a member is undefined', () => {
    const list = [{ a: 1, b: undefined }, { a: undefined, b: 2 }, { a: 1 }];
    expect(overJson(list)).toStrictEqual(JSON.parse(JSON.stringify(list)));
  });

  it.each<[string, object]>([
    ['a column that is missing', { First: { a: 1 }, Others: 1, Differing: { a: 0 }, Columns: [] }],
    ['a column too short', { First: { a: 1 }, Others: 2, Differing: { a: 0 }, Columns: [[2]] }],
    ['another form', [{ a: 1 }, { a: 2 }]],
  ])('are not made up out of %s', (_, told) => {
    expect(() => unpackObjects(told as PackedObjects)).toThrow(RangeError);
  });

  it('say a long value that several have once, and equal columns once', () => {
    const words = ['first', 'second'];
    const list = Array.from({ length: 10 }, (_, n) => ({ n, same: n, word: words[n % 2] }));
    expect(packObjects(list).Columns).toEqual([
      [1, 2, 3, 4, 5, 6, 7, 8, 9],
      { Of: ['second', 'first'], At: [0, 1, 0, 1, 0, 1, 0, 1, 0] },
    ]);
    expect(overJson(list)).toStrictEqual(list);
  });

  it('whatever they are, they come back as they were', () => {
    for (let seed = 1; seed <= 500; seed++) {
      const list = randomOf(seed);
      expect(overJson(list), `seed ${seed}`).toStrictEqual(list);
    }
  });

  it('say once what they share, and share it afterwards', () => {
    const resources = { Tasks: {}, TaskLifecycles: {}, Shared: { Networks: null, DiskMB: 10, Ports: null } };
    const placed = Array.from({ length: 100 }, (_, n) =>
      newAllocation({
        ID: `id-${n}`,
        EvalID: 'e',
        Namespace: 'default',
        JobID: 'j',
        TaskGroup: 'g',
        Name: `j.g[${n}]`,
        NodeID: 'n',
        NodeName: 'node',
        AllocatedResources: structuredClone(resources),
        CreateTime: 1,
      }),
    );
    expect(JSON.stringify(packObjects(placed)).length).toBeLessThan(JSON.stringify(placed).length / 10);
    const read = overJson(placed);
    expect(read).toStrictEqual(placed);
    expect(new Set(read.map((alloc) => (alloc as (typeof placed)[0]).AllocatedResources)).size).toBe(1);
  });
});
