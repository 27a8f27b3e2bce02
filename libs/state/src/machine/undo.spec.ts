import { describe, expect, it } from 'vitest';
import { undone, undoOf } from './undo.js';

describe('the undo of a change (API-268)', () => {
  it.each<[string, object, object | undefined, object]>([
    ['a member that changed', { a: 1, b: 2 }, { a: 1, b: 3 }, { set: { b: 2 } }],
    ['a member that joined', { a: 1 }, { a: 1, b: 2 }, { set: {}, unset: ['b'] }],
    ['a member that left', { a: 1, b: 2 }, { a: 1 }, { set: { b: 2 } }],
    ['one that left while another joined', { a: 1, b: 2 }, { a: 1, c: 3 }, { set: { b: 2 }, unset: ['c'] }],
    ['a member of equal content', { a: { x: [1] } }, { a: { x: [1] } }, { set: {} }],
    ['a member that became undefined', { a: 1 }, { a: undefined }, { set: { a: 1 } }],
    ['a member that stays undefined', { a: undefined }, { a: undefined }, { set: {} }],
    ['an undefined member that left', { a: undefined }, {}, { set: { a: undefined } }],
    ['a deleted row', { a: 1, b: 2 }, undefined, { set: { a: 1, b: 2 } }],
  ])('API-268: %s comes back', (_what, before, after, undo) => {
    expect(undoOf(before, after)).toEqual(undo);
    expect(undone(after, undoOf(before, after))).toStrictEqual(before);
  });

  it('API-268: a member that is kept elsewhere is neither set nor removed', () => {
    expect(undoOf({ a: 1, Job: 'old' }, { a: 2, Job: 'new' }, 'Job')).toEqual({ set: { a: 1 } });
    expect(undoOf({ a: 1 }, { a: 1, Job: 'new' }, 'Job')).toEqual({ set: {} });
    expect(undoOf({ a: 1, Job: 'old' }, undefined, 'Job')).toEqual({ set: { a: 1 } });
  });
});
