import { AclCache } from '@waybill/acl';
import { type Claims, TokenRefusedError } from '@waybill/keyring';
import { type AclPolicy, type AclRole, type AclToken, FakeTime, isPolicyOf } from '@waybill/model';
import { ProjectionFeed, watchKeysOf } from '@waybill/projection';
import { fixtures, type TxnPayloads, type TxnType } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { Callers, everybody } from './callers.js';
import { CallerWatches } from './caller-watch.js';

const { aPolicy, aRole, aToken } = fixtures;
const reading = (namespace: string): string => `namespace "${namespace}" { policy = "read" }`;
const IDENTITY = 'header.payload.signature';

/** A state whose transactions are announced to an API, with everything that the API reads of it. */
class Cluster {
  readonly time = new FakeTime();
  readonly machine = fixtures.aMachine();
  readonly looked: string[] = [];
  identity: Claims = {};
  private readonly feed = new ProjectionFeed({
    record: { appliedIndex: () => Promise.resolve(0), txnVerdict: () => Promise.resolve(undefined) },
    clock: this.time,
    timers: this.time,
  });

  private readonly callers = new Callers({
    source: {
      grantsBySecretHash: async (hash) => {
        this.looked.push(hash);
        const token = this.rows<AclToken>('acl_token').find(({ SecretHash }) => SecretHash === hash);
        if (!token) return undefined;
        const ids = (token.Roles ?? []).map(({ ID }) => ID);
        const roles = this.rows<AclRole>('acl_roles').filter(({ ID }) => ids.includes(ID));
        const byRoles = roles.flatMap(({ Policies }) => Policies.map(({ Name }) => Name));
        return { token, roles, policies: this.policiesNamed([...(token.Policies ?? []), ...byRoles]) };
      },
      changeIndex: () => Promise.resolve(this.machine.appliedIndex),
      policiesNamed: async (names) => {
        this.looked.push(...names);
        return this.policiesNamed(names);
      },
    },
    secrets: { hashes: (secret) => [secret] },
    compiled: new AclCache(),
    workloads: {
      verifyJwt: (token) =>
        token === IDENTITY ? Promise.resolve(this.identity) : Promise.reject(new TokenRefusedError('unknown')),
      allocation: (id) => {
        this.looked.push(id);
        return Promise.resolve(this.machine.tables.allocs.get(id));
      },
      policiesOfWorkload: (workload) =>
        Promise.resolve(this.rows<AclPolicy>('acl_policy').filter((policy) => isPolicyOf(policy, workload))),
    },
    clock: this.time,
    hearsChanges: () => true,
    changes: this.feed,
  });

  readonly watches = new CallerWatches({ callers: this.callers, clock: this.time, timers: this.time });

  constructor() {
    this.feed.onChange(['acl_token', 'acl_policy', 'acl_roles'], () => this.callers.invalidateAll());
  }

  /** Applies a transaction and announces it, as the projector does. */
  write<T extends TxnType>(type: T, payload: TxnPayloads[T]): void {
    const { index, changes, verdict } = fixtures.apply(this.machine, type, payload);
    expect(verdict, type).not.toMatchObject({ kind: 'refused' });
    const entries = [{ index, requestId: `r${index}`, keys: watchKeysOf(changes) }];
    this.feed.receive({ from: index - 1, to: index, eventSequence: 0, appliedAtMs: 0, entries });
  }

  policy(Name: string, Rules: string, JobACL: AclPolicy['JobACL'] = null): void {
    this.write('ACLPolicyUpsert', { Policies: [aPolicy({ Name, Rules, JobACL })] });
  }

  token(over: Partial<AclToken>): AclToken {
    const token = aToken({ SecretHash: crypto.randomUUID(), ...over });
    this.write('ACLTokenUpsert', { Tokens: [token] });
    return token;
  }

  role(Name: string, ...policies: string[]): AclRole {
    const role = aRole({ Name, Policies: policies.map((policy) => ({ Name: policy })) });
    this.write('ACLRolesUpsert', { Roles: [role], MustExist: false });
    return role;
  }

  /** Opens a stream that needs to read jobs of the namespace. */
  open(token: AclToken | undefined, namespace = 'team') {
    return this.openWith(token?.SecretHash, namespace);
  }

  openWith(credential: string | undefined, namespace: string) {
    return this.watches.open(credential, ({ acl }) => {
      if (!acl.allowsNamespace(namespace, 'read-job')) throw new Error('lost');
    });
  }

  /** Places an allocation, whose identity is valid for so long. */
  runWorkload(validMs?: number): string {
    const { job, evaluation } = fixtures.aRegisteredJob(this.machine);
    const node = fixtures.aNode();
    fixtures.apply(this.machine, 'NodeRegister', { Node: node, CreateNodePool: false });
    const alloc = fixtures.anAlloc({ Job: job, NodeID: node.ID });
    this.write('ApplyPlanResults', fixtures.aPlanResult({ AllocsUpdated: [alloc], EvalID: evaluation.ID }));
    this.identity = {
      aud: 'nomadproject.io',
      sub: `global:default:${job.ID}:web:web:default`,
      nomad_namespace: 'default',
      nomad_job_id: job.ID,
      nomad_allocation_id: alloc.ID,
      nomad_task: job.TaskGroups[0]?.Tasks[0]?.Name ?? '',
      ...(validMs !== undefined && { exp: (this.time.nowMs() + validMs) / 1_000 }),
    };
    this.policy('of-jobs', reading('default'), { Namespace: 'default', JobID: job.ID, Group: '', Task: '' });
    return alloc.ID;
  }

  private rows<Row>(table: 'acl_token' | 'acl_roles' | 'acl_policy'): Row[] {
    return [...this.machine.tables[table].all()] as Row[];
  }

  private policiesNamed(names: readonly string[]): AclPolicy[] {
    return this.rows<AclPolicy>('acl_policy').filter(({ Name }) => names.includes(Name));
  }
}

describe('the rights of an open stream', () => {
  it('AU-234: a changed policy causes a check of the streams of its tokens, and of no others', async () => {
    const cluster = new Cluster();
    for (const name of ['one', 'other']) cluster.policy(name, reading('team'));
    const direct = cluster.token({ Policies: ['one'] });
    const role = cluster.role('team', 'one');
    const byRole = cluster.token({ Policies: null, Roles: [{ ID: role.ID, Name: role.Name }] });
    const others = Array.from({ length: 998 }, () => cluster.token({ Policies: ['other'] }));
    const streams = await Promise.all([direct, byRole, ...others].map((token) => cluster.open(token)));
    cluster.looked.length = 0;
    cluster.policy('one', `${reading('team')} ${reading('more')}`);
    expect(await Promise.all(streams.map((stream) => stream.settled()))).toEqual(streams.map(() => true));
    expect(cluster.looked.toSorted()).toEqual([direct.SecretHash, byRole.SecretHash].toSorted());
    expect(streams.map(({ caller }) => caller.acl.allowsNamespace('more', 'read-job')).filter(Boolean)).toHaveLength(2);
    cluster.policy('one', reading('more'));
    await Promise.all(streams.map((stream) => stream.settled()));
    expect(streams.map(({ ended }) => ended.aborted)).toEqual([true, true, ...others.map(() => false)]);
    for (const stream of streams) stream.close();
  });

  const LOSSES: [string, (cluster: Cluster, token: AclToken, role: AclRole) => void][] = [
    ['the policy is deleted', (cluster) => cluster.write('ACLPolicyDelete', { Names: ['one'] })],
    ['the role is deleted', (cluster, _, { ID }) => cluster.write('ACLRolesDelete', { IDs: [ID] })],
    ['the role loses the policy', (cluster, _, role) => changeRole(cluster, role, 'two')],
    ['the token is deleted', (cluster, { AccessorID }) => deleteToken(cluster, AccessorID)],
    ['the token loses the role', (cluster, token) => changeToken(cluster, token, { Policies: ['two'], Roles: null })],
  ];
  it.each(LOSSES)('AU-235: a stream ends when %s', async (_, lose) => {
    const cluster = new Cluster();
    cluster.policy('one', reading('team'));
    cluster.policy('two', reading('elsewhere'));
    const role = cluster.role('team', 'one');
    const token = cluster.token({ Policies: null, Roles: [{ ID: role.ID, Name: role.Name }] });
    const stream = await cluster.open(token);
    lose(cluster, token, role);
    expect(await stream.settled()).toBe(false);
    expect(cluster.time.pending).toBe(0);
  });

  it('AU-235: another policy with the same right in one transaction keeps the stream, and it is the one that counts', async () => {
    const cluster = new Cluster();
    for (const name of ['a', 'b']) cluster.policy(name, reading('team'));
    const token = cluster.token({ Policies: ['a'] });
    const stream = await cluster.open(token);
    changeToken(cluster, token, { Policies: ['b'] });
    expect(await stream.settled()).toBe(true);
    cluster.write('ACLPolicyDelete', { Names: ['a'] });
    expect(await stream.settled()).toBe(true);
    cluster.write('ACLPolicyDelete', { Names: ['b'] });
    expect(await stream.settled()).toBe(false);
  });

  it('AU-233: a stream without a token ends with the right of the policy `anonymous`', async () => {
    const cluster = new Cluster();
    cluster.policy('anonymous', reading('team'));
    const [narrowed, deleted] = [await cluster.open(undefined), await cluster.open(undefined)];
    cluster.policy('anonymous', `${reading('team')} ${reading('more')}`);
    expect(await narrowed.settled()).toBe(true);
    narrowed.close();
    cluster.write('ACLPolicyDelete', { Names: ['anonymous'] });
    expect(await deleted.settled()).toBe(false);
    cluster.policy('anonymous', reading('team'));
    const again = await cluster.open(undefined);
    cluster.policy('anonymous', reading('elsewhere'));
    expect(await again.settled()).toBe(false);
  });

  it('AU-233: with access control off nothing is checked again', async () => {
    const time = new FakeTime();
    let checks = 0;
    const stream = await new CallerWatches({ callers: everybody, clock: time, timers: time }).open('any', () => {
      checks++;
    });
    expect([checks, await stream.settled(), checks, time.pending]).toEqual([1, true, 1, 0]);
  });

  it('a change while the caller is read for the first time is not missed', async () => {
    const cluster = new Cluster();
    cluster.policy('one', reading('team'));
    const token = cluster.token({ Policies: ['one'] });
    const opening = cluster.open(token);
    cluster.write('ACLPolicyDelete', { Names: ['one'] });
    await expect(opening.then((stream) => stream.settled())).rejects.toThrow('lost');
  });

  it('a stream that was closed during a check leaves no timer', async () => {
    const cluster = new Cluster();
    cluster.policy('one', reading('team'));
    const ExpirationTime = new Date(cluster.time.nowMs() + 60_000).toISOString();
    const stream = await cluster.open(cluster.token({ Policies: ['one'], ExpirationTime }));
    cluster.policy('one', `${reading('team')} ${reading('more')}`);
    stream.close();
    await stream.settled();
    expect(cluster.time.pending).toBe(0);
  });
});

describe('the end of the credential of an open stream', () => {
  const expiringAfter = (cluster: Cluster, ms: number): AclToken => {
    cluster.policy('one', reading('team'));
    return cluster.token({ Policies: ['one'], ExpirationTime: new Date(cluster.time.nowMs() + ms).toISOString() });
  };

  it('AU-231: a timer ends the stream at the expiry of its token', async () => {
    const cluster = new Cluster();
    const stream = await cluster.open(expiringAfter(cluster, 5_000));
    await cluster.time.pass(4_999);
    expect(stream.ended.aborted).toBe(false);
    await cluster.time.pass(1);
    expect(stream.ended.aborted).toBe(true);
    expect(stream.ended.reason).toMatchObject({ because: 'expired' });
  });

  it('AU-231: nothing is sent after the expiry, although the timer is late', async () => {
    const cluster = new Cluster();
    const stream = await cluster.open(expiringAfter(cluster, 5_000));
    cluster.time.freeze(5_000);
    expect(await stream.settled()).toBe(false);
  });

  it('AU-231: a timer ends the stream of a workload at `exp`; without `exp` it never does', async () => {
    const cluster = new Cluster();
    cluster.runWorkload(5_000);
    const stream = await cluster.openWith(IDENTITY, 'default');
    await cluster.time.pass(4_999);
    expect(stream.ended.aborted).toBe(false);
    await cluster.time.pass(1);
    expect(stream.ended.aborted).toBe(true);
    delete cluster.identity['exp'];
    const endless = await cluster.openWith(IDENTITY, 'default');
    expect(cluster.time.pending).toBe(0);
    endless.close();
  });

  it('AU-232: the stream of a workload ends with the update by which its allocation has ended, and not before', async () => {
    const cluster = new Cluster();
    const allocId = cluster.runWorkload();
    const stream = await cluster.openWith(IDENTITY, 'default');
    const row = cluster.machine.tables.allocs.get(allocId);
    const report = (ClientStatus: 'running' | 'complete') =>
      cluster.write('AllocClientUpdate', {
        Allocs: [fixtures.aClientUpdate({ ID: allocId, NodeID: row?.NodeID ?? '' }, { ClientStatus })],
        Evals: [],
      });
    report('running');
    expect(await stream.settled()).toBe(true);
    report('complete');
    expect(await stream.settled()).toBe(false);
  });

  it('AU-234: the stream of a workload follows the policies of workloads in its namespace, also new ones', async () => {
    const cluster = new Cluster();
    cluster.runWorkload();
    const stream = await cluster.openWith(IDENTITY, 'default');
    const sees = () => stream.caller.acl.allowsNamespace('more', 'read-job');
    const JobACL = { Namespace: 'default', JobID: '', Group: '', Task: '' };
    cluster.policy('later', reading('more'), JobACL);
    expect([await stream.settled(), sees()]).toEqual([true, true]);
    cluster.policy('later', reading('more'));
    expect([await stream.settled(), sees()]).toEqual([true, false]);
    cluster.looked.length = 0;
    cluster.policy('elsewhere', reading('more'), { ...JobACL, Namespace: 'team' });
    cluster.policy('of-tokens', reading('more'));
    expect([await stream.settled(), cluster.looked]).toEqual([true, []]);
    cluster.write('ACLPolicyDelete', { Names: ['of-jobs'] });
    expect(await stream.settled()).toBe(false);
  });
});

function deleteToken(cluster: Cluster, AccessorID: string): void {
  cluster.write('ACLTokenDelete', { AccessorIDs: [AccessorID] });
}
function changeToken(cluster: Cluster, token: AclToken, over: Partial<AclToken>): void {
  cluster.write('ACLTokenUpsert', { Tokens: [{ ...token, ...over, SecretHash: '' }] }); // as updates are written
}
function changeRole(cluster: Cluster, role: AclRole, policy: string): void {
  cluster.write('ACLRolesUpsert', { Roles: [{ ...role, Policies: [{ Name: policy }] }], MustExist: true });
}
