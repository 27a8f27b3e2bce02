import { expect, it } from 'vitest';
import { compareText, oldestFirst } from './row-order.js';

it('ST-3, EV-13: rows are written oldest first, and those of one transaction by ID, in whatever order they are found', () => {
  const [a, b, c] = [
    { ID: 'z', CreateIndex: 1 },
    { ID: 'a', CreateIndex: 2 },
    { ID: 'b', CreateIndex: 2 },
  ];
  const found = [c, b, a];
  expect(oldestFirst(found)).toEqual([a, b, c]);
  expect(oldestFirst([b, c, a])).toEqual([a, b, c]);
  expect(found).toEqual([c, b, a]);
});

it('ST-3: texts compare by code unit, on every machine alike', () => {
  expect([compareText('a', 'a'), compareText('a', 'b'), compareText('b', 'a')]).toEqual([0, -1, 1]);
  expect(['ä', 'z', 'B', 'a', ''].toSorted(compareText)).toEqual(['', 'B', 'a', 'z', 'ä']);
});
