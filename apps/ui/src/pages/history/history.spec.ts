import { expect, it } from 'vitest';
import { momentsOf } from './compared-moments.js';
import { differences } from './object-differences.js';

it('names the members that differ, however deep, and those that came and went', () => {
  const before = { Count: 1, Tasks: [{ Name: 'a' }, { Name: 'b' }], Meta: null, Same: { a: 1 } };
  const after = { Count: 2, Tasks: [{ Name: 'a' }], Meta: { k: 'v' }, Same: { a: 1 } };
  expect(differences(before, after)).toEqual([
    { path: 'Count', before: '1', after: '2' },
    { path: 'Tasks › 1', before: '{"Name":"b"}', after: undefined },
    { path: 'Meta', before: 'null', after: '{"k":"v"}' },
  ]);
  expect(differences(before, before)).toEqual([]);
});

it('an object that did not exist differs as a whole', () => {
  expect(differences(undefined, { a: 1 })).toEqual([{ path: '', before: undefined, after: '{"a":1}' }]);
});

it('compares the newest state with the one before, unless the address says which', () => {
  expect(momentsOf([9, 7, 4], {})).toEqual({ from: 7, to: 9 });
  expect(momentsOf([9], {})).toEqual({ from: undefined, to: 9 });
  expect(momentsOf([], {})).toEqual({ from: undefined, to: undefined });
  expect(momentsOf([9, 7, 4], { from: '4', to: '7' })).toEqual({ from: 4, to: 7 });
  expect(momentsOf([9, 7, 4], { to: 'x', from: '-1' })).toEqual({ from: 7, to: 9 });
});
