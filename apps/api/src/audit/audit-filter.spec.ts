import { expect, it } from 'vitest';
import { type FilterQuestion, leavesOut } from './audit-filter.js';

const question = (members: Partial<FilterQuestion> = {}): FilterQuestion => ({
  endpoint: '/v1/agent/health',
  route: '/v1/agent/health',
  operation: 'GET',
  stage: 'OperationReceived',
  status: undefined,
  ...members,
});

const HEALTH = { name: 'health', endpoints: ['/v1/agent/*'], stages: ['*' as const], operations: ['GET', 'HEAD'] };
const EVERYTHING = { name: 'all', endpoints: ['*'], stages: ['*' as const], operations: ['*'] };

it('AU-280: endpoint, stage and operation must match, each by any of its patterns', () => {
  const hides = leavesOut([HEALTH]);
  expect(hides(question())).toBe(true);
  expect(hides(question({ operation: 'PUT' }))).toBe(false);
  expect(hides(question({ endpoint: '/v1/jobs' }))).toBe(false);
  const received = leavesOut([{ ...HEALTH, stages: ['OperationReceived'] }]);
  expect(received(question())).toBe(true);
  expect(received(question({ stage: 'OperationComplete', status: 200 }))).toBe(false);
  expect(leavesOut([])(question())).toBe(false);
});

it('AU-280: a request that was answered 403 is never left out', () => {
  const hides = leavesOut([EVERYTHING]);
  expect(hides(question({ stage: 'OperationComplete', status: 200 }))).toBe(true);
  expect(hides(question({ stage: 'OperationComplete', status: 403 }))).toBe(false);
});

it.each([
  ['/v1/acl/tokens', '/v1/acl/tokens', false],
  ['/v1/acl', undefined, false],
  ['/v1/%61cl/tokens', '/v1/acl/tokens', false],
  ['/v1/aclx', undefined, true],
])('AU-280: of %s, whose route is %s, a filter leaves out: %s', (endpoint, route, out) => {
  expect(leavesOut([EVERYTHING])(question({ endpoint, route }))).toBe(out);
});
