import { NotHolderError, Refusal } from '@waybill/model';
import { expect, it } from 'vitest';
import { isRejected, refusalOf, type Verdict } from './txn.js';

it('ST-9, ST-15: the writer of a refused transaction gets its refusal, the one of a void one that it holds no role', () => {
  const refused: Verdict = { kind: 'refused', code: 'conflict', error: 'taken' };
  const refusal = refusalOf(refused);
  expect(refusal).toBeInstanceOf(Refusal);
  expect(refusal).not.toBeInstanceOf(NotHolderError);
  expect(refusal).toMatchObject({ code: 'conflict', message: 'taken' });
  const deposed: Verdict = { kind: 'void', error: 'stale epoch' };
  expect(refusalOf(deposed)).toBeInstanceOf(NotHolderError);
  expect([refused, deposed].map(isRejected)).toEqual([true, true]);
  for (const kind of ['accepted', 'noop'] as const) {
    expect(refusalOf({ kind, error: 'a notice' })).toBeUndefined();
    expect(isRejected({ kind })).toBe(false);
  }
});
