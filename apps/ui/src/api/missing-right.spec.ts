import { expect, it } from 'vitest';
import { missingRight } from './missing-right.js';

const route = (Method: string, Path: string, Part: string, Needs: string) => ({ Method, Path, Part, Needs });
const routes = [
  route('GET', '/v1/job/*', '', 'read'),
  route('GET', '/v1/job/*', 'submission', 'read the text'),
  route('PUT', '/v1/job/*', 'scale', 'scale'),
  route('PUT', '/v1/deployment/*', 'promote', 'promote'),
  route('GET', '/v1/node/:id', '', 'see machines'),
];

it.each([
  ['GET', '/v1/job/web?namespace=default', 'read'],
  ['GET', '/v1/job/web/submission', 'read the text'],
  ['PUT', '/v1/job/web/scale', 'scale'],
  ['PUT', '/v1/deployment/promote/d1', 'promote'],
  ['GET', '/v1/node/n1', 'see machines'],
  ['GET', '/v1/node/n1/allocations', undefined],
])('%s %s needs: %s', (method, path, needs) => expect(missingRight(routes, method, path)).toBe(needs));
