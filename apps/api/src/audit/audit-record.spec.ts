import { describe, expect, it } from 'vitest';
import { Acl } from '@waybill/acl';
import type { AclToken } from '@waybill/model';
import { anonymous, withToken } from '../access/caller.js';
import { addressedObject } from './addressed-object.js';
import { auditAuth, auditError, auditRequest, auditTime, type SeenRequest } from './audit-record.js';

const SECRET = '11111111-2222-4333-8444-555555555555';

const seen = (members: Partial<SeenRequest> = {}): SeenRequest => ({
  id: 'r1',
  method: 'GET',
  url: '/v1/jobs?namespace=team&prefix=a',
  route: '/v1/jobs',
  query: { namespace: 'team', prefix: 'a' },
  userAgent: 'curl/8',
  credential: undefined,
  remoteAddress: '10.0.0.9',
  localAddress: '10.0.0.1',
  ...members,
});

describe('the request of a record', () => {
  it('AU-275: says what was asked, of what, from where', () => {
    expect(auditRequest(seen(), 'global')).toEqual({
      id: 'r1',
      operation: 'GET',
      endpoint: '/v1/jobs',
      route: '/v1/jobs',
      namespace: { id: 'team' },
      region: 'global',
      query: { namespace: ['team'], prefix: ['a'] },
      request_meta: { remote_address: '10.0.0.9', user_agent: 'curl/8' },
      node_meta: { ip: '10.0.0.1' },
    });
  });

  it('AU-275: values of unknown parameters, of secret ones and of command lines are left out', () => {
    const query = { token: SECRET, ott: SECRET, code: 'c', state: 's', command: '["login","hunter2"]', tokn: SECRET };
    const text = JSON.stringify(auditRequest(seen({ query: { ...query, all_allocs: '1', namespace: 'n' } }), 'global'));
    for (const secret of [SECRET, 'hunter2', '"c"', '"s"']) expect(text).not.toContain(secret);
    for (const name of Object.keys(query)) expect(text).toContain(`"${name}":["[removed]"]`);
  });

  it('AU-277: a secret is left out wherever its sender has put it', () => {
    const request = auditRequest(
      seen({
        url: `/v1/acl/token/${SECRET.toUpperCase()}?prefix=${SECRET}`,
        query: { prefix: `x${SECRET}`, [SECRET]: '' },
        userAgent: `me ${SECRET}`,
        credential: SECRET,
      }),
      'global',
    );
    expect(JSON.stringify(request).toLowerCase()).not.toContain(SECRET);
    expect(request.endpoint).toBe('/v1/acl/token/[removed]');
    expect(auditError(`no token ${SECRET}, not even ${SECRET}`, SECRET)).toBe('no token [removed], not even [removed]');
  });

  it('AU-277: a secret of one letter in a long text costs what it is long', () => {
    expect(auditError('x'.repeat(1_000_000), 'X')).toHaveLength(1_024);
  });

  it('texts are cut to a length that a record may have', () => {
    const { endpoint, request_meta } = auditRequest(
      seen({ url: `/${'a'.repeat(9_000)}`, userAgent: 'b'.repeat(9_000) }),
      '',
    );
    expect([endpoint.length, request_meta.user_agent.length]).toEqual([1_024, 1_024]);
  });

  it.each([
    ['/v1/job/a%2Fb/plan', { kind: 'job', namespace: 'n', id: 'a/b' }],
    ['/v1/job/plan', { kind: 'job', namespace: 'n', id: 'plan' }],
    ['/v1/job/web/versions', { kind: 'job', namespace: 'n', id: 'web' }],
    ['/v1/client/allocation/a1/restart', { kind: 'alloc', namespace: 'n', id: 'a1' }],
    ['/v1/deployment/fail/d1', { kind: 'deployment', namespace: 'n', id: 'd1' }],
    ['/v1/deployment/d1', { kind: 'deployment', namespace: 'n', id: 'd1' }],
    ['/v1/node/pool/gpu/jobs', { kind: 'node-pool', id: 'gpu' }],
    ['/v1/node/n1/drain', { kind: 'node', id: 'n1' }],
    ['/v1/var/nomad/jobs/x', { kind: 'var', namespace: 'n', id: 'nomad/jobs/x' }],
    ['/v1/acl/token/t1', { kind: 'token', id: 't1' }],
    ['/v1/acl/role/name/dev', { kind: 'role', id: 'dev' }],
    ['/v1/acl/token/self', undefined],
    ['/v1/jobs', undefined],
    ['/v1/job/%', { kind: 'job', namespace: 'n', id: '%' }],
  ])('AU-275: %s is about %o', (path, object) => expect(addressedObject(path, 'n')).toEqual(object));
});

describe('who sent a request', () => {
  const token: AclToken = {
    AccessorID: 'a1',
    SecretHash: 'hash',
    SealedSecret: 'sealed',
    Name: 'ci',
    Type: 'client',
    Policies: ['readers'],
    Roles: [{ ID: 'r1', Name: 'dev' }],
    Global: false,
    Hash: '',
    CreateTime: '2026-01-01T00:00:00Z',
    ExpirationTime: '2026-01-02T00:00:00Z',
    ExpirationTTL: 0,
    CreateIndex: 1,
    ModifyIndex: 1,
  };

  it('AU-274: a token, by its accessor, with what it had; nothing of its secret', () => {
    const role = { ID: 'r1', Name: 'dev', Description: '', Policies: [], Hash: '', CreateIndex: 1, ModifyIndex: 1 };
    expect(auditAuth(withToken({ token, roles: [role], policies: [] }, Acl.none))).toEqual({
      accessor_id: 'a1',
      name: 'ci',
      type: 'client',
      global: false,
      policies: ['readers'],
      roles: [{ id: 'r1', name: 'dev' }],
      create_time: '2026-01-01T00:00:00Z',
      expiration_time: '2026-01-02T00:00:00Z',
    });
  });

  it('AU-274: nobody', () => expect(auditAuth(anonymous(Acl.none))).toEqual({ accessor_id: 'anonymous' }));
});

it('AU-273: times are RFC 3339 with nanoseconds', () => {
  expect(auditTime(Date.UTC(2026, 0, 2, 3, 4, 5, 6))).toBe('2026-01-02T03:04:05.006000000Z');
});
