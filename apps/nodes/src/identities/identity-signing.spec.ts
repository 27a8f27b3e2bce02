import type { Claims } from '@waybill/keyring';
import { type Allocation, decodeJob, FakeTime, type Job, NS_PER_MINUTE } from '@waybill/model';
import { LocalState } from '@waybill/replica';
import { type IdentityRequest, MAX_IDENTITIES_PER_CALL } from '@waybill/rpc';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { IdentitySigning, MAX_SIGNED_TOKEN_BYTES } from './identity-signing.js';

const NOW_MS = 1_700_000_000_500;
const ALLOC_ID = '6f1c2a34-0b5e-4c1d-8a77-2d9e1f3b4c5d';
const AWS = {
  Name: 'aws',
  Audience: ['sts'],
  TTL: 15 * NS_PER_MINUTE,
  ExtraClaims: ['unit', 'unknown'],
};

interface Given {
  readonly job?: Partial<Job>;
  readonly group?: object;
  readonly alloc?: Partial<Allocation>;
  readonly issuer?: string;
}

/** A signer that shows what it is asked to sign: the key and the claims. */
function setup({ job: ofJob = {}, group = {}, alloc: ofAlloc = {}, issuer = '' }: Given = {}) {
  const state = new LocalState(fixtures.aMachine());
  const [node, other] = [fixtures.aNode({ NodeClass: 'big' }), fixtures.aNode()];
  for (const Node of [node, other]) fixtures.apply(state.machine, 'NodeRegister', { Node, CreateNodePool: false });
  const Services = [
    { Name: 'api-${NOMAD_ALLOC_INDEX}-x', Provider: 'consul', Identity: { Name: 'mesh', Audience: ['a', 'b'] } },
  ];
  const Tasks = [{ Name: 'main', Driver: 'exec', Identities: [AWS] }];
  const TaskGroups = [{ Name: 'app', Tasks, Services, ...group }];
  const given = { ID: 'web', Namespace: 'team', Meta: { unit: 'u1' }, TaskGroups };
  const Job = { ...decodeJob(given, { region: 'global', submitTimeNs: 1 }), ...ofJob };
  const alloc = fixtures.anAlloc({
    ID: ALLOC_ID,
    NodeID: node.ID,
    Namespace: 'team',
    JobID: Job.ID,
    Job,
    TaskGroup: 'app',
    ClientStatus: 'running',
    CreateTime: 1_600_000_000_700_000_000,
    SigningKeyID: 'gone',
    ...ofAlloc,
  });
  state.tables.allocs.replace(alloc.ID, alloc);
  state.tables.namespaces.replace('team', {
    ...state.tables.namespaces.get('default')!,
    Name: 'team',
    RequiredExtraClaims: { org: 'acme/${job.id}/${none}' },
    OptionalExtraClaims: { unit: '${job.meta.unit}-${job.meta.none}-${node.class}-${task.name}', cost: 'c' },
  });
  const signing = new IdentitySigning({
    state,
    keyring: { signJwt: async (key, claims) => JSON.stringify({ key, claims }) },
    clock: new FakeTime(NOW_MS),
    newId: () => 'fresh',
    issuer,
  });
  const ask = (identities: readonly Partial<IdentityRequest>[], as = node, MinStateIndex = 0) => {
    const request = { AllocID: ALLOC_ID, WorkloadType: 'task', Workload: 'main', Identity: 'aws' } as const;
    const Identities = identities.map((identity) => ({ ...request, ...identity }));
    return signing.sign({ NodeID: as.ID, SecretID: as.SecretID, MinStateIndex, Identities });
  };
  const claimsOf = async (identity: Partial<IdentityRequest> = {}) => {
    const { Signed, Rejected } = await ask([identity]);
    expect(Rejected).toEqual([]);
    return JSON.parse(Signed[0]!.JWT) as { key?: string; claims: Claims };
  };
  const reasonOf = async (identity: Partial<IdentityRequest> = {}) => (await ask([identity])).Rejected[0]?.Reason;
  return { state, node, other, ask, claimsOf, reasonOf };
}

describe('claims of identities', () => {
  it('AU-131, AU-132, AU-134: a named one of a task', async () => {
    const { ask, claimsOf } = setup({ issuer: 'https://waybill.example' });
    const { key, claims } = await claimsOf();
    expect(key).toBeUndefined();
    expect(claims).toEqual({
      iss: 'https://waybill.example',
      sub: 'global:team:web:app:main:aws',
      aud: 'sts',
      iat: 1_700_000_000,
      nbf: 1_700_000_000,
      exp: 1_700_000_900,
      jti: 'fresh',
      nomad_namespace: 'team',
      nomad_job_id: 'web',
      nomad_allocation_id: ALLOC_ID,
      nomad_task: 'main',
      extra_claims: { org: 'acme/web/${none}', unit: 'u1-${job.meta.none}-big-main' },
    });
    expect((await ask([{}])).Signed[0]!.ValidMs).toBe(900_000 - 500);
  });

  it('a token that no request can carry is not made, and the reason says what to shorten', async () => {
    const { reasonOf } = setup({ job: { Meta: { unit: 'u'.repeat(MAX_SIGNED_TOKEN_BYTES) } } });
    expect(await reasonOf()).toMatch(/^its token has \d+ bytes, and at most 8192 fit.*shorter extra claims$/);
  });

  it('a token of exactly that size is made', async () => {
    const sizeWith = async (unit: string) => (await setup({ job: { Meta: { unit } } }).ask([{}])).Signed[0]?.JWT.length;
    const most = MAX_SIGNED_TOKEN_BYTES - ((await sizeWith('u')) ?? 0) + 1;
    expect([await sizeWith('u'.repeat(most)), await sizeWith('u'.repeat(most + 1))]).toEqual([8_192, undefined]);
  });

  it('AU-121, AU-137: a default one is the same each time, never expires, and names the allocation’s key', async () => {
    const { state, claimsOf } = setup({
      group: { Tasks: [{ Name: 'main', Driver: 'exec', Identity: { Env: true } }] },
    });
    const key = fixtures.aRootKey({ KeyID: 'gone', State: 'inactive' });
    state.tables.root_keys.replace('gone', { ...key, CreateIndex: 1, ModifyIndex: 1 });
    const first = await claimsOf({ Identity: 'default' });
    expect(first).toEqual(await claimsOf({ Identity: '' }));
    expect(first.key).toBe('gone');
    expect(first.claims).toMatchObject({ aud: 'nomadproject.io', iat: 1_600_000_000, nbf: 1_600_000_000 });
    expect(first.claims).not.toHaveProperty('exp');
    expect(first.claims.jti).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(first.claims.sub).toBe('global:team:web:app:main:default');
  });

  it('AU-185: a default one whose key was deleted is signed with the active key', async () => {
    const { state, claimsOf } = setup();
    const key = fixtures.aRootKey({ KeyID: 'now', State: 'active' });
    state.tables.root_keys.replace('now', { ...key, CreateIndex: 1, ModifyIndex: 1 });
    expect((await claimsOf({ Identity: 'default' })).key).toBe('now');
  });

  it('AU-127: one for Vault or Consul names the namespace and role that the job wants there, and no other one does', async () => {
    const Identities = [AWS, { ...AWS, Name: 'vault_default' }, { ...AWS, Name: 'consul_default' }];
    const Vault = { Namespace: 'secrets', Role: 'reader' };
    const task = { Name: 'main', Driver: 'exec', Identities, Vault };
    const claimsWith = async (Tasks: object[], Identity: string) => {
      const { claims } = await setup({ group: { Tasks, Consul: { Namespace: 'mesh' } } }).claimsOf({ Identity });
      return [claims['consul_namespace'], claims['vault_namespace'], claims['vault_role']];
    };
    expect(await claimsWith([task], 'aws')).toEqual([undefined, undefined, undefined]);
    expect(await claimsWith([task], 'vault_default')).toEqual([undefined, 'secrets', 'reader']);
    expect(await claimsWith([task], 'consul_default')).toEqual(['mesh', undefined, undefined]);
    const own = { ...task, Consul: { Namespace: 'own' } };
    expect((await claimsWith([own], 'consul_default'))[0]).toBe('own');
    const named = [
      { ...task, Vault: { ...Vault, Cluster: 'team' }, Identities: [...Identities, { ...AWS, Name: 'vault_team' }] },
    ];
    expect(await claimsWith(named, 'vault_team')).toEqual([undefined, 'secrets', 'reader']);
    expect(await claimsWith(named, 'vault_default')).toEqual([undefined, undefined, undefined]);
    const elsewhere = { ...task, Consul: { Cluster: 'team' } };
    expect((await claimsWith([elsewhere], 'consul_default'))[0]).toBeUndefined();
  });

  it('AU-142: one of a service that a task has, in a group without services', async () => {
    const Services = [{ Name: 'db', Provider: 'consul', Identity: { Name: 'mesh', Audience: ['a'] } }];
    const { claimsOf } = setup({ group: { Tasks: [{ Name: 'main', Driver: 'exec', Services }], Services: null } });
    const { claims } = await claimsOf({ WorkloadType: 'service', Workload: 'db', Identity: 'mesh' });
    expect(claims['nomad_service']).toBe('db');
  });

  it('AU-142: none of a service whose group is gone from the job', async () => {
    const service = { WorkloadType: 'service', Workload: 'api-${NOMAD_ALLOC_INDEX}-x', Identity: 'mesh' } as const;
    const { reasonOf } = setup({ alloc: { TaskGroup: 'gone' } });
    expect(await reasonOf({ ...service, InterpolatedName: 'api-7-x' })).toBe('identity not found');
  });

  it('AU-131: a child of a dispatched or periodic job is its parent', async () => {
    const { claimsOf } = setup({ job: { ID: 'web/dispatch-1', ParentID: 'web' } });
    const { claims } = await claimsOf();
    expect([claims.sub, claims['nomad_job_id']]).toEqual(['global:team:web:app:main:aws', 'web']);
  });

  it('AU-132: without an audience, a TTL and an issuer there is neither aud, exp nor iss', async () => {
    const Tasks = [{ Name: 'main', Driver: 'exec', Identities: [{ Name: 'aws' }] }];
    const { claims } = await setup({ group: { Tasks } }).claimsOf();
    expect(claims['extra_claims']).toEqual({ org: 'acme/web/${none}' });
    expect(claims).not.toHaveProperty('iss');
    expect(claims).not.toHaveProperty('aud');
    expect(claims).not.toHaveProperty('exp');
  });

  it('AU-132: a TTL is a whole number of seconds, and at least one', async () => {
    const expiresAfter = async (TTL: number) => {
      const Tasks = [{ Name: 'main', Driver: 'exec', Identities: [{ ...AWS, TTL }] }];
      const { claims } = await setup({ group: { Tasks } }).claimsOf();
      return Number(claims['exp']) - Number(claims['iat']);
    };
    expect(await Promise.all([1, 1.4e9, 1.5e9].map(expiresAfter))).toEqual([1, 1, 2]);
  });

  it('AU-139: a service’s is found by the names of both', async () => {
    const service = (Name: string, identity: string) => ({
      Name,
      Provider: 'consul',
      Identity: { Name: identity, Audience: [Name] },
    });
    const Services = [service('db', 'mesh'), service('web', 'mesh'), service('plain', 'other')];
    const { claimsOf, reasonOf } = setup({ group: { Services } });
    const of = (Workload: string, Identity: string) => ({ WorkloadType: 'service', Workload, Identity }) as const;
    expect((await claimsOf(of('web', 'mesh'))).claims.aud).toBe('web');
    expect(await reasonOf(of('web', 'other'))).toBe('identity not found');
    expect(await reasonOf(of('none', 'mesh'))).toBe('identity not found');
  });

  it('AU-131, AU-133: a service’s has its interpolated name, several audiences are a list', async () => {
    const { claimsOf, reasonOf } = setup();
    const service = { WorkloadType: 'service', Workload: 'api-${NOMAD_ALLOC_INDEX}-x', Identity: 'mesh' } as const;
    const { claims } = await claimsOf({ ...service, InterpolatedName: 'api-7-x' });
    expect(claims).toMatchObject({
      sub: 'global:team:web:app:api-${NOMAD_ALLOC_INDEX}-x:mesh',
      aud: ['a', 'b'],
      nomad_service: 'api-7-x',
    });
    expect(claims).not.toHaveProperty('nomad_task');
    for (const InterpolatedName of ['db', 'api-7', 'api-x', 'api-7.8-x', 'xapi-7-x', 'api-7-x-'])
      expect(await reasonOf({ ...service, InterpolatedName })).toBe('identity not found');
  });
});

describe('who gets a token', () => {
  it('AU-139: the answer has a list of signed and one of rejected', async () => {
    const { ask, reasonOf } = setup();
    const { Signed, Rejected } = await ask([{}, { Identity: 'none' }]);
    expect([Signed.length, Rejected.length]).toEqual([1, 1]);
    expect(await reasonOf({ AllocID: 'none' })).toBe('allocation not found');
    expect(await reasonOf({ Workload: 'none' })).toBe('task not found');
    expect(await reasonOf({ Identity: 'none' })).toBe('identity not found');
    await expect(ask([])).rejects.toMatchObject({ code: 'invalid', message: 'no identities requested' });
  });

  it('AU-140: nothing is signed for another machine, not even what it may ask for', async () => {
    const { state, node, other, ask } = setup();
    await expect(ask([{}], other)).rejects.toMatchObject({ code: 'forbidden' });
    await expect(ask([{}], { ...node, SecretID: 'wrong' })).rejects.toMatchObject({ code: 'forbidden' });
    const elsewhere = fixtures.anAlloc({ NodeID: other.ID });
    state.tables.allocs.replace(elsewhere.ID, elsewhere);
    await expect(ask([{}, { AllocID: elsewhere.ID }])).rejects.toMatchObject({ code: 'forbidden' });
  });

  it('AU-142: a terminal allocation is rejected; one that is told to stop and still runs is not', async () => {
    for (const ClientStatus of ['complete', 'failed', 'lost'] as const)
      expect(await setup({ alloc: { ClientStatus } }).reasonOf()).toBe('allocation is terminal');
    const stopping = setup({ alloc: { DesiredStatus: 'stop', ClientStatus: 'running' } });
    expect(await stopping.reasonOf()).toBeUndefined();
  });

  it('AU-141: a copy that does not reach the index in time says so, and not that the allocation is unknown', async () => {
    const { state, node, ask } = setup();
    const asked = ask([{ AllocID: 'later' }], node, state.appliedIndex + 1);
    await expect(asked).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('what is no request is refused', async () => {
    const { ask } = setup();
    await expect(ask([{ Workload: 7 as unknown as string }])).rejects.toMatchObject({ code: 'invalid' });
    await expect(ask(Array.from({ length: 501 }, () => ({})))).rejects.toMatchObject({ code: 'invalid' });
  });
});

describe('AU-133: the name of a service that variables make', () => {
  const named = (written: string, names: readonly string[]) => {
    const Services = [{ Name: written, Provider: 'consul', Identity: { Name: 'mesh', Audience: ['a'] } }];
    const { reasonOf } = setup({ group: { Services } });
    const reason = (InterpolatedName: string) =>
      reasonOf({ WorkloadType: 'service', Workload: written, Identity: 'mesh', InterpolatedName });
    return Promise.all(names.map(reason));
  };
  const possible = undefined;
  const not = 'identity not found';

  it.each([
    ['api', ['api', 'api-1', 'ap', 'xapi'], [possible, not, not, not]],
    ['api-${A}', ['api-', 'api-1', 'api', 'x-api-1'], [not, possible, not, not]],
    ['${A}-api', ['1-api', 'api', '1-api-x'], [possible, not, not]],
    ['a-${A}-b-${B}-c', ['a-1-b-2-c', 'a--b--c', 'a-1-c', 'a-b-c', 'a-1-b-c'], [possible, possible, not, not, not]],
    ['a-${A}-b-${B}-b', ['a-1-b-2-b', 'a-1-b', 'a-1-b-b'], [possible, not, not]],
    ['aba${A}aba', ['ababa', 'abaaba', 'aba1aba'], [not, possible, possible]],
  ])('%s', async (written, names, reasons) => {
    expect(await named(written, names)).toEqual(reasons);
  });
});

describe('AU-139: a request for identities', () => {
  it('names five hundred at most', async () => {
    const { ask } = setup();
    const many = (count: number) => Array.from({ length: count }, () => ({}));
    await expect(ask(many(MAX_IDENTITIES_PER_CALL + 1))).rejects.toThrow('identities requested');
    expect((await ask(many(MAX_IDENTITIES_PER_CALL))).Signed).toHaveLength(MAX_IDENTITIES_PER_CALL);
    await expect(ask([])).rejects.toThrow('no identities requested');
  });

  it('has no answer for an allocation whose job is gone, and none of the claims of a namespace that is', async () => {
    const { state, ask, claimsOf } = setup();
    state.tables.namespaces.replace('team', undefined);
    expect((await claimsOf()).claims).not.toHaveProperty('extra_claims');
    const [alloc] = [...state.tables.allocs.all()];
    state.tables.allocs.replace(alloc!.ID, { ...alloc!, Job: null });
    expect((await ask([{}])).Rejected).toMatchObject([{ Reason: 'allocation not found' }]);
  });
});
