import { AclCache } from '@waybill/acl';
import { TokenRefusedError } from '@waybill/keyring';
import { type AclPolicy, type AclRole, type AclToken, FakeTime } from '@waybill/model';
import { beforeEach, describe, expect, it } from 'vitest';
import { Callers, RefusedCredential, REMEMBER_MS } from './callers.js';

const SECRET = '11111111-2222-4333-8444-555555555555';
const aToken = (members: Partial<AclToken> = {}): AclToken => ({
  AccessorID: 'a0000000-0000-4000-8000-000000000000',
  SecretHash: `hash of ${SECRET}`,
  SealedSecret: '',
  Name: 'ci',
  Type: 'client',
  Policies: ['readers'],
  Roles: null,
  Global: false,
  Hash: '',
  CreateTime: '2026-01-01T00:00:00Z',
  ExpirationTime: null,
  ExpirationTTL: 0,
  CreateIndex: 1,
  ModifyIndex: 1,
  ...members,
});
const aPolicy = (Name: string, Rules: string, ModifyIndex = 1): AclPolicy => ({
  Name,
  Rules,
  Description: '',
  JobACL: null,
  Hash: '',
  CreateIndex: 1,
  ModifyIndex,
});
const reading = (namespace: string): string => `namespace "${namespace}" { policy = "read" }`;

let time: FakeTime;
let token: AclToken | undefined;
let policies: AclPolicy[];
let roles: AclRole[];
let reads: string[];
let connected: boolean;
let changeIndex: number;
let fails: Error | undefined;
/** One for each key of access control, the present one first. */
let hashNames: string[];
/** Called before a read by a hash. */
let beforeRead: () => void;
let storedUnder: string;

const unusedWorkloads = {
  verifyJwt: () => Promise.reject(new TokenRefusedError('no identity is expected')),
  allocation: () => Promise.reject(new Error('unused')),
  policiesOfWorkload: () => Promise.reject(new Error('unused')),
};

const callersOf = (): Callers =>
  new Callers({
    source: {
      grantsBySecretHash: async (hash) => {
        reads.push('grants');
        beforeRead();
        if (fails) throw fails;
        if (hash !== `${storedUnder} of ${SECRET}` || !token) return undefined;
        const names = [...(token.Policies ?? []), ...roles.flatMap((role) => role.Policies.map(({ Name }) => Name))];
        return { token, roles, policies: policies.filter(({ Name }) => names.includes(Name)) };
      },
      changeIndex: async () => changeIndex,
      policiesNamed: async (names) => policies.filter(({ Name }) => names.includes(Name)),
    },
    secrets: { hashes: (secret) => hashNames.map((name) => `${name} of ${secret}`) },
    compiled: new AclCache(),
    workloads: unusedWorkloads,
    clock: time,
    hearsChanges: () => connected,
    changes: { onChangeOf: () => () => {} },
  });

beforeEach(() => {
  time = new FakeTime();
  token = aToken();
  policies = [aPolicy('readers', reading('team'), 1)];
  roles = [];
  reads = [];
  connected = true;
  changeIndex = 7;
  fails = undefined;
  hashNames = ['hash'];
  storedUnder = 'hash';
  beforeRead = () => {};
});

describe('who sends a request', () => {
  it('OP-112: without a token, whoever it is may do what the policy `anonymous` grants, and nothing without it', async () => {
    expect((await callersOf().of(undefined)).acl.allowsNamespace('team', 'read-job')).toBe(false);
    policies = [aPolicy('anonymous', reading('team'), 3)];
    const { acl, actor, token: none } = await callersOf().of('');
    expect(acl.allowsNamespace('team', 'read-job')).toBe(true);
    expect(acl.allowsNamespace('team', 'submit-job')).toBe(false);
    expect([actor.Kind, none]).toEqual(['anonymous', undefined]);
  });

  it('OP-113 OP-116: a token is found by its secret, in any case, and named by its accessor', async () => {
    const { acl, actor } = await callersOf().of(SECRET.toUpperCase());
    expect(actor).toEqual({ Kind: 'token', ID: token?.AccessorID, Name: 'ci' });
    expect(acl.allowsNamespace('team', 'read-job')).toBe(true);
    expect(acl.allowsNamespace('other', 'read-job')).toBe(false);
  });

  it('while the key changes, a token is found under both keys, also one that is stored anew between two reads', async () => {
    hashNames = ['hash', 'other hash'];
    storedUnder = 'other hash';
    expect((await callersOf().of(SECRET)).actor.ID).toBe(token?.AccessorID);
    expect(reads).toEqual(['grants', 'grants']);
    beforeRead = () => {
      if (reads.length === 4) storedUnder = 'hash';
    };
    expect((await callersOf().of(SECRET)).actor.ID).toBe(token?.AccessorID);
    storedUnder = 'third hash';
    await expect(callersOf().of(SECRET)).rejects.toMatchObject({ because: 'unknown' });
  });

  it('OP-115: an unknown secret, and what is no secret, is refused and not taken for nobody', async () => {
    policies.push(aPolicy('anonymous', reading('*'), 3));
    for (const wrong of ['99999999-2222-4333-8444-555555555555', 'eyJhbGciOiJub25lIn0.e30.', 'x'])
      await expect(callersOf().of(wrong)).rejects.toMatchObject({ because: 'unknown', code: 'forbidden' });
  });

  it('AU-223, OP-154: a token is refused from the instant of its expiry on, remembered or not', async () => {
    token = aToken({ ExpirationTime: new Date(time.nowMs() + 1_000).toISOString() });
    const callers = callersOf();
    await time.pass(999);
    expect((await callers.of(SECRET)).actor.Kind).toBe('token');
    await time.pass(1);
    await expect(callers.of(SECRET)).rejects.toMatchObject({ because: 'expired' });
  });

  it('OP-153: policies come from roles too, and what is gone grants nothing', async () => {
    roles = [{ ID: 'r1', Name: 'dev', Policies: [{ Name: 'writers' }, { Name: 'gone' }] } as AclRole];
    policies.push(aPolicy('writers', 'namespace "team" { policy = "write" }', 2));
    token = aToken({
      Policies: null,
      Roles: [
        { ID: 'r1', Name: 'dev' },
        { ID: 'r2', Name: 'gone' },
      ],
    });
    expect((await callersOf().of(SECRET)).acl.allowsNamespace('team', 'submit-job')).toBe(true);
    roles = [];
    expect((await callersOf().of(SECRET)).acl.allowsNamespace('team', 'read-job')).toBe(false);
  });

  it('a management token may do everything', async () => {
    token = aToken({ Type: 'management', Policies: null });
    expect((await callersOf().of(SECRET)).acl.isManagement()).toBe(true);
    expect(reads).toEqual(['grants']);
  });
});

describe('what is remembered of tokens and policies', () => {
  it('OP-118: nothing is read twice until something changes; then the next request sees the change', async () => {
    const callers = callersOf();
    await callers.of(SECRET);
    await callers.of(SECRET);
    expect(reads).toEqual(['grants']);
    policies = [aPolicy('readers', reading('elsewhere'), 2)];
    callers.invalidateAll();
    expect((await callers.of(SECRET)).acl.allowsNamespace('team', 'read-job')).toBe(false);
    token = undefined;
    callers.invalidateAll();
    await expect(callers.of(SECRET)).rejects.toBeInstanceOf(RefusedCredential);
  });

  it('OP-118: a change while a caller is looked up is seen by the next request', async () => {
    const callers = callersOf();
    const looking = callers.of(SECRET);
    policies = [];
    callers.invalidateAll();
    await looking;
    expect((await callers.of(SECRET)).acl.allowsNamespace('team', 'read-job')).toBe(false);
  });

  it('while changes are not heard of everything is read, and a change that nobody told of counts after a while', async () => {
    const callers = callersOf();
    await callers.of(SECRET);
    connected = false;
    await callers.of(SECRET);
    await callers.of(SECRET);
    expect(reads).toHaveLength(3);
    connected = true;
    await callers.of(SECRET);
    reads = [];
    changeIndex = 8;
    await time.pass(REMEMBER_MS - 1);
    await callers.of(SECRET);
    expect(reads).toEqual([]);
    await time.pass(1);
    await callers.of(SECRET);
    expect(reads).toEqual(['grants']);
  });

  it('a caller is remembered for as long as nothing changes', async () => {
    const callers = callersOf();
    for (let n = 0; n < 5; n++) {
      await callers.of(SECRET);
      await time.pass(REMEMBER_MS);
    }
    expect(reads).toEqual(['grants']);
  });

  it('a read model that cannot be read fails the request; nobody gets other rights', async () => {
    fails = new Error('connection refused');
    await expect(callersOf().of(SECRET)).rejects.toThrow('connection refused');
  });
});
