import { FakeTime } from '@waybill/model';
import { silentLogger } from '@waybill/telemetry';
import { describe, expect, it } from 'vitest';
import { FakeLoginService } from '../fixtures/login-service.js';
import type { LoginKind, LoginValue } from '../tasks/templates/template-source.js';
import { LoginReads, LONGEST_READ_RETRY_MS, READ_RETRY_MS } from './login-reads.js';
import type { OpenLogin } from './machine-logins.js';
import type { ServerAnswer, ServerCall } from './server-call.js';
import { TaskLogin } from './task-login.js';
import { DEFAULT_LEASE_MS } from './vault-reads.js';

type Answers = (
  call: ServerCall,
) => { readonly status?: number; readonly body?: unknown; readonly index?: number } | undefined;

/** Makes the reads of one task with a token. `answers` gives undefined for an answer that does not come yet. */
async function setup(answers: Answers, wanted: { namespace?: string } = {}) {
  const time = new FakeTime();
  const service = new FakeLoginService();
  service.validMs = null;
  const calls: ServerCall[] = [];
  const held: (() => void)[] = [];
  const call = async (given: ServerCall): Promise<ServerAnswer> => {
    calls.push(given);
    for (;;) {
      const answer = answers(given);
      if (answer) {
        const text = answer.body === undefined ? '' : JSON.stringify(answer.body);
        return { status: answer.status ?? 200, text, index: answer.index ?? 0 };
      }
      await new Promise<void>((resolve) => held.push(resolve));
    }
  };
  const login = new TaskLogin({
    service,
    jwt: () => 'jwt',
    identity: 'i',
    keepsAlive: true,
    clock: time,
    timers: time,
    random: () => 0.5,
    logger: silentLogger,
    fields: {},
    emit: () => {},
    save: async () => {},
  });
  await login.ready(new AbortController().signal);
  const opened = {
    wanted: { namespace: '', partition: '', ...wanted },
    server: { namespace: '', address: '', call },
    login,
  } as OpenLogin;
  const reads = new LoginReads({
    logins: { of: () => opened },
    timers: time,
    random: () => 0.5,
    nowMs: () => time.nowMs(),
  });
  const ended = new AbortController();
  const told: LoginValue[] = [];
  const watch = async (kind: LoginKind, name: string, signal = ended.signal): Promise<void> => {
    reads.of('alloc', 'task')[kind]?.watch(name, (value) => told.push(value as LoginValue), signal);
    await time.pass(0);
  };
  const release = async (): Promise<void> => {
    for (const go of held.splice(0)) go();
    await time.pass(0);
  };
  const values = (): unknown[] => told.map((value) => ('value' in value ? value.value : value.refused));
  return { time, service, calls, reads, told, values, watch, release, login, end: () => ended.abort() };
}

const secret = (over: object) => ({ request_id: 'r', lease_id: '', lease_duration: 0, renewable: false, ...over });
const asked = ({ method, path }: ServerCall): string => `${method} ${path}`;

describe('AG-298: secrets of Vault', () => {
  it('are read with the token and namespace of the task, and again before five minutes have passed', async () => {
    let n = 0;
    const { time, calls, values, watch } = await setup(() => ({ body: secret({ data: { n: ++n } }) }), {
      namespace: 'team',
    });
    await watch('vault.read', '["secret/data/my app"]');
    expect(calls[0]).toMatchObject({
      method: 'GET',
      path: '/v1/secret/data/my%20app',
      headers: { 'x-vault-token': 'token 1', 'x-vault-namespace': 'team' },
    });
    expect(values()).toEqual([{ RequestID: 'r', LeaseID: '', LeaseDuration: 0, Renewable: false, Data: { n: 1 } }]);
    await time.pass(DEFAULT_LEASE_MS * 0.9 - 1);
    expect(calls).toHaveLength(1);
    await time.pass(1);
    expect(values()).toMatchObject([{ Data: { n: 1 } }, { Data: { n: 2 } }]);
  });

  it('that are written for come from a PUT with the fields', async () => {
    const { calls, watch } = await setup(() => ({ body: secret({ data: {} }) }));
    await watch('vault.read', '["pki/issue/web","common_name=a=b","flag"]');
    expect(calls[0]).toMatchObject({
      method: 'PUT',
      path: '/v1/pki/issue/web',
      body: { common_name: 'a=b', flag: '' },
    });
  });

  it('keep their lease by renewals at its half, and are read anew when Vault cuts it or the token changes', async () => {
    let leaseS = 100;
    const lease = { lease_id: 'l', renewable: true, data: {} };
    const { time, calls, watch, service, login } = await setup(() => ({
      body: secret({ ...lease, lease_duration: leaseS }),
    }));
    await watch('vault.read', '["database/creds/app"]');
    await time.pass(50_000);
    expect(calls.map(asked)).toEqual(['GET /v1/database/creds/app', 'PUT /v1/sys/leases/renew']);
    expect(calls[1]?.body).toEqual({ lease_id: 'l' });
    leaseS = 20;
    await time.pass(50_000);
    expect(calls.slice(2).map(asked)).toEqual(['PUT /v1/sys/leases/renew', 'GET /v1/database/creds/app']);
    service.lost.add('token 1');
    await login.handleRefusal('token 1');
    await time.pass(0);
    expect(calls.slice(4).map(asked)).toEqual(['GET /v1/database/creds/app']);
    expect(calls.at(-1)?.headers?.['x-vault-token']).toBe('token 2');
  });

  it.each([
    ['a lease that cannot be renewed', secret({ lease_duration: 1_000, data: {} }), 900_000],
    ['a static role', secret({ data: { rotation_period: 3_600, ttl: 40 } }), 41_000],
    ['something with a ttl that is no static role', secret({ data: { ttl: 40 } }), DEFAULT_LEASE_MS * 0.9],
  ])('are read again when they are due: %s', async (_, body, dueMs) => {
    const { time, calls, watch } = await setup(() => ({ body }));
    await watch('vault.read', '["x"]');
    await time.pass(dueMs - 1);
    expect(calls).toHaveLength(1);
    await time.pass(1);
    expect(calls).toHaveLength(2);
  });

  it('are read anew for a template that comes after the last one has left', async () => {
    const { calls, told, time, watch } = await setup(() => ({ body: secret({ data: {} }) }));
    const first = new AbortController();
    await watch('vault.read', '["x"]', first.signal);
    first.abort();
    await time.pass(0);
    await watch('vault.read', '["x"]');
    expect(calls).toHaveLength(2);
    await time.pass(DEFAULT_LEASE_MS);
    expect(calls).toHaveLength(3);
    expect(told).toHaveLength(3);
  });

  it('a certificate is issued anew at nine tenths of its life', async () => {
    const now = new FakeTime().nowMs();
    const data = { certificate: 'c', expiration: now / 1_000 + 1_000 };
    const { time, calls, watch } = await setup(() => ({ body: secret({ data }) }));
    await watch('vault.read', '["pki/issue/web","common_name=a"]');
    await time.pass(899_999);
    expect(calls).toHaveLength(1);
    await time.pass(1);
    expect(calls).toHaveLength(2);
  });

  it('that do not exist are undefined and looked for every minute; lists are names in order', async () => {
    let status = 404;
    const { time, values, watch, calls } = await setup(({ path }) =>
      path.endsWith('?list=true')
        ? { body: { data: { keys: ['b', 'a/'] } } }
        : { status, body: secret({ data: { a: 1 } }) },
    );
    await watch('vault.list', 'secret/metadata/');
    expect([calls[0] && asked(calls[0]), values()]).toEqual(['GET /v1/secret/metadata?list=true', [['a/', 'b']]]);
    await watch('vault.read', '["secret/x"]');
    expect(values().at(-1)).toBeUndefined();
    status = 200;
    await time.pass(60_000);
    expect(values().at(-1)).toMatchObject({ Data: { a: 1 } });
  });
});

describe('AG-299: keys and services of Consul', () => {
  const base64 = (text: string): string => Buffer.from(text).toString('base64');

  it('are told when they have changed, with reads that wait for the next index', async () => {
    let index = 7;
    const { calls, values, watch, time, release } = await setup(({ path }) => {
      if (path.includes(`index=${index}`)) return undefined;
      return index === 9 ? { status: 404, index } : { index, body: [{ Key: 'app/x', Value: base64(`at ${index}`) }] };
    });
    await watch('kv.get', '/app/x@dc2');
    expect(calls[0]).toMatchObject({
      method: 'GET',
      path: '/v1/kv/app/x?dc=dc2',
      headers: { 'x-consul-token': 'token 1' },
    });
    expect(values()).toEqual(['at 7']);
    await time.pass(250);
    expect(calls[1]?.path).toBe('/v1/kv/app/x?dc=dc2&index=7&wait=60s');
    expect(calls[1]?.timeoutMs).toBe(75_000);
    index = 9;
    await release();
    expect(values()).toEqual(['at 7', null]);
    index = 3; // a restore of Consul: the index begins anew
    await time.pass(250);
    await time.pass(250);
    expect(calls.at(-1)?.path).toBe('/v1/kv/app/x?dc=dc2');
  });

  it('keys below a prefix have their names below it, without folders', async () => {
    const body = ['app/', 'app/a', 'app/deep/', 'app/deep/b'].map((Key) => ({
      Key,
      Value: Key === 'app/a' ? base64('1') : null,
    }));
    const { values, watch, calls } = await setup(({ path }) =>
      path.includes('index') ? undefined : { index: 1, body },
    );
    await watch('kv.list', 'app');
    expect(calls[0]?.path).toBe('/v1/kv/app/?recurse=true');
    expect(values()).toEqual([
      [
        { Key: 'a', Value: '1', Path: 'app/a' },
        { Key: 'deep/b', Value: '', Path: 'app/deep/b' },
      ],
    ]);
  });

  it('services have the address of their node unless they have one, and the state of their worst check', async () => {
    const entry = (ID: string, Address: string, ...states: string[]) => ({
      Node: { Node: 'n1', Address: '10.0.0.1', Datacenter: 'dc1' },
      Service: { ID, Service: 'web', Address, Port: 80, Tags: ['a'], Meta: { k: 'v' } },
      Checks: states.map((Status) => ({ Status })),
    });
    const body = [entry('2', '', 'passing'), entry('1', '10.9.9.9', 'passing', 'warning'), entry('3', '', 'critical')];
    const { values, watch, calls } = await setup(({ path }) =>
      path.includes('index') ? undefined : { index: 1, body },
    );
    await watch('health.service', 'v1.web@dc2|passing');
    await watch('health.service', 'web|any');
    await watch('health.service', 'web|passing,warning');
    expect(calls.map(({ path }) => path)).toEqual([
      '/v1/health/service/web?dc=dc2&tag=v1&passing=true',
      '/v1/health/service/web',
      '/v1/health/service/web',
    ]);
    const ids = values().map((found) => (found as { ID: string }[]).map(({ ID }) => ID));
    expect(ids).toEqual([['2'], ['1', '2', '3'], ['1', '2']]);
    expect((values()[1] as object[])[0]).toEqual({
      ID: '1',
      Name: 'web',
      Node: 'n1',
      NodeAddress: '10.0.0.1',
      NodeDatacenter: 'dc1',
      Address: '10.9.9.9',
      Port: 80,
      Tags: ['a'],
      ServiceMeta: { k: 'v' },
      Status: 'warning',
    });
    expect((values()[1] as { Address: string }[])[1]?.Address).toBe('10.0.0.1');
  });

  it('names of services have their tags, both in order', async () => {
    const body = { web: ['b', 'a'], consul: [] };
    const { values, watch } = await setup(({ path }) => (path.includes('index') ? undefined : { index: 1, body }));
    await watch('catalog.services', '');
    expect(values()).toEqual([
      [
        { Name: 'consul', Tags: [] },
        { Name: 'web', Tags: ['a', 'b'] },
      ],
    ]);
  });
});

describe('reads of templates', () => {
  it('AG-298, AG-299: a refusal is told unless there is a value, and asks whether the token still counts', async () => {
    let status = 403;
    const { values, watch, service, time } = await setup(() => ({ status, body: secret({ data: { a: 1 } }) }));
    await watch('vault.read', '["x"]');
    expect(values()).toEqual([expect.stringMatching(/^Vault answered 403/)]);
    expect(service.requests).toContain('check token 1');
    status = 200;
    await time.pass(READ_RETRY_MS);
    expect(values().at(-1)).toMatchObject({ Data: { a: 1 } });
    status = 403;
    await time.pass(DEFAULT_LEASE_MS);
    expect(values()).toHaveLength(2);
  });

  it('AG-298: while the server is away the last value stays, and pauses grow', async () => {
    let status = 200;
    const { values, watch, time, calls } = await setup(() => ({ status, body: secret({ data: {} }) }));
    await watch('vault.read', '["x"]');
    status = 503;
    await time.pass(DEFAULT_LEASE_MS * 0.9);
    expect(calls).toHaveLength(2);
    await time.pass(READ_RETRY_MS);
    expect(calls).toHaveLength(3);
    await time.pass(2 * READ_RETRY_MS - 1);
    expect(calls).toHaveLength(3);
    await time.pass(10 * LONGEST_READ_RETRY_MS);
    const before = calls.length;
    await time.pass(LONGEST_READ_RETRY_MS);
    expect(calls).toHaveLength(before + 1);
    expect(values()).toHaveLength(1);
  });

  it('AG-298: two templates share one read, and the last that leaves ends it', async () => {
    const { watch, calls, told, time, end } = await setup(() => ({ body: secret({ data: {} }) }));
    await watch('vault.read', '["x"]');
    await watch('vault.read', '["x"]');
    expect([calls.length, told.length]).toEqual([1, 2]);
    end();
    await time.pass(0);
    expect(time.pending).toBe(0);
    await time.pass(10 * DEFAULT_LEASE_MS);
    expect(calls).toHaveLength(1);
  });

  it('AG-298: the end of the agent ends all reads', async () => {
    const { watch, reads, calls, time } = await setup(() => ({ body: secret({ data: {} }) }));
    await watch('vault.read', '["x"]');
    reads.stop();
    await time.pass(10 * DEFAULT_LEASE_MS);
    expect(calls).toHaveLength(1);
    await watch('vault.read', '["y"]');
    expect(calls).toHaveLength(1);
  });
});
