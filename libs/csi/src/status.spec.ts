import { expect, it } from 'vitest';
import { nameOf, status } from './status.js';

it('says them as CSI plugins do', () => {
  const { CANCELLED, FAILED_PRECONDITION, INTERNAL } = status;
  expect([CANCELLED, FAILED_PRECONDITION, INTERNAL, 99].map(nameOf)).toEqual([
    'Canceled',
    'FailedPrecondition',
    'Internal',
    'Unknown',
  ]);
});
