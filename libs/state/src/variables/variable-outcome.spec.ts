import { expect, it } from 'vitest';
import { fixtures } from '../fixtures.js';
import { conflict, outcomeOf, variableOutcome } from './variable-outcome.js';

const stored = fixtures.aVariable({
  CreateIndex: 3,
  ModifyIndex: 9,
  Lock: { ID: 'secret', AcquireIndex: 9, TTL: 15e9, LockDelay: 5e9 },
});

it('OP-196, OP-201: a conflict names the index of the variable, and after a lost lock nothing of it', () => {
  expect(conflict('index', stored, stored)).toMatchObject({ Conflict: { Why: 'index', ModifyIndex: 9 } });
  expect(conflict('index', stored, undefined)).toMatchObject({ Conflict: { ModifyIndex: 0 } });
  expect(conflict('lock', stored, stored)).toMatchObject({ Conflict: { Why: 'lock', ModifyIndex: 0 } });
});

it('OP-205: the outcome of a write tells the times of a lock, never its ID', () => {
  expect(outcomeOf(stored)).toEqual({
    Written: { CreateIndex: 3, CreateTime: 0, ModifyIndex: 9, ModifyTime: 0, Lock: { TTL: 15e9, LockDelay: 5e9 } },
  });
  expect(outcomeOf({ ...stored, Lock: null })).toMatchObject({ Written: { Lock: null } });
});

it('OP-196: the outcome is known among the results of other transactions', () => {
  for (const outcome of [outcomeOf(stored), conflict('key', stored, stored)])
    expect(variableOutcome(outcome)).toBe(outcome);
  for (const other of [undefined, null, 7, 'Written', {}, { JobID: 'web' }])
    expect(variableOutcome(other)).toBeUndefined();
});
