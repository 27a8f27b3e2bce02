import { fixtures } from '@waybill/state';
import { expect, it } from 'vitest';
import { differenceOf } from './rewind.js';

it('ST-1: the difference between two states may have any number of rows', () => {
  const [before, after] = [fixtures.aMachine(), fixtures.aMachine()];
  const count = 150_000;
  const row = fixtures.anEval();
  for (let n = 0; n < count; n++) after.tables.evals.replace(`e${n}`, { ...row, ID: `e${n}` });
  const evals = differenceOf(before.tables, after.tables).tables.find(({ table }) => table === 'evals');
  expect([evals?.inserts.length, evals?.updates.length, evals?.removes.length]).toEqual([count, 0, 0]);
}, 60_000);
