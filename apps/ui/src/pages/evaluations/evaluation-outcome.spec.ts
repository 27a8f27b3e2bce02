import { expect, it } from 'vitest';
import type { Evaluation } from '../../api/contract.js';
import { causeOf, outcomeOf } from './evaluation-outcome.js';

const outcome = (of: object): string => outcomeOf(of as Evaluation);

it('says what came of an evaluation', () => {
  expect(outcome({ Status: 'complete' })).toBe('Done');
  expect(outcome({ Status: 'pending' })).toBe('Waits for a scheduler');
  expect(outcome({ Status: 'pending', WaitUntil: '2026-01-01T00:00:00Z' })).toBe('Waits for its time');
  expect(outcome({ Status: 'blocked' })).toContain('Waits for room');
  const FailedTGAllocs = { a: { CoalescedFailures: 2 }, b: { CoalescedFailures: 0 } };
  expect(outcome({ Status: 'complete', FailedTGAllocs })).toBe('4 not placed');
  expect(outcome({ Status: 'complete', FailedTGAllocs, BlockedEval: 'e' })).toBe(
    '4 not placed, the rest waits for room',
  );
});

it('says why there was one, with the API’s word where there is no better one', () => {
  expect(causeOf({ TriggeredBy: 'node-drain' })).toBe('a machine is drained');
  expect(causeOf({ TriggeredBy: 'new-cause' })).toBe('new-cause');
});
