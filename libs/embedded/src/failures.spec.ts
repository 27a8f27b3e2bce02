import { expect, it } from 'vitest';
import { DiskFullError, NatsServerBinaryError, isNamedFailure } from './failures.js';

it('tells what a person can act on from a bug', () => {
  expect(isNamedFailure(new DiskFullError('/data'))).toBe(true);
  expect(isNamedFailure(new NatsServerBinaryError('missing'))).toBe(true);
  expect(isNamedFailure(new TypeError('undefined is not a function'))).toBe(false);
  expect(isNamedFailure('text')).toBe(false);
});
