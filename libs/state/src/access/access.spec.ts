import { nsFromRfc3339 } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { eventsOf } from '../events.js';
import { fixtures } from '../fixtures.js';
import type { TxnPayloads } from '../log/catalogue.js';
import type { StateMachine } from '../machine/state-machine.js';
import { SINGLETON_KEY } from '../machine/tables.js';

const { aMachine, aOneTimeToken, aPolicy, aRole, aToken, apply } = fixtures;

const withReaders = (): StateMachine => {
  const machine = aMachine();
  apply(machine, 'ACLPolicyUpsert', { Policies: [aPolicy()] });
  return machine;
};
const put = (machine: StateMachine, ...Tokens: TxnPayloads['ACLTokenUpsert']['Tokens']) =>
  apply(machine, 'ACLTokenUpsert', { Tokens });
const remove = (machine: StateMachine, ...AccessorIDs: string[]) => apply(machine, 'ACLTokenDelete', { AccessorIDs });
const at = (time: string) => ({ timeNs: nsFromRfc3339(time) });

describe('policies', () => {
  it('ST-23, OP-166: an equal policy is written again: CreateIndex and Hash stay, ModifyIndex moves', () => {
    const machine = withReaders();
    const first = machine.tables.acl_policy.get('readers')!;
    const again = apply(machine, 'ACLPolicyUpsert', { Policies: [aPolicy()] });
    expect(machine.tables.acl_policy.get('readers')).toEqual({ ...first, ModifyIndex: again.index });
    apply(machine, 'ACLPolicyUpsert', { Policies: [aPolicy({ Rules: '' })] });
    expect(machine.tables.acl_policy.get('readers')?.Hash).not.toBe(first.Hash);
  });

  it('OP-164: deleting a policy that is not there changes nothing; tokens and roles keep the name of one that was', () => {
    const machine = withReaders();
    const token = aToken();
    put(machine, token);
    expect(apply(machine, 'ACLPolicyDelete', { Names: ['nobody'] }).verdict.kind).toBe('noop');
    const gone = apply(machine, 'ACLPolicyDelete', { Names: ['readers'] });
    expect(gone.changes.map(({ table }) => table)).toEqual(['acl_policy']);
    expect(machine.tables.acl_token.get(token.AccessorID)?.Policies).toEqual(['readers']);
    expect(eventsOf(gone)?.Events).toMatchObject([
      { Topic: 'ACLPolicy', Type: 'ACLPolicyDeleted', Key: 'readers', Namespace: '', FilterKeys: null },
    ]);
  });
});

describe('tokens', () => {
  it('OP-150: an update keeps secret, lifetime, Global and CreateTime; an equal one moves ModifyIndex (OP-166)', () => {
    const machine = withReaders();
    const token = aToken({ ExpirationTime: '2026-01-01T01:00:00.000Z', ExpirationTTL: 3_600e9, Global: true });
    const { index } = put(machine, token);
    const stored = machine.tables.acl_token.get(token.AccessorID)!;
    const changed = put(machine, {
      ...aToken({ AccessorID: token.AccessorID, Name: 'new', SecretHash: '', SealedSecret: '' }),
      CreateTime: '2030-01-01T00:00:00.000Z',
      ExpirationTime: null,
    });
    const updated = machine.tables.acl_token.get(token.AccessorID)!;
    expect(updated).toEqual({ ...stored, Name: 'new', Hash: updated.Hash, ModifyIndex: changed.index });
    expect(updated).toMatchObject({ CreateIndex: index, SecretHash: token.SecretHash, Global: true });
    expect(updated.Hash).not.toBe(stored.Hash);
    const same = put(machine, { ...updated, SecretHash: '' });
    expect(machine.tables.acl_token.get(token.AccessorID)?.ModifyIndex).toBe(same.index);
  });

  it('OP-149: neither accessor nor secret is ever that of two tokens; an unknown accessor is not updated', () => {
    const machine = withReaders();
    const token = aToken();
    put(machine, token);
    expect(put(machine, aToken({ AccessorID: token.AccessorID, SecretHash: 'other' })).verdict).toEqual({
      kind: 'refused',
      code: 'conflict',
      error: `ACL token ${token.AccessorID} already exists`,
    });
    expect(put(machine, aToken({ SecretHash: token.SecretHash })).verdict).toMatchObject({ code: 'conflict' });
    const unknown = aToken({ SecretHash: '' });
    expect(put(machine, unknown).verdict).toMatchObject({
      code: 'invalid',
      error: `cannot find token ${unknown.AccessorID}`,
    });
    expect(machine.tables.acl_token.size).toBe(1);
  });

  it('OP-152: a policy need not exist, a role must; one bad token refuses all of the write (ST-5)', () => {
    const machine = withReaders();
    expect(put(machine, aToken({ Policies: ['later'] })).verdict.kind).toBe('accepted');
    const role = fixtures.uuid(1);
    expect(put(machine, aToken(), aToken({ Roles: [{ ID: role, Name: 'team' }] })).verdict).toMatchObject({
      error: `cannot find role ${role}`,
    });
    expect(machine.tables.acl_token.size).toBe(1);
  });

  it('OP-156: unknown tokens are named, and none is deleted; a secret is free again afterwards', () => {
    const machine = withReaders();
    const token = aToken();
    put(machine, token);
    expect(remove(machine, 'a', token.AccessorID, 'b').verdict).toMatchObject({
      code: 'invalid',
      error: 'Cannot delete nonexistent tokens: a, b',
    });
    expect(machine.tables.acl_token.size).toBe(1);
    expect(remove(machine, token.AccessorID).verdict.kind).toBe('accepted');
    expect(put(machine, aToken({ SecretHash: token.SecretHash })).verdict.kind).toBe('accepted');
  });

  it('another key stores a secret anew, of the tokens that still have the former one, and no event says so', () => {
    const machine = withReaders();
    const [one, two, three] = [aToken(), aToken(), aToken()];
    put(machine, one, two, three);
    const rekeyed = (AccessorID: string, FormerHash: string, SecretHash: string) => ({
      AccessorID,
      FormerHash,
      SecretHash,
      SealedSecret: 'new',
    });
    const applied = apply(machine, 'ACLTokenRekey', {
      Tokens: [
        rekeyed(one.AccessorID, one.SecretHash, 'new hash'),
        rekeyed(two.AccessorID, 'another', 'other hash'),
        rekeyed(three.AccessorID, three.SecretHash, 'new hash'),
        rekeyed('gone', 'x', 'y'),
      ],
    });
    expect(applied.verdict.kind).toBe('accepted');
    expect(eventsOf(applied)).toBeNull();
    const stored = [one, two, three].map(({ AccessorID }) => machine.tables.acl_token.get(AccessorID));
    expect(stored.map((token) => token?.SecretHash)).toEqual(['new hash', two.SecretHash, three.SecretHash]);
    expect(stored[0]).toMatchObject({ SealedSecret: 'new', Name: one.Name, ModifyIndex: applied.index });
  });

  it('GC-76, GC-78: a collection takes what has expired by its time, whatever else it names', () => {
    const machine = withReaders();
    const [expired, later, forever] = [
      aToken({ ExpirationTime: '2026-01-01T01:00:00.000Z' }),
      aToken({ ExpirationTime: '2026-01-01T03:00:00.000Z' }),
      aToken(),
    ];
    put(machine, expired, later, forever);
    const AccessorIDs = [expired, later, forever].map(({ AccessorID }) => AccessorID);
    const collect = (ExpiredBy: string) =>
      apply(machine, 'ACLTokenDelete', { AccessorIDs: [...AccessorIDs, 'gone'], ExpiredBy }).verdict.kind;
    expect(collect('2026-01-01T00:59:59.999Z')).toBe('noop');
    expect(collect('2026-01-01T01:00:00.000Z')).toBe('accepted');
    expect([...machine.tables.acl_token.all()].map((token) => token.AccessorID)).toEqual(AccessorIDs.slice(1));
  });

  it('EV-53, OP-168: the event of a token has no secret, neither hashed nor sealed', () => {
    const machine = withReaders();
    const token = aToken({ ExpirationTTL: 3_600e9, ExpirationTime: '2026-01-01T01:00:00.000Z' });
    const [event] = eventsOf(put(machine, token))!.Events;
    expect(event).toMatchObject({
      Topic: 'ACLToken',
      Type: 'ACLTokenUpserted',
      Key: token.AccessorID,
      Payload: { ACLToken: { AccessorID: token.AccessorID, SecretID: '', ExpirationTTL: '1h0m0s' } },
    });
    const deleted = eventsOf(remove(machine, token.AccessorID));
    expect(deleted?.Events).toMatchObject([{ Type: 'ACLTokenDeleted', Key: token.AccessorID }]);
    for (const secret of [token.SecretHash, token.SealedSecret])
      expect(JSON.stringify([event, deleted])).not.toContain(secret);
  });
});

describe('bootstrap', () => {
  const bootstrap = (machine: StateMachine, ResetIndex: number) =>
    apply(machine, 'ACLTokenBootstrap', {
      Token: aToken({ Type: 'management', Policies: null }),
      ResetIndex,
    });

  it('OP-144: the first of several counts, the others are told the index by which to reset', () => {
    const machine = aMachine();
    const first = bootstrap(machine, 0);
    expect(first.verdict.kind).toBe('accepted');
    expect(bootstrap(machine, 0).verdict).toEqual({
      kind: 'refused',
      code: 'invalid',
      error: `ACL bootstrap already done (reset index: ${first.index})`,
    });
    expect(machine.tables.acl_token.size).toBe(1);
    expect(machine.tables.acl_token_bootstrap.get(SINGLETON_KEY)).toEqual({ ModifyIndex: first.index });
    expect(eventsOf(first)).toBeNull();
  });

  it('OP-145: the index of the last bootstrap is worth one more, another number none', () => {
    const machine = aMachine();
    const { index } = bootstrap(machine, 0);
    expect(bootstrap(machine, 99).verdict).toMatchObject({
      code: 'invalid',
      error: `Invalid bootstrap reset index (specified 99, reset index: ${index})`,
    });
    const second = bootstrap(machine, index);
    expect(second.verdict.kind).toBe('accepted');
    expect(bootstrap(machine, index).verdict).toMatchObject({
      error: `Invalid bootstrap reset index (specified ${index}, reset index: ${second.index})`,
    });
    expect(machine.tables.acl_token.size).toBe(2);
  });
});

describe('roles', () => {
  const upsert = (machine: StateMachine, role: TxnPayloads['ACLRolesUpsert']['Roles'][number], MustExist = false) =>
    apply(machine, 'ACLRolesUpsert', { Roles: [role], MustExist });

  it('OP-166: an equal role changes nothing, another one keeps CreateIndex', () => {
    const machine = withReaders();
    const role = aRole();
    const { index } = upsert(machine, role);
    const equal = upsert(machine, { ...role });
    expect([equal.verdict.kind, eventsOf(equal)]).toEqual(['noop', null]);
    const other = upsert(machine, { ...role, Name: 'crew' }, true);
    expect(machine.tables.acl_roles.get(role.ID)).toMatchObject({
      Name: 'crew',
      CreateIndex: index,
      ModifyIndex: other.index,
    });
    expect(eventsOf(other)?.Events).toMatchObject([
      { Topic: 'ACLRole', Type: 'ACLRoleUpserted', Key: role.ID, FilterKeys: ['crew'] },
    ]);
  });

  it('OP-165: policies exist, names are unique, and a role that is gone is not made again by an update', () => {
    const machine = withReaders();
    upsert(machine, aRole());
    const error = (...given: Parameters<typeof upsert>) => upsert(...given).verdict;
    expect(error(machine, aRole({ Name: 'b', Policies: [{ Name: 'none' }] }))).toMatchObject({
      error: 'ACL policy not found',
    });
    expect(error(machine, aRole())).toMatchObject({ error: 'ACL role with name team already exists' });
    const gone = aRole({ Name: 'c' });
    expect(error(machine, gone, true)).toMatchObject({ error: `cannot find role ${gone.ID}` });
    expect(machine.tables.acl_roles.size).toBe(1);
  });

  it('OP-153: deleting a role leaves tokens alone; an unknown one is refused', () => {
    const machine = withReaders();
    const role = aRole();
    upsert(machine, role);
    const token = aToken({ Policies: null, Roles: [{ ID: role.ID, Name: role.Name }] });
    put(machine, token);
    expect(apply(machine, 'ACLRolesDelete', { IDs: [role.ID, 'gone'] }).verdict).toMatchObject({
      code: 'not-found',
      error: 'ACL role not found',
    });
    expect(machine.tables.acl_roles.size).toBe(1);
    expect(apply(machine, 'ACLRolesDelete', { IDs: [role.ID] }).verdict.kind).toBe('accepted');
    expect(machine.tables.acl_token.get(token.AccessorID)?.Roles).toEqual([{ ID: role.ID, Name: 'team' }]);
  });
});

describe('one-time tokens', () => {
  const NOON = '2026-01-01T12:00:00.000Z';
  const issue = (machine: StateMachine, token: ReturnType<typeof aOneTimeToken>, time = NOON) =>
    apply(machine, 'OneTimeTokenUpsert', { Token: token }, at(time)).verdict;
  const exchange = (machine: StateMachine, OneTimeSecretHash: string, time = NOON) =>
    apply(machine, 'OneTimeTokenDelete', { OneTimeSecretHash }, at(time)).verdict;
  const denied = { kind: 'refused', code: 'forbidden', error: 'Permission denied' };

  it('OP-159, AU-242: is exchanged once, for its accessor; a new one of the accessor replaces it', () => {
    const machine = withReaders();
    const token = aToken();
    put(machine, token);
    const { AccessorID } = token;
    const [first, second] = ['one', 'two'].map((hash) => aOneTimeToken({ AccessorID, OneTimeSecretHash: hash }));
    expect(issue(machine, first!).kind).toBe('accepted');
    expect(issue(machine, second!).kind).toBe('accepted');
    expect(exchange(machine, 'one')).toEqual(denied);
    expect(exchange(machine, 'two')).toEqual({ kind: 'accepted', result: AccessorID });
    expect(exchange(machine, 'two')).toEqual(denied);
    expect(machine.tables.one_time_token.size).toBe(0);
  });

  it('AU-241, AU-243: a token that is gone or has expired gets none, and spends none', () => {
    const machine = withReaders();
    const token = aToken({ ExpirationTime: '2026-01-01T13:00:00.000Z' });
    put(machine, token);
    const { AccessorID } = token;
    expect(issue(machine, aOneTimeToken({ AccessorID: 'nobody' }))).toEqual(denied);
    expect(issue(machine, aOneTimeToken({ AccessorID }), '2026-01-01T13:00:00.000Z')).toEqual(denied);
    const OneTimeSecretHash = 'one';
    expect(issue(machine, aOneTimeToken({ AccessorID, OneTimeSecretHash })).kind).toBe('accepted');
    expect(exchange(machine, 'one', '2026-01-01T13:00:00.000Z')).toEqual(denied);
    remove(machine, AccessorID);
    expect(exchange(machine, 'one')).toEqual(denied);
    expect(machine.tables.one_time_token.has(AccessorID)).toBe(true);
  });

  it('AU-244, GC-74: an expired one is refused from that instant, and goes by the time of the transaction', () => {
    const machine = withReaders();
    const token = aToken();
    put(machine, token);
    const ExpiresAt = '2026-01-01T12:10:00.000Z';
    issue(machine, aOneTimeToken({ AccessorID: token.AccessorID, OneTimeSecretHash: 'one', ExpiresAt }));
    expect(exchange(machine, 'one', ExpiresAt)).toEqual(denied);
    const expire = (time: string) =>
      apply(machine, 'OneTimeTokenExpire', { Timestamp: nsFromRfc3339(time) }).verdict.kind;
    expect(expire('2026-01-01T12:09:59.999Z')).toBe('noop');
    expect(expire(ExpiresAt)).toBe('accepted');
    expect(machine.tables.one_time_token.size).toBe(0);
  });
});
