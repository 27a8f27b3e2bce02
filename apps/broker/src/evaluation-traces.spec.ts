import { expect, it } from 'vitest';
import { EvaluationTraces, MAX_REMEMBERED_TRACES } from './evaluation-traces.js';

it('an evaluation belongs to the trace of the first transaction that carried it', () => {
  const traces = new EvaluationTraces();
  traces.remember('e', undefined);
  expect(traces.traceparentOf('e')).toBeUndefined();
  traces.remember('e', 'first');
  traces.remember('e', 'second');
  expect(traces.traceparentOf('e')).toBe('first');
});

it('the trace of an evaluation is forgotten with the evaluation, and all at the end of a term', () => {
  const traces = new EvaluationTraces();
  for (const id of ['a', 'b']) traces.remember(id, 'trace');
  traces.forget('a');
  expect(['a', 'b'].map((id) => traces.traceparentOf(id))).toEqual([undefined, 'trace']);
  traces.clear();
  expect(traces.traceparentOf('b')).toBeUndefined();
});

it('beyond the limit the oldest trace makes room, one for each new one', () => {
  const traces = new EvaluationTraces();
  for (let i = 0; i < MAX_REMEMBERED_TRACES; i++) traces.remember(`${i}`, 'trace');
  expect(traces.traceparentOf('0')).toBe('trace');
  traces.remember('new', 'trace');
  expect(['0', '1', 'new'].map((id) => traces.traceparentOf(id))).toEqual([undefined, 'trace', 'trace']);
});
