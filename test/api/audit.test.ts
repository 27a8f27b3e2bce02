import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { lstatSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { freePort } from '@waybill/embedded';
import { connect, Journal, managerOf, type NatsLink } from '@waybill/journal';
import { NatsRpc, registerNode } from '@waybill/rpc';
import { draftTxn, fixtures, serviceActor } from '@waybill/state';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { AccessCluster } from '../support/access-cluster.js';
import { ApiClient, shellJob } from '../support/api-client.js';
import { runCli } from '../support/cli.js';
import { eventually } from '../support/wait.js';

interface Record {
  readonly event_type: string;
  readonly payload: {
    readonly id: string;
    readonly stage: string;
    readonly auth: {
      readonly accessor_id: string;
      readonly credential_hash?: string;
      readonly policies?: string[];
      readonly epoch?: number;
      readonly holder?: string;
    };
    readonly request: {
      readonly id: string;
      readonly operation: string;
      readonly endpoint: string;
      readonly route?: string;
      readonly namespace: { readonly id: string };
      readonly object?: object;
      readonly trace_id?: string;
    };
    readonly response?: {
      readonly status_code: number;
      readonly error?: string;
      readonly index?: number;
      readonly request_id?: string;
      readonly bytes?: number;
    };
  };
}

let cluster: AccessCluster;
let directory: string;
/** Of the API that all services share a process with: best-effort, a file and the stream. */
let file: string;
/** Of one more API: enforced, a file. */
let enforcedFile: string;
let enforced: ApiClient;
/** None of them may be in any record. */
const secrets: string[] = ['hunter2', 'payload of a dispatch', 'whispered'];

beforeAll(async () => {
  directory = mkdtempSync(path.join(tmpdir(), 'waybill-audit-'));
  file = path.join(directory, 'shared', 'audit.log');
  enforcedFile = path.join(directory, 'enforced', 'audit.log');
  const keyFile = path.join(directory, 'keyring');
  writeFileSync(keyFile, `${randomBytes(32).toString('hex')}\n`, { mode: 0o600 });
  cluster = await AccessCluster.start(['projector', 'broker', 'scheduler', 'nodes', 'api'], {
    WAYBILL_AUDIT_ENABLED: 'true',
    WAYBILL_AUDIT_SINKS: 'file,nats',
    WAYBILL_AUDIT_DELIVERY: 'best-effort',
    WAYBILL_AUDIT_FILE: file,
    WAYBILL_KEYRING_KEY_FILE: keyFile,
    WAYBILL_AUDIT_FILTERS: JSON.stringify([
      { name: 'status', endpoints: ['/v1/status/*', '/v1/node*'], stages: ['*'], operations: ['GET'] },
    ]),
  });
  secrets.push(cluster.management);
  const port = await freePort();
  await cluster.waybill.startService('api', 'enforced', {
    WAYBILL_HTTP_PORT: String(port),
    WAYBILL_AUDIT_SINKS: 'file',
    WAYBILL_AUDIT_DELIVERY: 'enforced',
    WAYBILL_AUDIT_FILE: enforcedFile,
    WAYBILL_AUDIT_FILTERS: '[]',
  });
  enforced = new ApiClient(`http://127.0.0.1:${port}`);
});
afterAll(async () => {
  await cluster?.stop();
  rmSync(directory, { recursive: true, force: true });
});

const recordsIn = (name: string): Record[] =>
  readFileSync(name, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Record);

/** Every record of requests to this path, once there are so many. */
function recordsOf(endpoint: string, count: number, name = file): Promise<Record[]> {
  return eventually(`${count} records of ${endpoint}`, () => {
    const found = recordsIn(name).filter(({ payload }) => payload.request.endpoint === endpoint);
    return found.length >= count && found;
  });
}

const withToken = (token: string) => ({ headers: { 'X-Nomad-Token': token } });
/** No machine runs it: there is none. */
const parked = (id: string) => shellJob(id, 'true', { type: 'batch' });

describe('what is recorded of a request', () => {
  it('AU-272 AU-276 AU-336: two records, tied to the transaction and it to them', async () => {
    const job = { ...parked('recorded'), Meta: { password: 'hunter2' } };
    const answer = await cluster.send('PUT', '/v1/jobs', cluster.management, { Job: job });
    const { Index } = (await answer.json()) as { Index: number };
    const [received, complete] = await recordsOf('/v1/jobs', 2);
    expect([received?.payload.stage, complete?.payload.stage]).toEqual(['OperationReceived', 'OperationComplete']);
    expect(received?.payload.request.id).toBe(complete?.payload.request.id);
    expect(complete?.payload).toMatchObject({
      auth: { type: 'management', name: 'Bootstrap Token' },
      request: { operation: 'PUT', route: '/v1/jobs', body_sha256: expect.stringMatching(/^[0-9a-f]{64}$/) },
      response: { status_code: 200, index: Index, request_id: expect.any(String) },
    });
    expect(complete?.payload.request.trace_id).toBe(answer.headers.get('x-waybill-trace-id'));
    const id = complete?.payload.response?.request_id ?? '';
    const txns = await cluster.asked<{ Index: number; RequestID: string }[]>('GET', `/v1/waybill/log?request=${id}`);
    expect(txns.map(({ Index: index, RequestID }) => [index, RequestID])).toContainEqual([Index, id]);
  });

  it('AU-274: a token by its accessor, a refused one by a hash, nobody as anonymous', async () => {
    await cluster.policy('nothing', 'operator { policy = "read" }');
    const { AccessorID, SecretID } = await cluster.token('reader', ['nothing']);
    const wrong = randomUUID();
    secrets.push(SecretID, wrong);
    const statuses: number[] = [];
    for (const token of [SecretID, wrong, wrong, '']) statuses.push(await cluster.statusOf('GET', '/v1/job/x', token));
    expect(statuses).toEqual([403, 403, 403, 403]);
    const found = (await recordsOf('/v1/job/x', 8)).filter(({ payload }) => payload.stage === 'OperationComplete');
    const [token, refused, again, anonymous] = found.map(({ payload }) => payload.auth);
    expect(token?.accessor_id).toBe(AccessorID);
    expect(refused).toEqual({ accessor_id: 'invalid', credential_hash: expect.stringMatching(/^[0-9a-f]{16}$/) });
    expect(again).toEqual(refused);
    expect(anonymous).toEqual({ accessor_id: 'anonymous' });
    expect(found[0]?.payload).toMatchObject({
      request: { object: { kind: 'job', namespace: 'default', id: 'x' } },
      response: { status_code: 403, error: 'Permission denied' },
    });
  });

  it('AU-272: a stream has a third record when it ends, with what was sent', async () => {
    const leave = new AbortController();
    const headers = withToken(cluster.management);
    const stream = await cluster.waybill.api.raw('/v1/event/stream', { ...headers, signal: leave.signal });
    await recordsOf('/v1/event/stream', 2);
    await stream.body?.getReader().read();
    leave.abort();
    const [, complete, closed] = await recordsOf('/v1/event/stream', 3);
    expect(complete?.payload.response?.status_code).toBe(200);
    expect(closed?.payload.stage).toBe('OperationClosed');
    expect(closed?.payload.response?.bytes).toBeGreaterThan(0);
  });

  it('AU-272 AU-277: sessions too, without their command; a target that is no URL harms nobody', async () => {
    const upgrade = { Connection: 'Upgrade', Upgrade: 'websocket', 'Sec-WebSocket-Version': '13' };
    const ask = async (target: string, key: string): Promise<number | undefined> => {
      const headers = { ...upgrade, 'X-Nomad-Token': cluster.management, 'Sec-WebSocket-Key': key };
      const sent = request(cluster.waybill.api.url, { path: target, headers }).end();
      const answered = once(sent, 'response').then(([answer]) => (answer as IncomingMessage).resume().statusCode);
      const opened = once(sent, 'upgrade').then(([answer, socket]) => {
        (socket as { resume(): void }).resume();
        return (answer as IncomingMessage).statusCode;
      });
      return Promise.race([answered, opened]);
    };
    const key = Buffer.alloc(16).toString('base64');
    const session = `/v1/client/allocation/${randomUUID()}/exec`;
    const command = encodeURIComponent(JSON.stringify(['login', 'whispered']));
    expect(await ask('//', key)).toBe(404);
    expect(await ask(`${session}?task=t&command=${command}`, key)).toBe(101);
    const [, complete] = await recordsOf(session, 2);
    expect(complete?.payload).toMatchObject({
      auth: { type: 'management' },
      request: { query: { task: ['t'], command: ['[removed]'] } },
      response: { status_code: 404 },
    });
    expect((await recordsOf('//', 2))[1]?.payload.response?.status_code).toBe(404);
  });

  it('AU-280: filters leave out what they name, and no refused request', async () => {
    await cluster.statusOf('GET', '/v1/status/leader', cluster.management);
    expect(await cluster.statusOf('GET', '/v1/nodes', '')).toBe(403);
    const found = await recordsOf('/v1/nodes', 2);
    expect(found.map(({ payload }) => payload.stage)).toEqual(['OperationReceived', 'OperationComplete']);
    expect(recordsIn(file).filter(({ payload }) => payload.request.endpoint.startsWith('/v1/status/'))).toEqual([]);
  });
});

describe('what services do without a request', () => {
  /** A record of either API, as any of them takes the event. */
  const roleRecord = (endpoint: string, status: number, requestId?: string): Promise<Record> =>
    eventually(`a record of ${endpoint} with ${status}`, () =>
      [file, enforcedFile]
        .flatMap(recordsIn)
        .find(
          ({ payload: { request: asked, response } }) =>
            asked.operation === 'ROLE' &&
            asked.endpoint === endpoint &&
            response?.status_code === status &&
            (requestId === undefined || response.request_id === requestId),
        ),
    );
  const withLink = async <T>(use: (link: NatsLink) => Promise<T>): Promise<T> => {
    const link = await connect({ url: cluster.waybill.stack.natsUrl, name: 'test' });
    try {
      return await use(link);
    } finally {
      await link.close();
    }
  };

  it('AU-259 AU-281: a key that the holder of a role makes by itself, with epoch and holder', async () => {
    const { payload } = await roleRecord('RootKeyUpsert', 200);
    expect(payload).toMatchObject({
      auth: {
        accessor_id: 'role:broker',
        epoch: expect.any(Number),
        holder: expect.stringMatching(/.+-\d+-[0-9a-f]{8}$/),
      },
      request: { object: { kind: 'root-key' } },
    });
    const found = await cluster.asked<{ Index: number; Name: string }[]>(
      'GET',
      `/v1/waybill/log?request=${payload.response?.request_id}`,
    );
    expect(found).toMatchObject([{ Index: payload.response?.index, Name: 'RootKeyUpsert' }]);
  });

  it('AU-255 AU-281: a refused fence, by the transaction in the log', async () => {
    const requestId = randomUUID();
    const actor = serviceActor('broker');
    const context = { timeNs: Date.now() * 1e6, requestId, actor, fence: { role: 'broker', epoch: 0 } as const };
    const { index } = await withLink(async (link) => {
      const journal = new Journal(link);
      return journal.publish(draftTxn('Ignore', {}, context)).finally(() => journal.close());
    });
    const { payload } = await roleRecord('Ignore', 403, requestId);
    expect(payload.auth).toEqual({ accessor_id: 'role:broker', epoch: 0 });
    expect(payload.response).toMatchObject({
      error: expect.stringMatching(/^stale epoch: .+ holds the role broker with epoch \d+$/),
      index,
      request_id: requestId,
    });
  });

  it('AU-281: a machine that is refused', async () => {
    const Node = fixtures.aNode({ Status: 'initializing' });
    await withLink(async (link) => {
      const rpc = new NatsRpc(link.nc, link.inboxPrefix);
      await rpc.ask(registerNode, { Node });
      const stolen = { ...Node, SecretID: randomUUID() };
      secrets.push(stolen.SecretID, Node.SecretID);
      await expect(rpc.ask(registerNode, { Node: stolen })).rejects.toThrow('node secret ID does not match');
    });
    const { payload } = await roleRecord('NodeRegister', 403);
    expect(payload.auth).toEqual({ accessor_id: `client:${Node.ID}`, name: Node.Name });
  });
});

describe('who reads the records', () => {
  it('AU-282: management alone, in pages, the newest first', async () => {
    const reader = await cluster.tokenWith('operator { policy = "write" } agent { policy = "write" }');
    secrets.push(reader);
    expect(await cluster.statusOf('GET', '/v1/waybill/audit', reader)).toBe(403);
    const all = await cluster.asked<Record[]>('GET', '/v1/waybill/audit?per_page=1000');
    const ids: string[] = [];
    let token = '';
    do {
      const url = `/v1/waybill/audit?per_page=7&next_token=${token}&to=${timeOf(all[0])}`;
      const answer = await cluster.send('GET', url, cluster.management);
      ids.push(...((await answer.json()) as Record[]).map(({ payload }) => payload.id));
      token = answer.headers.get('x-nomad-nexttoken') ?? '';
    } while (token !== '');
    expect(ids).toEqual(all.map(({ payload }) => payload.id));
    const refused = await cluster.asked<Record[]>('GET', '/v1/waybill/audit?accessor=invalid&status=403');
    expect(refused.map(({ payload }) => payload.request.endpoint)).toEqual(['/v1/job/x', '/v1/job/x']);
  });

  it('AU-282: an API without the stream reads its own files', async () => {
    await enforced.raw('/v1/job/elsewhere', withToken(cluster.management));
    const answer = await enforced.raw('/v1/waybill/audit?object=elsewhere', withToken(cluster.management));
    const found = (await answer.json()) as Record[];
    expect(found.map(({ payload }) => payload.stage)).toEqual(['OperationComplete', 'OperationReceived']);
  });

  it('AU-271: the stream takes records and gives none up', async () => {
    const link: NatsLink = await connect({ url: cluster.waybill.stack.natsUrl, name: 'test' });
    try {
      const manager = await managerOf(link);
      await expect(manager.streams.purge('AUDIT')).rejects.toThrow();
      await expect(manager.streams.deleteMessage('AUDIT', 1, false)).rejects.toThrow();
    } finally {
      await link.close();
    }
  });

  it('AU-282: on the command line', async () => {
    const env = { NOMAD_TOKEN: cluster.management };
    const run = (...words: string[]) => runCli(cluster.waybill.api.url, ['audit', ...words], env);
    const { code, out } = await run('-object=recorded', '-since=1h', '-status=200');
    expect(code).toBe(0);
    await cluster.asked('GET', '/v1/job/recorded');
    expect(out).toContain('No audit records found');
    let rows: string[] = [];
    // Best effort: the record may follow the answer.
    await eventually('the record is in the stream', async () => {
      rows = (await run('-object=recorded', '-since=1h', '-status=200')).out.trim().split('\n');
      return rows.length === 2;
    });
    expect(rows[1]).toMatch(/Bootstrap Token +127\.0\.0\.1 +GET \/v1\/job\/recorded +default +200/);
    const json = JSON.parse((await run('-json', '-n=3', '-stage=*')).out) as Record[];
    expect(json.map(({ event_type }) => event_type)).toEqual(['audit', 'audit', 'audit']);
    expect((await run('-n=1')).out).toContain('-page-token');
    const denied = await runCli(cluster.waybill.api.url, ['audit']);
    expect([denied.code, denied.err]).toEqual([1, expect.stringContaining('Permission denied')]);
  });
});

const timeOf = (record: unknown): string => (record as { created_at: string }).created_at;

/** A failure must not leave a file without an end to the tests that read it. */
const removesDevice = (name: string): void =>
  onTestFinished(() => {
    if (lstatSync(name, { throwIfNoEntry: false })?.isSymbolicLink()) rmSync(name);
  });

describe('records that cannot be written', () => {
  it('AU-278: best-effort, requests go on, and what is lost is counted', async () => {
    const count = async (): Promise<number> => {
      const { Counters } = await cluster.asked<{ Counters: { Name: string; Count: number }[] }>('GET', '/v1/metrics');
      return Counters.find(({ Name }) => Name === 'nomad.nomad.audit.dropped')?.Count ?? 0;
    };
    renameSync(file, `${file}.kept`);
    symlinkSync('/dev/full', file);
    removesDevice(file);
    await cluster.asked('PUT', '/v1/agent/reload');
    await cluster.asked('GET', '/v1/jobs');
    await eventually('lost records are counted', async () => (await count()) > 0);
    rmSync(file);
    await cluster.asked('PUT', '/v1/agent/reload');
    await cluster.asked('GET', '/v1/regions');
    expect((await recordsOf('/v1/regions', 2)).length).toBe(2);
  });

  it('AU-278 AU-335: enforced, a full disk stops every request but what watches the server; nothing is done', async () => {
    const signal = () => process.kill(cluster.waybill.pid('enforced'), 'SIGHUP');
    const register = (id: string) =>
      enforced.raw('/v1/jobs', {
        method: 'PUT',
        ...withToken(cluster.management),
        body: JSON.stringify({ Job: parked(id) }),
      });
    // Services write meanwhile, about the evaluation of the job before.
    const registered = async () =>
      (await cluster.asked<{ Index: number; Name: string }[]>('GET', '/v1/waybill/log?per_page=100'))
        .filter(({ Name }) => Name === 'JobRegister')
        .map(({ Index }) => Index);
    expect((await register('before')).status).toBe(200);
    renameSync(enforcedFile, `${enforcedFile}.kept`);
    symlinkSync('/dev/full', enforcedFile);
    removesDevice(enforcedFile);
    signal();
    await eventually('the file is opened anew', async () => (await enforced.raw('/v1/regions')).status === 500);
    const before = await registered();
    expect(before.length).toBeGreaterThan(0);
    const refused = await register('never');
    expect([refused.status, await refused.text()]).toEqual([500, 'failed to write audit record']);
    expect((await enforced.raw('/v1/agent/health')).status).toBe(200);
    expect((await enforced.raw('/v1/metrics', withToken(cluster.management))).status).toBe(200);
    expect(await registered()).toEqual(before);
    expect(await cluster.statusOf('GET', '/v1/job/never', cluster.management)).toBe(404);
    rmSync(enforcedFile);
    signal();
    await eventually('there is room again', async () => (await register('after')).status === 200);
    expect((await recordsOf('/v1/jobs', 2, enforcedFile)).length).toBeGreaterThanOrEqual(2);
  });
});

it('AU-277: no record, and no log of a process, has a secret in it', async () => {
  await cluster.asked('PUT', '/v1/jobs', { Job: { ...parked('dispatched'), ParameterizedJob: {} } });
  const Payload = Buffer.from('payload of a dispatch').toString('base64');
  await cluster.asked('PUT', '/v1/job/dispatched/dispatch', { Payload });
  const made = await cluster.asked<{ OneTimeToken: { OneTimeSecretID: string } }>('POST', '/v1/acl/token/onetime');
  const OneTimeSecretID = made.OneTimeToken.OneTimeSecretID;
  await cluster.asked('PUT', '/v1/acl/token/onetime/exchange', { OneTimeSecretID });
  await cluster.statusOf('GET', `/v1/acl/token/${cluster.management}?token=${cluster.management}`, cluster.management);
  secrets.push(Payload, OneTimeSecretID);
  await recordsOf('/v1/acl/token/[removed]', 2);
  const stored = await cluster.asked<Record[]>('GET', '/v1/waybill/audit?per_page=1000');
  const logs = ['waybill.log', 'enforced.log'].map((name) => path.join(cluster.waybill.dir, name));
  const files = [file, `${file}.kept`, enforcedFile, `${enforcedFile}.kept`, ...logs];
  const text = [JSON.stringify(stored), ...files.map((name) => readFileSync(name, 'utf8'))].join('\n');
  expect(text.length).toBeGreaterThan(10_000);
  for (const secret of secrets) expect(text.toLowerCase()).not.toContain(secret.toLowerCase());
});
