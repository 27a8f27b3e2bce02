import { fixtures } from '@waybill/state';
import { expect, it } from 'vitest';
import { ReadyQueues } from './ready-queues.js';
import { TrackedEvaluation } from './tracked-evaluations.js';

/** Ready evaluations of these types, and the type that is delivered first to a worker of all of them. */
function firstOf(types: readonly string[], chances: number[], priorityOf: (type: string) => number = () => 50): string {
  const queues = new ReadyQueues(() => chances.shift() ?? 0);
  for (const type of types) {
    const evaluation = fixtures.anEval({ Type: type, Priority: priorityOf(type) });
    queues.push(new TrackedEvaluation(evaluation, queues.queueOf(type), 0, false));
  }
  return queues.pop(types)?.evaluation.Type ?? 'none';
}

it.each([
  ['the first', [0.5, 0.34], 'a'],
  ['the second', [0.49, 0.34], 'b'],
  ['the third', [0.5, 0.33], 'c'],
])('EB-62: of three types with equal priority %s has its third of the chances', (_, chances, wanted) => {
  expect(firstOf(['a', 'b', 'c'], chances)).toBe(wanted);
});

it('EB-61: a higher priority leaves no choice, wherever it stands', () => {
  for (const high of ['a', 'b', 'c'])
    expect(firstOf(['a', 'b', 'c'], [0, 0], (type) => (type === high ? 90 : 50))).toBe(high);
  expect(firstOf([], [])).toBe('none');
});
