import type { Applied } from '@waybill/state';
import { expect, it } from 'vitest';
import { MAX_REMEMBERED_TRACES, PlacementTraces } from './placement-traces.js';

function setup() {
  let tell: (applied: Applied) => void = () => {};
  let listens = true;
  const traces = new PlacementTraces({
    onApplied: (listener) => {
      tell = listener;
      return () => (listens = false);
    },
  });
  const apply = (index: number, traceparent: string | undefined, changes: object[]): void =>
    tell({ index, txn: { traceparent }, changes } as unknown as Applied);
  const placed = (key: string, index: number, traceparent?: string, AllocModifyIndex = index): void =>
    apply(index, traceparent, [{ table: 'allocs', key, after: { AllocModifyIndex } }]);
  return { traces, apply, placed, listens: () => listens };
}

it('an allocation belongs to the trace of the transaction that a scheduler wrote it with last', () => {
  const { traces, placed, apply, listens } = setup();
  placed('a', 1, 'first');
  placed('a', 2, 'report', 1);
  placed('b', 3);
  apply(4, 'other', [{ table: 'nodes', key: 'a', after: { AllocModifyIndex: 4 } }]);
  expect([traces.of('a'), traces.of('b')]).toEqual(['first', undefined]);
  placed('a', 5, 'second');
  expect(traces.of('a')).toBe('second');
  apply(6, 'gc', [{ table: 'allocs', key: 'a', before: {} }]);
  expect(traces.of('a')).toBeUndefined();
  traces.stop();
  expect(listens()).toBe(false);
});

it('beyond the limit the trace that was remembered first makes room', () => {
  const { traces, placed } = setup();
  for (let n = 0; n < MAX_REMEMBERED_TRACES; n++) placed(`${n}`, 1, 'trace');
  placed('0', 2, 'again');
  placed('new', 3, 'trace');
  expect(['0', '1', '2', 'new'].map((id) => traces.of(id))).toEqual(['again', undefined, 'trace', 'trace']);
});
