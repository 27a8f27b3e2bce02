import { expect, it } from 'vitest';
import { fixtures } from '../fixtures.js';
import { childRegistration } from './child-registration.js';

const { aJob, aMachine, anEval, apply } = fixtures;

it('API-175: the second child of one launch is refused by its ID; one that is periodic itself has no evaluation', () => {
  const machine = aMachine();
  const child = aJob({ ID: 'web/periodic-1' });
  const register = (evaluation: ReturnType<typeof anEval> | null) =>
    apply(machine, 'JobRegister', childRegistration(child, evaluation));
  const evaluation = anEval({ JobID: child.ID });
  expect(register(evaluation).verdict.kind).toBe('accepted');
  expect(machine.tables.evals.get(evaluation.ID)).toMatchObject({ JobID: child.ID });
  expect(register(null).verdict).toMatchObject({
    kind: 'refused',
    code: 'conflict',
    error: 'Enforcing job modify index 0: job already exists',
  });
  expect(childRegistration(child, null).Eval).toBeNull();
});
