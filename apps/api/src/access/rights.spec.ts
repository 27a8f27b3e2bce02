import { Acl } from '@waybill/acl';
import { expect, it } from 'vitest';
import { anonymous } from './caller.js';
import { GuardedRoutes } from './guarded-routes.js';
import { anybody, byPart, inQuery, management, ofVariable } from './needs.js';
import { RequestAccess } from './request-access.js';
import { rightsOf } from './rights.js';

const routes = new GuardedRoutes();
routes.add('GET', '/v1/jobs', inQuery('list-jobs'));
routes.add(
  'PUT',
  '/v1/job/*',
  byPart(() => undefined, { stop: inQuery('submit-job'), plan: inQuery('plan-job') }),
);
routes.add('PUT', '/v1/var/*', ofVariable('write'));
routes.add('GET', '/v1/acl/tokens', management);

const rightsWith = (rules: string, about: object) => {
  const caller = anonymous(Acl.compile([{ name: 'p', modifyIndex: 1, rules }]));
  return rightsOf(routes.all(), new RequestAccess(caller, anybody, 'default', async () => ['default', 'prod']), about);
};

const RULES =
  'namespace "prod" {\n policy = "read"\n capabilities = ["plan-job"]\n variables {\n path "web/*" { capabilities = ["write"] }\n }\n}';

it('lists the routes that the caller may use in a namespace, and with `*` in any', async () => {
  expect((await rightsWith(RULES, { namespace: 'default' })).Routes).toEqual([]);
  expect((await rightsWith(RULES, { namespace: 'prod' })).Routes).toEqual(['PUT /v1/job/* plan', 'GET /v1/jobs']);
  expect((await rightsWith(RULES, { namespace: '*' })).Routes).toEqual(['PUT /v1/job/* plan', 'GET /v1/jobs']);
});

it('lists the capabilities of the caller in a namespace', async () => {
  const { Capabilities } = await rightsWith(RULES, { namespace: 'prod' });
  expect(Capabilities).toContain('plan-job');
  expect(Capabilities).not.toContain('alloc-exec');
  expect((await rightsWith(RULES, { namespace: 'default' })).Capabilities).toEqual([]);
});

it('judges a variable by its path', async () => {
  expect((await rightsWith(RULES, { namespace: 'prod', path: 'web/a' })).Routes).toContain('PUT /v1/var/*');
  expect((await rightsWith(RULES, { namespace: 'prod', path: 'api/a' })).Routes).not.toContain('PUT /v1/var/*');
});

it('EV-42: lists the topics that the caller may follow in every namespace', async () => {
  expect((await rightsWith(RULES, {})).Topics).toEqual([]);
  const { Topics } = await rightsWith('namespace "*" { policy = "read" }\nnode { policy = "read" }', {});
  expect(Topics).toEqual(expect.arrayContaining(['Job', 'Node', 'HostVolume']));
  expect(Topics).not.toContain('ACLToken');
});
