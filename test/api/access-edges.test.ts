import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AccessCluster, type MadeToken } from '../support/access-cluster.js';
import { shellJob } from '../support/api-client.js';
import { EventReader } from '../support/event-reader.js';
import { eventually } from '../support/wait.js';
import { TestWebSocket } from '../support/websocket.js';

const DENIED = [403, 'Permission denied'];

let cluster: AccessCluster;
/** A directory into which tasks write. */
let shared: string;
/** The allocation of a job in the namespace `other`. */
let foreign: string;

beforeAll(async () => {
  shared = mkdtempSync(path.join(tmpdir(), 'waybill-edges-'));
  cluster = await AccessCluster.start(undefined, { WAYBILL_KEYRING_KEY: randomBytes(32).toString('hex') });
  await cluster.asked('PUT', '/v1/namespace', { Name: 'other' });
  await cluster.asked('PUT', '/v1/jobs', { Job: { ...shellJob('web', 'exec sleep 600'), Namespace: 'other' } });
  foreign = (await runningAllocation('web', 'other')).ID;
});
afterAll(async () => {
  await cluster?.stop();
  rmSync(shared, { recursive: true, force: true });
});

interface Alloc {
  readonly ID: string;
  readonly ClientStatus: string;
  readonly DesiredStatus: string;
}

const allocations = (job: string, namespace: string): Promise<Alloc[]> =>
  cluster.asked('GET', `/v1/job/${encodeURIComponent(job)}/allocations?namespace=${namespace}`);
const runningAllocation = (job: string, namespace: string): Promise<Alloc> =>
  eventually(`${job} runs`, async () =>
    (await allocations(job, namespace)).find(({ ClientStatus }) => ClientStatus === 'running'),
  );
async function answer(method: string, url: string, token: string, body?: unknown): Promise<[number, string]> {
  const response = await cluster.send(method, url, token, body);
  return [response.status, (await response.text()).trim()];
}
const status = (method: string, url: string, token: string, body?: unknown): Promise<number> =>
  cluster.statusOf(method, url, token, body);
const newToken = (rules: string, name: string): Promise<MadeToken> =>
  cluster.policy(name, rules).then(() => cluster.token(name, [name]));

describe('rights of operators', () => {
  const SCHEDULER = '/v1/operator/scheduler/configuration';

  it('OP-17: the configuration of the scheduler needs operator rights, and no right on nodes helps', async () => {
    const reader = await cluster.tokenWith('operator { policy = "read" }');
    const writer = await cluster.tokenWith('operator { policy = "write" }');
    const nodes = await cluster.tokenWith('node { policy = "write" }');
    const config = { SchedulerAlgorithm: 'spread' };
    for (const token of ['', nodes]) expect(await answer('GET', SCHEDULER, token)).toEqual(DENIED);
    for (const token of ['', nodes, reader]) expect(await answer('PUT', SCHEDULER, token, config)).toEqual(DENIED);
    expect(await status('GET', SCHEDULER, reader)).toBe(200);
    expect(await status('PUT', SCHEDULER, writer, config)).toBe(200);
    expect(await cluster.asked('GET', SCHEDULER, undefined, reader)).toMatchObject({
      SchedulerConfig: { SchedulerAlgorithm: 'spread' },
    });
  });

  it('OP-41: an archive is taken with operator write or its capability, and restored by management alone', async () => {
    const url = '/v1/operator/snapshot';
    const reader = await cluster.tokenWith('operator { policy = "read" }');
    const saver = await cluster.tokenWith('operator { capabilities = ["snapshot-save"] }');
    const writer = await cluster.tokenWith('operator { policy = "write" }');
    const unknown = '11111111-2222-4333-8444-555555555555';
    for (const token of ['', reader, unknown]) expect(await status('GET', url, token)).toBe(403);
    for (const token of [saver, writer]) expect(await status('GET', url, token)).toBe(200);
    for (const token of ['', saver, writer]) expect(await answer('PUT', url, token, {})).toEqual(DENIED);
    // Management is let in, and told that this is no archive.
    expect(await status('PUT', url, cluster.management, {})).toBe(400);
  });
});

describe('tokens', () => {
  it('OP-146: a bootstrap ignores a token that nobody made', async () => {
    const without = await answer('PUT', '/v1/acl/bootstrap', '');
    expect(without).toEqual([400, expect.stringContaining('ACL bootstrap already done')]);
    for (const token of ['wrong', '11111111-2222-4333-8444-555555555555'])
      expect(await answer('PUT', '/v1/acl/bootstrap', token)).toEqual(without);
  });

  it('OP-157: a management token downgrades and deletes itself', async () => {
    const made = async (Name: string): Promise<MadeToken> =>
      cluster.asked<MadeToken>('PUT', '/v1/acl/token', { Name, Type: 'management' });
    const [first, second] = [await made('first'), await made('second')];
    expect(await status('DELETE', `/v1/acl/token/${first.AccessorID}`, first.SecretID)).toBe(200);
    expect(await status('GET', '/v1/acl/tokens', first.SecretID)).toBe(403);
    await cluster.policy('reader', 'namespace "default" { policy = "read" }');
    const client = { AccessorID: second.AccessorID, Name: 'second', Type: 'client', Policies: ['reader'] };
    expect(await status('POST', `/v1/acl/token/${second.AccessorID}`, second.SecretID, client)).toBe(200);
    expect(await status('GET', '/v1/jobs', second.SecretID)).toBe(200);
    expect(await answer('GET', '/v1/acl/tokens', second.SecretID)).toEqual(DENIED);
  });

  it('OP-158: Global is stored and shown, and lists tell both kinds apart', async () => {
    const made = async (Name: string, Global: boolean): Promise<{ AccessorID: string; Global: boolean }> =>
      cluster.asked('PUT', '/v1/acl/token', { Name, Type: 'management', Global });
    const [global, local] = [await made('global', true), await made('local', false)];
    expect([global.Global, local.Global]).toEqual([true, false]);
    const shown = await cluster.asked<typeof global>('GET', `/v1/acl/token/${global.AccessorID}`);
    expect(shown.Global).toBe(true);
    const listed = await cluster.asked<(typeof global)[]>('GET', '/v1/acl/tokens?global=true');
    expect(listed.map(({ AccessorID }) => AccessorID)).toContain(global.AccessorID);
    expect(listed.every(({ Global }) => Global)).toBe(true);
  });

  it('OP-167: auth methods, binding rules and logins are built', async () => {
    expect(await cluster.asked('GET', '/v1/acl/auth-methods')).toEqual([]);
    expect(await cluster.asked('GET', '/v1/acl/binding-rules')).toEqual([]);
    const login = { AuthMethodName: 'none', LoginToken: 'x' };
    expect(await answer('PUT', '/v1/acl/login', '', login)).toEqual([400, 'auth-method "none" not found']);
  });

  it('OP-262: a blocking read of a deleted token ends, the next one is refused, and its event stream ends', async () => {
    const token = await newToken('namespace "default" { policy = "read" }', 'short-lived');
    const first = await cluster.send('GET', '/v1/jobs', token.SecretID);
    await first.arrayBuffer();
    const stream = await EventReader.open(`${cluster.waybill.api.url}/v1/event/stream?topic=Job`, token.SecretID);
    const blocked = cluster.send(
      'GET',
      `/v1/jobs?index=${first.headers.get('x-nomad-index')}&wait=20s`,
      token.SecretID,
    );
    await cluster.asked('DELETE', `/v1/acl/token/${token.AccessorID}`);
    expect(await stream.ended).toBe(true);
    // Its answer comes when something changes.
    await cluster.asked('PUT', '/v1/jobs', { Job: shellJob('wakes', 'exec sleep 600') });
    expect((await blocked).status).toBe(200);
    expect(await answer('GET', '/v1/jobs', token.SecretID)).toEqual(DENIED);
  });

  it('OP-264: the policy anonymous counts at once for callers without a token', async () => {
    const url = '/v1/jobs';
    expect(await answer('GET', url, '')).toEqual(DENIED);
    await cluster.policy('anonymous', 'namespace "default" { policy = "read" }');
    expect(await status('GET', url, '')).toBe(200);
    await cluster.policy('anonymous', 'namespace "default" { policy = "deny" }');
    expect(await answer('GET', url, '')).toEqual(DENIED);
    await cluster.policy('anonymous', 'namespace "default" { policy = "read" }');
    expect(await status('GET', url, '')).toBe(200);
    await cluster.asked('DELETE', '/v1/acl/policy/anonymous');
    expect(await answer('GET', url, '')).toEqual(DENIED);
  });

  it('OP-269: malformed credentials are refused, and nothing fails by them', async () => {
    const headers: Record<string, string>[] = [
      { Authorization: 'Bearer ' },
      { Authorization: 'Bearer' },
      { Authorization: 'Bearer    ' },
      { Authorization: 'Bearer eyJhbGciOiJSUzI1NiIsImtpZCI6Im5vbmUifQ.eyJzdWIiOiJ4In0.c2ln' },
      { Authorization: 'Bearer a.b.c' },
      { 'X-Nomad-Token': ' ' },
      { 'X-Nomad-Token': 'zzzzzzzz-zzzz-zzzz-zzzz-zzzzzzzzzzzz' },
      { 'X-Nomad-Token': 'x'.repeat(36) },
      { 'X-Nomad-Token': 'eyJhbGciOiJub25lIn0.e30.' },
    ];
    for (const given of headers) {
      const response = await cluster.waybill.api.raw('/v1/jobs', { headers: given });
      expect([response.status, (await response.text()).trim()], JSON.stringify(given)).toEqual(DENIED);
    }
  });
});

describe('allocations of a namespace without rights', () => {
  it('OP-267: nobody reads, stops, signals, reads the log of or runs a command in them', async () => {
    const token = await cluster.tokenWith(
      'namespace "default" { policy = "write" capabilities = ["alloc-exec", "alloc-node-exec", "alloc-lifecycle"] }',
    );
    const unknown = '11111111-2222-4333-8444-555555555555';
    const task = { TaskName: 'task' };
    const requests = (id: string) =>
      [
        ['GET', `allocation/${id}`],
        ['PUT', `allocation/${id}/stop`, {}],
        ['GET', `client/fs/logs/${id}?task=task&type=stdout`],
        ['GET', `client/fs/ls/${id}`],
        ['GET', `client/allocation/${id}/stats`],
        ['PUT', `client/allocation/${id}/restart`, task],
        ['PUT', `client/allocation/${id}/signal`, { ...task, Signal: 'SIGKILL' }],
      ] as const;
    const statuses = async (id: string, namespace: string): Promise<number[]> => {
      const found: number[] = [];
      for (const [method, url, body] of requests(id)) {
        const at = `/v1/${url}${url.includes('?') ? '&' : '?'}namespace=${namespace}`;
        found.push(await status(method, at, token, body));
      }
      return found;
    };
    // An allocation of another namespace is told from none by nothing.
    expect(await statuses(foreign, 'default')).toEqual(await statuses(unknown, 'default'));
    expect(await statuses(foreign, 'default')).toEqual([404, 404, 404, 404, 404, 404, 404]);
    expect(await statuses(foreign, 'other')).toEqual([403, 403, 403, 403, 403, 403, 403]);

    const headers = { 'X-Nomad-Token': token };
    for (const namespace of ['default', 'other']) {
      const command = encodeURIComponent(JSON.stringify(['/bin/sh', '-c', `touch ${shared}/intruder`]));
      const url = `${cluster.waybill.api.url.replace('http', 'ws')}/v1/client/allocation/${foreign}/exec`;
      const session = TestWebSocket.open(
        `${url}?task=task&tty=false&command=${command}&namespace=${namespace}`,
        headers,
      );
      const end = await session.then(
        (socket) => eventually('the session ends', () => socket.closedWith?.reason),
        (error: unknown) => String(error),
      );
      expect(end, namespace).toBe(namespace === 'default' ? `Unknown allocation "${foreign}"` : 'Permission denied');
    }
    expect(await runningAllocation('web', 'other')).toMatchObject({ ID: foreign, DesiredStatus: 'run' });
    expect(existsSync(path.join(shared, 'intruder'))).toBe(false);
  });
});

describe('the identity of a task', () => {
  it('OP-268: a dispatched child reads the variables of its parent, until its allocation ends', async () => {
    await eventually(
      'the keyring is ready',
      async () => (await status('PUT', '/v1/var/nomad/jobs/calc', cluster.management, { Items: { k: 'v' } })) === 200,
    );
    await cluster.asked('PUT', '/v1/var/nomad/jobs/else', { Items: { k: 'v' } });
    const file = path.join(shared, 'token');
    const job = shellJob('calc', `echo "$NOMAD_TOKEN" > ${file}; while [ ! -e ${file}.done ]; do sleep 0.1; done`, {
      type: 'batch',
    }) as { TaskGroups: { Tasks: object[] }[] };
    Object.assign(job.TaskGroups[0]!.Tasks[0]!, { Identity: { Env: true } });
    await cluster.asked('PUT', '/v1/jobs', { Job: { ...job, ParameterizedJob: {} } });
    const { DispatchedJobID } = await cluster.asked<{ DispatchedJobID: string }>('PUT', '/v1/job/calc/dispatch', {});
    const token = await eventually('the task writes its token', () => readFileSync(file, 'utf8').trim());
    expect(await status('GET', '/v1/var/nomad/jobs/calc', token)).toBe(200);
    expect(await answer('GET', '/v1/var/nomad/jobs/else', token)).toEqual(DENIED);
    await cluster.asked('DELETE', `/v1/job/${encodeURIComponent(DispatchedJobID)}`);
    await eventually('the allocation has ended', async () =>
      (await allocations(DispatchedJobID, 'default')).every(({ ClientStatus }) => ClientStatus === 'complete'),
    );
    expect(await answer('GET', '/v1/var/nomad/jobs/calc', token)).toEqual(DENIED);
  });
});

describe('the keyring', () => {
  it('OP-270: variables that are written during rotations stay readable, and no key that is in use goes', async () => {
    const keys = (): Promise<{ KeyID: string; State: string }[]> => cluster.asked('GET', '/v1/operator/keyring/keys');
    // Identities of running tasks use the keys of before.
    const before = (await keys()).map(({ KeyID }) => KeyID);
    const names = Array.from({ length: 40 }, (_, i) => `rotated/${i}`);
    const rotate = (full: string): Promise<unknown> => cluster.asked('PUT', `/v1/operator/keyring/rotate?${full}`);
    const put = (name: string): Promise<unknown> => cluster.asked('PUT', `/v1/var/${name}`, { Items: { name } });
    const writes = (async () => {
      for (const name of names) await put(name);
    })();
    for (const full of ['', 'full=true', '', 'full=true']) await rotate(full);
    await writes;
    await rotate('full=true');
    await eventually('no key is rekeying', async () => (await keys()).every(({ State }) => State !== 'rekeying'));
    const unused = (await keys()).filter(({ KeyID, State }) => State === 'inactive' && !before.includes(KeyID));
    expect(unused).toHaveLength(4);
    for (const { KeyID } of unused) await cluster.asked('DELETE', `/v1/operator/keyring/key/${KeyID}`);
    for (const name of names) expect(await cluster.asked('GET', `/v1/var/${name}`)).toMatchObject({ Items: { name } });
  });
});
