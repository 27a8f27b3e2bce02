import { expect, it } from 'vitest';
import { parseJobPath } from './job-path.js';

it('API-5: ids with slashes are matched by the suffix of the route', () => {
  expect(parseJobPath('a/b')).toEqual({ id: 'a/b', sub: undefined });
  expect(parseJobPath('x/periodic-1700000000/allocations')).toEqual({
    id: 'x/periodic-1700000000',
    sub: 'allocations',
  });
  expect(parseJobPath('x/dispatch/payload')).toEqual({ id: 'x', sub: 'dispatch/payload' });
  expect(parseJobPath('x/periodic/force')).toEqual({ id: 'x', sub: 'periodic/force' });
});

it('API-6: a job may be called like a route', () => {
  expect(parseJobPath('plan')).toEqual({ id: 'plan', sub: undefined });
  expect(parseJobPath('plan/plan')).toEqual({ id: 'plan', sub: 'plan' });
});
