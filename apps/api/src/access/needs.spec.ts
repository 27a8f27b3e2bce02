import { expect, it } from 'vitest';
import { byPart, inQuery, management, needOf } from './needs.js';
import type { RoutedRequest } from '../http/routed-request.js';

const needs = byPart(({ params }) => params['action'], { '': inQuery('read-job'), create: inQuery('submit-job') });
const asking = (action?: string): RoutedRequest => ({
  url: '',
  params: action === undefined ? {} : { action },
  query: {},
  routeOptions: {},
});

it('a part of a route has its own need, and the route itself that of none', () => {
  expect(needOf(needs, asking('create'))).toEqual(inQuery('submit-job'));
  expect(needOf(needs, asking())).toEqual(inQuery('read-job'));
});

it('OP-170: a part that nobody declared is for management only, also where every object has such a member', () => {
  for (const part of ['Create', 'create ', '%63reate', 'constructor', '__proto__', 'toString', 'hasOwnProperty'])
    expect(needOf(needs, asking(part)), part).toBe(management);
});
