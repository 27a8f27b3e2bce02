import type { Stack } from '@waybill/embedded';
import { BatchWriter, openPool, ReadModel } from '@waybill/projection';
import { fixtures, StateMachine, type TxnPayloads, type TxnType } from '@waybill/state';
import type { Pool } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startMigratedStack } from '../support/begun-databases.js';

const { aBindingRule, anAuthMethod, aPolicy, aRole, aToken } = fixtures;

let stack: Stack;
let pool: Pool;
let model: ReadModel;
let writer: BatchWriter;
const machine = new StateMachine();

beforeAll(async () => {
  stack = await startMigratedStack();
  pool = openPool(stack.databaseUrl);
  model = new ReadModel(pool);
  writer = new BatchWriter(pool);
  await write('Initialise', {});
});
afterAll(async () => {
  await pool?.end();
  await stack?.stop();
});

async function write<T extends TxnType>(type: T, payload: TxnPayloads[T], namespace = ''): Promise<number> {
  const applied = machine.apply(fixtures.aTxn(machine.appliedIndex + 1, type, payload, { namespace }));
  expect(applied.verdict, type).not.toMatchObject({ kind: 'refused' });
  await writer.write([applied]);
  return applied.index;
}

describe('reads of variables', () => {
  it('OP-193: by namespace and path, of a prefix, in pages; OP-194: one', async () => {
    const put = (Path: string, namespace: string) =>
      write('VarApplyState', { Op: 'set', Path, LockID: '', KeyID: 'key', Data: 'c2VhbGVk' }, namespace);
    await write('NamespaceUpsert', { Namespaces: [fixtures.aNamespace({ Name: 'team' })] });
    const Key = fixtures.aRootKey({ KeyID: 'key' });
    await write('RootKeyUpsert', { Key, Rekey: false, MustExist: false });
    for (const path of ['b', 'a/2', 'a/1']) await put(path, 'team');
    await put('a/3', 'default');
    const paths = async (options: object = {}) => {
      const { rows, nextToken } = await model.variables.variables({ namespaces: '*', ...options });
      return [rows.map(({ Path }) => Path), nextToken];
    };
    expect(await paths()).toEqual([['a/3', 'a/1', 'a/2', 'b'], '']);
    expect(await paths({ namespaces: ['team'], prefix: 'a/' })).toEqual([['a/1', 'a/2'], '']);
    expect(await paths({ perPage: 2 })).toEqual([['a/3', 'a/1'], 'team.a/2']);
    expect(await paths({ perPage: 2, nextToken: 'team.a/2' })).toEqual([['a/2', 'b'], '']);
    const { row } = await model.variables.variable('team', 'b');
    expect(row).toEqual(machine.tables.variables.get('team/b'));
    expect((await model.variables.variable('default', 'b')).row).toBeUndefined();
  });
});

describe('reads of access control', () => {
  const role = aRole({ Name: 'team', Policies: [{ Name: 'by-role' }] });
  const client = aToken({ Policies: ['direct', 'missing'], Roles: [{ ID: role.ID, Name: role.Name }], Global: true });
  const management = aToken({ Type: 'management', Policies: null });

  beforeAll(async () => {
    await write('ACLPolicyUpsert', {
      Policies: [
        aPolicy({ Name: 'direct' }),
        aPolicy({ Name: 'by-role' }),
        aPolicy({ Name: 'jobs', JobACL: { Namespace: 'team', JobID: 'web', Group: '', Task: '' } }),
        aPolicy({ Name: 'tasks', JobACL: { Namespace: 'team', JobID: 'web', Group: 'g', Task: 't' } }),
        aPolicy({ Name: 'webby', JobACL: { Namespace: 'team', JobID: 'we', Group: '', Task: '' } }),
        aPolicy({ Name: 'whole', JobACL: { Namespace: 'team', JobID: '', Group: '', Task: '' } }),
      ],
    });
    await write('ACLRolesUpsert', { Roles: [role], MustExist: false });
    await write('ACLTokenUpsert', { Tokens: [client] });
    await write('ACLTokenUpsert', { Tokens: [management] });
  });

  it('OP-117: a token is found by the hash of its secret, with its roles and the policies of both', async () => {
    const { row } = await model.access.tokenBySecretHash(client.SecretHash);
    expect(row).toEqual(machine.tables.acl_token.get(client.AccessorID));
    const grants = await model.access.grantsBySecretHash(client.SecretHash);
    expect(grants).toMatchObject({ token: { AccessorID: client.AccessorID }, roles: [{ ID: role.ID }] });
    expect(grants?.policies.map(({ Name }) => Name)).toEqual(['by-role', 'direct']);
    expect(await model.access.grantsOf(management.AccessorID)).toMatchObject({ roles: [], policies: [] });
    expect(await model.access.grantsBySecretHash('unknown')).toBeUndefined();
    expect((await model.access.tokenBySecretHash('')).row).toBeUndefined();
  });

  it('OP-147: tokens come in the order of their creation, with a prefix by accessor; pages follow each other', async () => {
    const accessors = async (options: object) =>
      (await model.access.tokens(options)).rows.map(({ AccessorID }) => AccessorID);
    expect(await accessors({})).toEqual([client.AccessorID, management.AccessorID]);
    expect(await accessors({ reverse: true })).toEqual([management.AccessorID, client.AccessorID]);
    expect(await accessors({ globalOnly: true })).toEqual([client.AccessorID]);
    expect(await accessors({ prefix: client.AccessorID.toUpperCase() })).toEqual([client.AccessorID]);
    const { nextToken } = await model.access.tokens({ perPage: 1 });
    expect(await accessors({ perPage: 1, nextToken })).toEqual([management.AccessorID]);
  });

  it('OP-138, AU-176: a workload has the policies whose JobACL fits, its job as a whole text', async () => {
    const names = async (jobId: string, task = 't') =>
      (await model.access.policiesOfWorkload({ namespace: 'team', jobId, group: 'g', task })).map(({ Name }) => Name);
    expect(await names('web')).toEqual(['jobs', 'tasks', 'whole']);
    expect(await names('web', 'u')).toEqual(['jobs', 'whole']);
    expect(await names('web2')).toEqual(['whole']);
    const elsewhere = { namespace: 'default', jobId: 'web', group: 'g', task: 't' };
    expect(await model.access.policiesOfWorkload(elsewhere)).toEqual([]);
    expect(await model.access.policiesOfWorkload({ ...elsewhere, namespace: '' })).toEqual([]);
  });

  it('AU-5, AU-20: finds auth methods by name or as the default, rules by ID, prefix and method', async () => {
    const rules = [aBindingRule(), aBindingRule(), aBindingRule({ AuthMethod: 'people' })];
    const ids = async (options: object) => (await model.access.bindingRules(options)).rows.map(({ ID }) => ID);
    expect(await model.access.defaultAuthMethod()).toBeUndefined();
    for (const Name of ['people', 'ci'])
      await write('ACLAuthMethodUpsert', { AuthMethod: anAuthMethod({ Name, Default: Name === 'people' }) });
    for (const Rule of rules) await write('ACLBindingRuleUpsert', { Rule, MustExist: false });
    expect((await model.access.authMethods()).rows.map(({ Name }) => Name)).toEqual(['ci', 'people']);
    expect((await model.access.authMethod('ci')).row).toEqual(machine.tables.acl_auth_methods.get('ci'));
    expect((await model.access.defaultAuthMethod())?.Name).toBe('people');
    const all = rules.map(({ ID }) => ID).toSorted();
    expect(await ids({})).toEqual(all);
    expect(await ids({ method: 'people' })).toEqual([rules[2]?.ID]);
    expect(await ids({ prefix: all[1]?.toUpperCase() })).toEqual([all[1]]);
    expect((await model.access.bindingRule(all[0] ?? '')).row?.ID).toBe(all[0]);
  });

  it('finds policies and roles by name, by ID, and the index of the last bootstrap', async () => {
    expect((await model.access.policy('direct')).row?.Name).toBe('direct');
    expect((await model.access.policiesNamed(['direct', 'none'])).map(({ Name }) => Name)).toEqual(['direct']);
    expect((await model.access.policies({ prefix: 'w' })).rows.map(({ Name }) => Name)).toEqual(['webby', 'whole']);
    expect((await model.access.role(role.ID)).row).toEqual(machine.tables.acl_roles.get(role.ID));
    expect((await model.access.roleByName('team')).row?.ID).toBe(role.ID);
    expect((await model.access.roles({ ids: [] })).rows).toEqual([]);
    expect(await model.access.roleNames([role.ID, 'gone'])).toEqual(new Map([[role.ID, 'team']]));
    expect(await model.access.bootstrapIndex()).toBe(0);
    const index = await write('ACLTokenBootstrap', {
      Token: aToken({ Type: 'management', Policies: null }),
      ResetIndex: 0,
    });
    expect(await model.access.bootstrapIndex()).toBe(index);
  });
});
