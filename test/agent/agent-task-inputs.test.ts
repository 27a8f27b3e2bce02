import { chmodSync, existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { type IncomingMessage, request } from 'node:http';
import path from 'node:path';
import { loadIdentity } from '@waybill/agent';
import { connect } from '@waybill/journal';
import { type Allocation, NS_PER_SECOND, type TaskState } from '@waybill/model';
import { openPool } from '@waybill/projection';
import { MAX_TASK_ANSWER_PIECE_BYTES, MAX_TASK_REQUEST_BYTES, NatsRpc, signIdentities } from '@waybill/rpc';
import { newUuid } from '@waybill/service';
import { createLocalJWKSet, decodeJwt, decodeProtectedHeader, type JSONWebKeySet, jwtVerify } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ApiClient, shellJob } from '../support/api-client.js';
import { eventually } from '../support/wait.js';
import { WaybillProcesses } from '../support/waybill-processes.js';

const ISSUER = 'https://waybill.example';
let waybill: WaybillProcesses;
let api: ApiClient;

beforeAll(async () => {
  waybill = await WaybillProcesses.startTogether({
    WAYBILL_KEYRING_KEY: 'ab'.repeat(32),
    WAYBILL_OIDC_ISSUER: ISSUER,
  });
  api = waybill.api;
  await eventually('the node is ready', async () =>
    (await api.get<{ Status: string }[]>('/v1/nodes')).some((node) => node.Status === 'ready'),
  );
  await api.register(bearer());
});
afterAll(() => waybill?.stop());

const allocOf = (job: string) =>
  eventually(`${job} runs`, async () => {
    const [found] = await api.get<Allocation[]>(`/v1/job/${job}/allocations`);
    return found?.ClientStatus === 'running' && api.get<Allocation>(`/v1/allocation/${found.ID}`);
  });
const stateOf = async (alloc: Allocation): Promise<TaskState> =>
  (await api.get<Allocation>(`/v1/allocation/${alloc.ID}`)).TaskStates['task']!;
const log = async (alloc: Allocation): Promise<string> =>
  (await api.raw(`/v1/client/fs/logs/${alloc.ID}?task=task&type=stdout&plain=true`)).text();
const file = async (alloc: Allocation, path: string): Promise<string> =>
  (await api.raw(`/v1/client/fs/cat/${alloc.ID}?path=${path}`)).text();

/** A job of one shell task, with more than that. */
function shellJobWith(id: string, line: string, more: object): object {
  const job = shellJob(id, line);
  const task = (job as { TaskGroups: { Tasks: Record<string, unknown>[] }[] }).TaskGroups[0]!.Tasks[0]!;
  Object.assign(task, more);
  return job;
}
/** With templates and maybe a service of the task. */
const templated = (id: string, line: string, Templates: object[], Services: object[] = []): object =>
  shellJobWith(id, line, { Templates, Services });

/**
 * Shows its tokens when it starts, and the named one when that is renewed: ten seconds later, for which the other tests are
 * not made to wait.
 */
function bearer(): object {
  const line =
    'trap "cat secrets/nomad_aws.jwt; echo" HUP; echo "$NOMAD_TOKEN"; cat secrets/nomad_token; echo; ' +
    'echo "$NOMAD_TOKEN_aws"; cat secrets/nomad_aws.jwt; echo; while :; do sleep 0.1; done';
  const aws = { Name: 'aws', Audience: ['sts.example'], Env: true, File: true, TTL: 20 * NS_PER_SECOND };
  const Identities = [
    { Name: 'default', Env: true, File: true },
    { ...aws, ChangeMode: 'signal', ChangeSignal: 'SIGHUP' },
  ];
  return shellJobWith('bearer', line, { Identities });
}

describe('templates of a task', () => {
  it('AG-292, AG-293: file and environment are there before it starts; news of a service signal it, without a restart', async () => {
    const list = '{{ range nomadService "db" }}{{ .Address }}:{{ .Port }} {{ end }}';
    const line = 'trap "cat local/db" HUP; echo "$GREETING"; cat local/db; while :; do sleep 0.1; done';
    await api.register(
      templated('reader', line, [
        { EmbeddedTmpl: `[${list}]`, DestPath: 'local/db', ChangeMode: 'signal', ChangeSignal: 'SIGHUP', Splay: 0 },
        {
          EmbeddedTmpl: '{{ range nomadServices }}{{ .Name }}:{{ range .Tags }}{{ . }}{{ end }};{{ end }}',
          DestPath: 'local/names',
          ChangeMode: 'noop',
        },
        { EmbeddedTmpl: 'GREETING=hello {{ env "node.datacenter" }}', DestPath: 'secrets/env', Envvars: true },
      ]),
    );
    const reader = await allocOf('reader');
    await eventually('it has said what it found', async () => (await log(reader)) === 'hello dc1\n[]');
    const db = { Name: 'db', Provider: 'nomad', Address: '10.1.2.3', Tags: ['sql'] };
    await api.register(templated('db', 'sleep 1000', [], [db]));
    await eventually('it is told', async () => (await log(reader)).includes('[10.1.2.3:0 ]'));
    await eventually('the names too', async () => (await file(reader, 'task/local/names')) === 'db:sql;');
    const state = await eventually('its event', async () => {
      const found = await stateOf(reader);
      return found.Events.at(-1)?.Type === 'Signaling' && found;
    });
    expect(state.Restarts).toBe(0);
    expect(state.Events.at(-1)?.DisplayMessage).toBe('Task being sent signal SIGHUP: Template re-rendered');
    await api.stop('db');
    await eventually('it is told again', async () => (await log(reader)).endsWith('[]'));
  });

  it('AG-292: a changed file restarts it, or runs a script in it', async () => {
    const line = 'cp local/out alloc.out; [ -e local/in ] || echo first > local/in; while :; do sleep 0.1; done';
    const ChangeScript = { Command: 'sh', Args: ['-c', 'echo "$NOMAD_TASK_NAME" > local/script'], Timeout: 5e9 };
    await api.register(
      templated('copier', `echo begin > local/in; ${line}`, [
        { EmbeddedTmpl: 'x{{ env "NOMAD_JOB_ID" }}', DestPath: 'local/out' },
        {
          EmbeddedTmpl: '{{ timestamp }}{{ with nomadService "other" }}!{{ end }}',
          DestPath: 'local/at',
          ChangeMode: 'script',
          ChangeScript,
          Splay: 0,
        },
      ]),
    );
    const copier = await allocOf('copier');
    expect(await file(copier, 'task/local/out')).toBe('xcopier');
    const other = { Name: 'other', Provider: 'nomad' };
    await api.register(templated('other', 'sleep 1000', [], [other]));
    await eventually('the script has run', async () => (await file(copier, 'task/local/script')) === 'task\n');
    expect((await stateOf(copier)).Restarts).toBe(0);
  });

  it('OP-137, AG-292: variables of its own paths are there before it starts, others are not; news restart it', async () => {
    const put = async (at: string, Items: Record<string, string>): Promise<void> => {
      const body = JSON.stringify({ Namespace: 'default', Path: at, Items });
      expect((await api.raw(`/v1/var/${at}`, { method: 'PUT', body })).status).toBe(200);
    };
    await put('nomad/jobs/variables', { password: 'one' });
    await put('elsewhere', { password: 'secret' });
    const EmbeddedTmpl =
      'PASSWORD={{ with nomadVar "nomad/jobs/variables" }}{{ .password }}{{ end }}\n' +
      'SEEN={{ range nomadVarList }}{{ .Path }};{{ end }}{{ nomadVarExists "elsewhere" }}';
    const line = 'echo "$PASSWORD $SEEN"; while :; do sleep 0.1; done';
    await api.register(
      templated('variables', line, [{ EmbeddedTmpl, DestPath: 'secrets/env', Envvars: true, Splay: 0 }]),
    );
    const reader = await allocOf('variables');
    const said = 'nomad/jobs/variables;false\n';
    await eventually('it has said what it found', async () => (await log(reader)) === `one ${said}`);
    await put('nomad/jobs/variables', { password: 'two' });
    await eventually('it is restarted', async () => (await log(reader)) === `one ${said}two ${said}`);
    await api.register(
      templated('denied', line, [{ EmbeddedTmpl: '{{ nomadVar "elsewhere" }}', DestPath: 'local/x' }]),
    );
    const event = await eventually('its event', async () => {
      const [found] = await api.get<Allocation[]>('/v1/job/denied/allocations');
      return found?.TaskStates['task']?.Events.find(({ Type }) => Type === 'Template');
    });
    expect(event.DisplayMessage).toBe('Missing: variable(elsewhere), which its policies do not let it read');
    await api.stop('denied');
  });

  it('AG-292: one that never resolves keeps the task waiting, and it says for what; it can be stopped', async () => {
    await api.register(
      templated('waiter', 'sleep 1000', [{ EmbeddedTmpl: '{{ file "local/never" }}', DestPath: 'local/x' }]),
    );
    const event = await eventually('its event', async () => {
      const [found] = await api.get<Allocation[]>('/v1/job/waiter/allocations');
      return found?.TaskStates['task']?.Events.find(({ Type }) => Type === 'Template');
    });
    expect(event.DisplayMessage).toBe('Missing: file(local/never)');
    const [waiting] = await api.get<Allocation[]>('/v1/job/waiter/allocations');
    expect(waiting?.ClientStatus).toBe('pending');
    await api.stop('waiter');
    await eventually('it is over', async () => (await stateOf(waiting!)).State === 'dead');
  });
});

describe('the socket of a task', () => {
  interface Answered {
    readonly status: number;
    readonly text: string;
  }

  const placeOf = (alloc: Allocation): string =>
    path.join(waybill.dir, 'agent/allocs', alloc.ID, 'task/secrets', 'api.sock');
  const tokenOf = (alloc: Allocation): Promise<string> =>
    readFile(path.join(path.dirname(placeOf(alloc)), 'nomad_token'), 'utf8');

  /** What a program in the task sends; the token goes where the clients of Nomad put it. */
  const open = (alloc: Allocation, url: string, token: string, method = 'GET', body = ''): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const headers = token === '' ? {} : { 'X-Nomad-Token': token };
      const sent = request({ socketPath: placeOf(alloc), path: url, method, headers }, resolve);
      sent.once('error', reject);
      sent.end(body);
    });
  const ask = async (...of: Parameters<typeof open>): Promise<Answered> => {
    const answer = await open(...of);
    const chunks: Buffer[] = [];
    for await (const chunk of answer as AsyncIterable<Buffer>) chunks.push(chunk);
    return { status: answer.statusCode ?? 0, text: Buffer.concat(chunks).toString() };
  };

  it('AU-211, AU-213, AU-215: answers as the API does, to whoever sends an identity, with access control off too', async () => {
    const alloc = await allocOf('bearer');
    const token = await tokenOf(alloc);
    expect(await ask(alloc, '/v1/jobs', '')).toEqual({ status: 401, text: 'Unauthorized\n' });
    for (const bad of ['no token', newUuid(), `${token}x`])
      expect(await ask(alloc, '/v1/jobs', bad), bad).toEqual({ status: 403, text: 'Forbidden\n' });
    const items = { Namespace: 'default', Path: 'nomad/jobs/bearer', Items: { colour: 'blue' } };
    expect((await ask(alloc, '/v1/var/nomad/jobs/bearer', token, 'PUT', JSON.stringify(items))).status).toBe(200);
    const read = await ask(alloc, '/v1/var/nomad/jobs/bearer', token);
    expect(JSON.parse(read.text)).toMatchObject({ Items: { colour: 'blue' } });
    expect((await ask(alloc, '/v1/nowhere', token)).status).toBe(404);
    const document = await ask(alloc, '/v1/waybill/openapi.json', token);
    expect(document.text).toBe(await (await api.raw('/v1/waybill/openapi.json')).text());
    expect(document.text.length).toBeGreaterThan(MAX_TASK_ANSWER_PIECE_BYTES);
    expect((await ask(alloc, '/v1/jobs', token, 'PUT', 'x'.repeat(MAX_TASK_REQUEST_BYTES + 1))).status).toBe(413);
    expect((await log(alloc)).split('\n')[0]).not.toBe('');
  });

  it('AU-212: no reader of files sees it', async () => {
    const alloc = await allocOf('bearer');
    expect((await api.raw(`/v1/client/fs/ls/${alloc.ID}?path=task/secrets`)).status).not.toBe(200);
  });

  it('AU-211, AU-216: an event stream comes through it; it survives a restart of the task and ends with it', async () => {
    await api.register(
      shellJobWith('listener', 'echo "$NOMAD_UNIX_ADDR"; sleep 1000', {
        Identities: [{ Name: 'default', File: true }],
      }),
    );
    const alloc = await allocOf('listener');
    expect(await log(alloc)).toBe(`unix://${placeOf(alloc)}\n`);
    const token = await tokenOf(alloc);
    const stream = await open(alloc, '/v1/event/stream?topic=Job:heard', token);
    let frames = '';
    stream.on('data', (chunk: Buffer) => (frames += chunk.toString()));
    await api.register(shellJob('heard', 'sleep 1000'));
    await eventually('the event has come', () => frames.includes('JobRegistered'));
    await api.stop('heard');
    await eventually('the next one too', () => frames.includes('JobDeregistered'));
    expect((await api.raw(`/v1/client/allocation/${alloc.ID}/restart`, { method: 'PUT', body: '{}' })).status).toBe(
      200,
    );
    await eventually('the task has started again', async () => (await stateOf(alloc)).Restarts === 1);
    expect((await ask(alloc, '/v1/status/leader', token)).status).toBe(200);
    const ended = new Promise((resolve) => stream.once('close', resolve));
    stream.on('error', () => {}); // it is cut off
    await api.stop('listener');
    await ended;
    await eventually('the socket is gone', () => !existsSync(placeOf(alloc)));
  });
});

describe('identities of a task', () => {
  /** The claims of a token, if the keys that the cluster publishes say that its signature is right (AU-178). */
  async function verified(token: string) {
    const keys = createLocalJWKSet(await api.get<JSONWebKeySet>('/.well-known/jwks.json'));
    // By the time a busy machine comes to it, a short-lived token may be over.
    const currentDate = new Date(decodeJwt(token).iat! * 1_000);
    const { payload } = await jwtVerify(token, keys, { currentDate, issuer: ISSUER });
    return { kid: decodeProtectedHeader(token).kid, payload };
  }

  it('AU-121, AU-131, AU-137, AU-156, AU-159: are there before it starts, verify, and are renewed with a signal', async () => {
    const alloc = await allocOf('bearer');
    const lines = (await log(alloc)).trim().split('\n');
    const [inEnv = '', inFile, named = '', namedFile] = lines;
    expect([inEnv, named]).toEqual([inFile, namedFile]);

    const { kid, payload } = await verified(inEnv);
    expect(kid).toBe(alloc.SigningKeyID);
    expect(payload).toMatchObject({
      aud: 'nomadproject.io',
      sub: 'global:default:bearer:group:task:default',
      nomad_namespace: 'default',
      nomad_job_id: 'bearer',
      nomad_allocation_id: alloc.ID,
      nomad_task: 'task',
    });
    expect(payload).not.toHaveProperty('exp');
    const first = (await verified(named)).payload;
    expect(first).toMatchObject({ aud: 'sts.example', sub: 'global:default:bearer:group:task:aws' });
    expect(first.exp! - first.iat!).toBe(20);

    const renewed = await eventually(
      'it was signalled and has read the new token',
      async () => (await log(alloc)).trim().split('\n')[4],
      60_000,
    );
    expect(renewed).not.toBe(named);
    expect((await verified(renewed)).payload.exp).toBeGreaterThan(first.exp!);
    const signalled = await eventually('its event', async () =>
      (await stateOf(alloc)).Events.find(({ Type }) => Type === 'Signaling'),
    );
    expect(signalled.DisplayMessage).toBe('Task being sent signal SIGHUP: Identity[aws]: new Identity token acquired');
    expect((await stateOf(alloc)).Restarts).toBe(0);
  });

  it('AU-128, AU-131, AU-133: that of its service is a file, names the service and no task, and verifies', async () => {
    const Identity = { Audience: ['mesh.example'], File: true, TTL: 3_600 * NS_PER_SECOND };
    const Services = [{ Name: 'web-${NOMAD_ALLOC_INDEX}', Provider: 'nomad', Identity }];
    const line = 'ls secrets; cat secrets/nomad_service_web-0.jwt; echo; exec sleep 1000';
    await api.register(shellJobWith('served', line, { Services }));
    const alloc = await allocOf('served');
    const said = await eventually('it has shown the token', async () => {
      const text = await log(alloc);
      return text.includes('.jwt\n') && text.endsWith('\n') && text.includes('eyJ') && text;
    });
    const token = said.trim().split('\n').at(-1)!;
    const { payload } = await verified(token);
    expect(payload).toMatchObject({
      aud: 'mesh.example',
      sub: 'global:default:served:group:web-${NOMAD_ALLOC_INDEX}:',
      nomad_allocation_id: alloc.ID,
      nomad_service: 'web-0',
    });
    expect(payload.exp! - payload.iat!).toBe(3_600);
    expect(payload).not.toHaveProperty('nomad_task');
    await api.stop('served', true);
  });

  const isRoot = process.getuid?.() === 0;
  it.runIf(isRoot)(
    'AU-329: a task of a user reads its tokens, and one of another user in its group does not (needs root)',
    async () => {
      chmodSync(path.join(waybill.dir, 'agent'), 0o711); // as machines have it whose tasks have users
      const identities = [
        { Name: 'default', File: true },
        { Name: 'aws', Audience: ['sts.example'], File: true },
      ];
      const files = ['secrets/nomad_token', 'secrets/nomad_aws.jwt'];
      const task = (Name: string, User: string, line: string) => ({
        Name,
        User,
        Driver: 'raw_exec',
        Config: { command: '/bin/sh', args: ['-c', `${line}; exec sleep 1000`] },
        Identities: identities,
      });
      const own = `id -un; cat ${files.join(' ')} | tr . "\\n" | wc -l`;
      const others = files.map((name) => `cat "$NOMAD_ALLOC_DIR/../owner/${name}" 2>&1`).join('; ');
      const Tasks = [task('owner', 'nobody', own), task('other', 'daemon', `${own}; ${others}`)];
      await api.register({ ID: 'users', Datacenters: ['*'], TaskGroups: [{ Name: 'g', Tasks }] });
      const alloc = await allocOf('users');
      const logOf = async (name: string): Promise<string> =>
        (await api.raw(`/v1/client/fs/logs/${alloc.ID}?task=${name}&type=stdout&plain=true`)).text();
      const lines = (name: string, last: string) =>
        eventually(`${name} has said it`, async () => {
          const text = await logOf(name);
          return text.includes(last) && text;
        });
      expect(await lines('owner', '4')).toBe('nobody\n4\n');
      const [user, count, ...refused] = (await lines('other', 'aws.jwt')).trim().split('\n');
      expect([user, count]).toEqual(['daemon', '4']);
      expect(refused).toEqual(
        files.map((name) => expect.stringMatching(`owner/${name}.*: Permission denied$`) as string),
      );
      await api.stop('users', true);
      chmodSync(path.join(waybill.dir, 'agent'), 0o700);
    },
  );

  it('AU-138: no table of the read model has a token', async () => {
    const pool = openPool(waybill.stack.databaseUrl);
    try {
      const { rows } = await pool.query<{ name: string }>(
        `select tablename as name from pg_tables where schemaname = 'public'`,
      );
      const counts = rows.map(async ({ name }) => {
        const found = await pool.query<{ n: string }>(
          `select count(*) as n from "${name}" one where one::text like '%eyJ%'`,
        );
        return [name, Number(found.rows[0]!.n)];
      });
      expect((await Promise.all(counts)).filter(([, n]) => n !== 0)).toEqual([]);
      expect(rows.length).toBeGreaterThan(10);
    } finally {
      await pool.end();
    }
  });

  it('AU-142: an allocation that has ended gets none', async () => {
    await api.stop('bearer');
    const [alloc] = await api.get<Allocation[]>('/v1/job/bearer/allocations');
    await eventually('it is over', async () => (await stateOf(alloc!)).State === 'dead');
    const { nodeId, secretId } = await loadIdentity(path.join(waybill.dir, 'agent'), newUuid);
    const link = await connect({ url: waybill.stack.natsUrl, name: 'test' });
    try {
      const Identities = [{ AllocID: alloc!.ID, WorkloadType: 'task', Workload: 'task', Identity: 'aws' } as const];
      const request = { NodeID: nodeId, SecretID: secretId, MinStateIndex: 0, Identities };
      const reason = await eventually('its end is known', async () => {
        const { Rejected } = await new NatsRpc(link.nc).ask(signIdentities, request);
        return Rejected[0]?.Reason;
      });
      expect(reason).toBe('allocation is terminal');
    } finally {
      await link.close();
    }
  });
});
