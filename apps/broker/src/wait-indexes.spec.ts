import { fixtures, type StateMachine } from '@waybill/state';
import { beforeEach, expect, it } from 'vitest';
import { WaitIndexes } from './wait-indexes.js';

let machine: StateMachine;
let waitIndexes: WaitIndexes;

beforeEach(() => {
  machine = fixtures.aMachine();
  waitIndexes = new WaitIndexes(machine.tables);
});

/** Writes evaluations, and has the cache follow. @returns index of the transaction */
function write(...Evals: ReturnType<typeof fixtures.anEval>[]): number {
  const applied = fixtures.apply(machine, 'EvalUpdate', { Evals });
  for (const change of applied.changes) waitIndexes.changed(change);
  return applied.index;
}

function reap(id: string): void {
  const deletion = { EvalIDs: [id], AllocIDs: [], ScanIndex: machine.appliedIndex, UserInitiated: false };
  const { changes } = fixtures.apply(machine, 'EvalDelete', deletion);
  expect(machine.tables.evals.has(id)).toBe(false);
  for (const change of changes) waitIndexes.changed(change);
  waitIndexes.changed({ table: 'evals', key: 'x', before: undefined, after: undefined });
}

const anEnded = (JobID: string) => fixtures.anEval({ JobID, Status: 'complete' });

it('EB-67, EB-68: a job waits for the newest of its own evaluations, whichever row comes first', () => {
  const first = fixtures.anEval({ JobID: 'web' });
  write(first);
  write(fixtures.anEval({ JobID: 'web' }));
  const newest = write(first);
  write(fixtures.anEval({ JobID: 'other' }));
  expect(waitIndexes.highestOf('default', 'web')).toBe(newest);
  expect(waitIndexes.highestOf('elsewhere', 'web')).toBe(0);
});

it('EB-67: what is known follows the log: a later evaluation counts, one of another job does not', () => {
  write(fixtures.anEval({ JobID: 'web' }));
  waitIndexes.highestOf('default', 'web');
  const later = write(fixtures.anEval({ JobID: 'web' }));
  write(fixtures.anEval({ JobID: 'other' }));
  expect(waitIndexes.highestOf('default', 'web')).toBe(later);
});

it('EB-67: a job that had no evaluation is looked up anew', () => {
  expect(waitIndexes.highestOf('default', 'web')).toBe(0);
  const first = write(fixtures.anEval({ JobID: 'web' }));
  expect(waitIndexes.highestOf('default', 'web')).toBe(first);
});

it('EB-67: a deleted evaluation still counts, until the job has none', () => {
  const [older, newer] = [anEnded('web'), anEnded('web')];
  write(older);
  const index = write(newer);
  waitIndexes.highestOf('default', 'web');
  reap(newer.ID);
  expect(waitIndexes.highestOf('default', 'web')).toBe(index);
  reap(older.ID);
  expect(waitIndexes.highestOf('default', 'web')).toBe(0);
});

it('EB-334: a term begins without what the term before it knew', () => {
  const evaluation = anEnded('web');
  write(evaluation);
  waitIndexes.highestOf('default', 'web');
  waitIndexes.clear();
  machine.tables.evals.replace(evaluation.ID, undefined);
  expect(waitIndexes.highestOf('default', 'web')).toBe(0);
});

it('changes of other tables say nothing about evaluations', () => {
  const index = write(fixtures.anEval({ JobID: 'web' }));
  waitIndexes.highestOf('default', 'web');
  const { changes } = fixtures.apply(machine, 'JobRegister', fixtures.aRegistration(fixtures.aJob({ ID: 'web' })));
  for (const change of changes) waitIndexes.changed(change);
  expect(waitIndexes.highestOf('default', 'web')).toBe(index);
});
