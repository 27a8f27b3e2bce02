import { describe, expect, it } from 'vitest';
import { encodeAclPolicyStub, encodeAclToken, encodeAclTokenStub } from '../encoding/encode-acl.js';
import { NS_PER_HOUR, NS_PER_MINUTE } from '../time/clock.js';
import { aclPolicyProblems, isPolicyOf } from './acl-policy.js';
import { aclRoleProblems } from './acl-role.js';
import { type AclToken, isExpiredAt, newTokenProblems, tokenUpdateProblems } from './acl-token.js';

const LIMITS = { minTtlNs: NS_PER_MINUTE, maxTtlNs: 24 * NS_PER_HOUR };
const CREATED = '2026-01-01T00:00:00.000Z';

function aToken(over: Partial<AclToken> = {}): AclToken {
  return {
    AccessorID: 'a',
    SecretHash: 'hash',
    SealedSecret: 'sealed',
    Name: 'ci',
    Type: 'client',
    Policies: ['readers'],
    Roles: null,
    Global: false,
    Hash: 'h',
    CreateTime: CREATED,
    ExpirationTime: null,
    ExpirationTTL: 0,
    CreateIndex: 7,
    ModifyIndex: 8,
    ...over,
  };
}
const expiring = (ms: number) => ({
  ExpirationTime: new Date(Date.parse(CREATED) + ms).toISOString(),
  ExpirationTTL: ms * 1e6,
});

describe('OP-151: a token that is created', () => {
  it.each<[Partial<AclToken> | { Type: string }, string[]]>([
    [{}, []],
    [{ Policies: null, Roles: [{ ID: 'r', Name: '' }] }, []],
    [{ Name: 'é'.repeat(256) }, []],
    [{ Name: 'x'.repeat(257) }, ['token name too long']],
    [{ Type: 'root' }, ['token type must be client or management']],
    [{ Policies: null }, ['client token missing policies or roles']],
    [{ Policies: [] }, ['client token missing policies or roles']],
    [{ Type: 'management' }, ['management token cannot be associated with policies or roles']],
    [{ Type: 'management', Policies: null }, []],
    [expiring(60_000), []],
    [expiring(24 * 3_600_000), []],
    [expiring(59_999), ['expiration time cannot be less than 1m0s in the future (was 59.999s)']],
    [expiring(25 * 3_600_000), ['expiration time cannot be more than 24h0m0s in the future (was 25h0m0s)']],
    [
      expiring(-1_000),
      [
        "token expiration TTL '-1s' should not be negative",
        'expiration time cannot be before create time',
        'expiration time cannot be less than 1m0s in the future (was -1s)',
      ],
    ],
    [{ Policies: ['x'.repeat(129)] }, ['policy name longer than 128 bytes']],
    [{ Policies: Array.from({ length: 257 }, (_, n) => `p${n}`) }, ['more than 256 policies']],
  ])('%j: %j', (over, problems) => {
    expect(newTokenProblems({ ...aToken(), ...over }, LIMITS)).toEqual(problems);
  });
});

describe('OP-150: a token that is changed', () => {
  const stored = aToken({ Global: true, ...expiring(3_600_000) });

  it('keeps what it does not say: only the expiration time may be left out', () => {
    expect(tokenUpdateProblems({ ...stored, ExpirationTime: null }, stored)).toEqual([]);
    expect(tokenUpdateProblems({ ...stored, ExpirationTime: '2026-01-01T02:00:00+01:00' }, stored)).toEqual([]);
    expect(tokenUpdateProblems({ ...stored, Global: false, ...expiring(7_200_000) }, stored)).toEqual([
      'cannot toggle global mode',
      'cannot update expiration TTL',
      'cannot update expiration time',
    ]);
  });
});

it('OP-154: an expiry counts from its instant on', () => {
  const at = Date.parse(CREATED);
  expect([isExpiredAt(CREATED, at - 1), isExpiredAt(CREATED, at), isExpiredAt(null, at)]).toEqual([false, true, false]);
});

it('OP-161, OP-162: what is wrong with a policy', () => {
  const policy = { Name: 'a-1', Description: '', Rules: '', JobACL: null };
  expect(aclPolicyProblems(policy, undefined)).toEqual([]);
  expect(aclPolicyProblems({ ...policy, Name: 'a_b', Description: 'x'.repeat(257) }, 'bad')).toEqual([
    "invalid name 'a_b'",
    'failed to parse rules: bad',
    'description longer than 256',
  ]);
  const jobAcl = (Namespace: string, JobID: string, Group: string, Task: string) =>
    aclPolicyProblems({ ...policy, JobACL: { Namespace, JobID, Group, Task } }, undefined);
  expect(jobAcl('', 'j', '', '')).toEqual(['namespace must be set to set job ID']);
  expect(jobAcl('n', '', 'g', '')).toEqual(['job ID must be set to set group']);
  expect(jobAcl('n', 'j', '', 't')).toEqual(['group must be set to set task']);
  expect(jobAcl('n', 'j', 'g', 't')).toEqual([]);
});

it('OP-165: what is wrong with a role', () => {
  const role = { ID: '', Name: 'a', Description: '', Policies: [{ Name: 'p' }] };
  expect(aclRoleProblems(role)).toEqual([]);
  expect(aclRoleProblems({ ...role, Name: 'a b', Description: 'x'.repeat(257), Policies: [] })).toEqual([
    "invalid name 'a b'",
    'description longer than 256',
    'at least one policy should be specified',
  ]);
});

it('OP-138, AU-176: a policy is a workload’s when all that its JobACL sets is equal; one without JobACL is nobody’s', () => {
  const workload = { namespace: 'n', jobId: 'web', group: 'g', task: 't' };
  const fits = (Namespace: string, JobID = '', Group = '', Task = '') =>
    isPolicyOf({ JobACL: { Namespace, JobID, Group, Task } }, workload);
  expect([fits('n'), fits('n', 'web'), fits('n', 'web', 'g'), fits('n', 'web', 'g', 't')]).toEqual(
    Array.from({ length: 4 }, () => true),
  );
  expect([fits('m'), fits('n', 'we'), fits('n', 'web', 'h'), fits('n', 'web', 'g', 'u'), fits('')]).toEqual(
    Array.from({ length: 5 }, () => false),
  );
  expect(isPolicyOf({ JobACL: null }, workload)).toBe(false);
});

describe('answers', () => {
  const token = aToken({
    ...expiring(3_600_000),
    Roles: [
      { ID: 'r1', Name: 'old' },
      { ID: 'r2', Name: 'gone' },
    ],
  });

  it('show a token without what it is found by, and its secret only where it is given', () => {
    expect(encodeAclToken(token, { secretId: 's' })).toEqual({
      AccessorID: 'a',
      SecretID: 's',
      Name: 'ci',
      Type: 'client',
      Policies: ['readers'],
      Roles: token.Roles,
      Global: false,
      Hash: 'h',
      CreateTime: CREATED,
      ExpirationTime: '2026-01-01T01:00:00.000Z',
      ExpirationTTL: '1h0m0s',
      CreateIndex: 7,
      ModifyIndex: 8,
    });
    const stub = encodeAclTokenStub(token);
    for (const member of ['SecretID', 'SecretHash', 'SealedSecret', 'ExpirationTTL'])
      expect(stub).not.toHaveProperty(member);
  });

  it('OP-152, OP-153: show the present names of roles, and no role that is gone', () => {
    const shown = encodeAclTokenStub(token, new Map([['r1', 'new']]));
    expect(shown['Roles']).toEqual([{ ID: 'r1', Name: 'new' }]);
  });

  it('list policies without their rules', () => {
    const policy = {
      Name: 'p',
      Description: 'd',
      Rules: 'text',
      JobACL: null,
      Hash: 'h',
      CreateIndex: 1,
      ModifyIndex: 2,
    };
    expect(Object.keys(encodeAclPolicyStub(policy))).not.toContain('Rules');
  });
});
