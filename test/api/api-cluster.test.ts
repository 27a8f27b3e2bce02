import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '@waybill/embedded';
import { ApiClient, shellJob } from '../support/api-client.js';
import { freeze, thaw } from '../support/freeze.js';
import { textUntil } from '../support/stream-text.js';
import { eventually } from '../support/wait.js';
import { WaybillProcesses } from '../support/waybill-processes.js';

let waybill: WaybillProcesses;
let api: ApiClient;
/** Ids of API processes that were killed. */
const deadServers: string[] = [];
const agentDir = mkdtempSync(`${tmpdir()}/waybill-agent-`);

beforeAll(async () => {
  waybill = await WaybillProcesses.start({ WAYBILL_HTTP_AGENT_DIR: agentDir }, ['projector', 'broker', 'api']);
  api = waybill.api;
});
afterAll(async () => {
  await waybill?.stop();
  rmSync(agentDir, { recursive: true, force: true });
});

/** Writes that are read from the other API. */
const ACKNOWLEDGED_WRITES = 10;

const answerOf = async (path: string, method = 'GET', body?: string): Promise<[number, string]> => {
  const answer = await api.raw(path, { method, ...(body !== undefined && { body }) });
  return [answer.status, await answer.text()];
};

describe('whom a client talks to', () => {
  it('OP-70, OP-73, API-236, API-262: what clients need of agent/self', async () => {
    await eventually(
      'something is projected',
      async () => Number((await api.raw('/v1/waybill/log')).headers.get('x-nomad-index')) > 1,
    );
    const self = await api.get<Record<string, object>>('/v1/agent/self');
    expect(self['config']).toMatchObject({
      Region: 'global',
      Datacenter: 'dc1',
      Name: expect.any(String),
      Server: { Enabled: true },
      Client: { Enabled: false },
      ACL: { Enabled: false },
      UI: { Enabled: false, ShowCLIHints: false, Label: null },
      Version: { Version: expect.stringMatching(/^\d+\.\d+\.\d+$/) },
      Waybill: { TraceURL: '' },
    });
    const leader_addr = await api.get<string>('/v1/status/leader');
    const { nomad, raft, runtime } = self['stats'] as Record<string, Record<string, string>>;
    expect(nomad).toEqual({ server: 'true', leader: 'true', leader_addr, bootstrap: 'true', known_regions: '1' });
    const { applied_index, last_log_index, commit_index, ...rest } = raft!;
    expect([last_log_index, commit_index]).toEqual([applied_index, applied_index]);
    expect(Number(applied_index)).toBeGreaterThan(0);
    expect(rest).toEqual({ state: 'Leader', term: '1', num_peers: '0' });
    for (const [name, value] of Object.entries(runtime!)) expect(value, name).toMatch(/^.+$/);
  });

  it('API-236, CL-502: the node of an agent beside it, once that has begun', async () => {
    const stats = async () => (await api.get<{ stats: object }>('/v1/agent/self')).stats;
    expect(await stats()).not.toHaveProperty('client');
    expect(await answerOf('/v1/agent/servers')).toEqual([501, 'Invalid method']);
    expect(await answerOf('/v1/agent/servers?address=a', 'PUT')).toEqual([501, 'Invalid method']);
    writeFileSync(`${agentDir}/client-id`, 'fd2be1a9-9b4b-4a8e-9a51-5b9d0f8a3f4e\n');
    expect(await stats()).toMatchObject({ client: { node_id: 'fd2be1a9-9b4b-4a8e-9a51-5b9d0f8a3f4e' } });
    expect(await api.get('/v1/agent/self')).toMatchObject({ config: { Client: { Enabled: true } } });
    const servers = await api.get<string[]>('/v1/status/peers');
    expect(await api.get('/v1/agent/servers')).toEqual(servers);
    expect(await answerOf(`/v1/agent/servers?address=${servers[0]}`, 'PUT')).toEqual([200, '']);
    expect(await answerOf('/v1/agent/servers', 'PUT')).toEqual([400, 'missing server address']);
    expect(await answerOf('/v1/agent/servers?address=10.0.0.9:1', 'POST')).toEqual([
      400,
      expect.stringContaining('is not a server of this cluster'),
    ]);
  });

  it('API-237, OP-75: health, of what is here and of what is not', async () => {
    expect(await answerOf('/v1/agent/health')).toEqual([200, '{"server":{"ok":true,"message":"ok"}}']);
    expect(await answerOf('/v1/agent/health?type=server')).toEqual([200, '{"server":{"ok":true,"message":"ok"}}']);
    expect(await answerOf('/v1/agent/health?type=client')).toEqual([
      500,
      '{"client":{"ok":false,"message":"no known servers"}}',
    ]);
    expect(await answerOf('/v1/agent/health?type=client&type=server')).toEqual([
      500,
      '{"client":{"ok":false,"message":"no known servers"},"server":{"ok":true,"message":"ok"}}',
    ]);
  });

  it('API-237, API-637, OP-6, OP-75, OP-90: a cluster that nobody leads says so, and who leads when somebody does', async () => {
    await waybill.kill('broker');
    await eventually('nobody leads', async () => (await api.raw('/v1/agent/health')).status === 500);
    expect(await answerOf('/v1/agent/health')).toEqual([500, '{"server":{"ok":false,"message":"no leader"}}']);
    expect(await answerOf('/v1/status/leader')).toEqual([200, '""']);
    expect(await api.get<string[]>('/v1/status/peers')).toHaveLength(1);
    await waybill.startService('broker');
    await eventually('somebody leads', async () => (await api.raw('/v1/agent/health')).ok);
    expect(await api.get('/v1/status/leader')).toMatch(/^127\.0\.0\.1:\d+$/);
  });

  it('API-239, OP-71, OP-72, OP-74: a member, with the tags that are printed', async () => {
    const members = await api.get<{ Members: { Addr: string; Tags: Record<string, string> }[] }>('/v1/agent/members');
    expect(members).toMatchObject({ ServerName: 'waybill', ServerRegion: 'global', ServerDC: 'dc1' });
    const number: unknown = expect.any(Number);
    const versions = { ProtocolMin: number, ProtocolMax: number, ProtocolCur: number };
    const delegates = { DelegateMin: number, DelegateMax: number, DelegateCur: number };
    const [Addr, port] = String(await api.get('/v1/status/leader')).split(':');
    const known = { role: 'nomad', region: 'global', dc: 'dc1', revision: '', vsn: '1', raft_vsn: '3', bootstrap: '1' };
    const build: unknown = expect.stringMatching(/^\d+\.\d+\.\d+$/);
    const id: unknown = expect.stringMatching(/^[0-9a-f-]{36}$/);
    const Tags = { ...known, build, id, port, rpc_addr: Addr };
    const Port = Number(port);
    expect(members.Members).toEqual([
      { Name: 'waybill.global', Status: 'alive', Addr, Port, Tags, ...versions, ...delegates },
    ]);
    expect((await api.get<{ member: object }>('/v1/agent/self')).member).toEqual(members.Members[0]);
  });

  it('a client that looks for Raft peers of a single server finds one, which leads, under the address of status/peers', async () => {
    const { Servers } = await api.get<{ Servers: object[] }>('/v1/operator/raft/configuration');
    const [Address] = await api.get<string[]>('/v1/status/peers');
    const ID: unknown = expect.stringMatching(/^[0-9a-f-]{36}$/);
    expect(Servers).toEqual([{ ID, Node: 'waybill.global', Address, Leader: true, Voter: true, RaftProtocol: '3' }]);
  });

  it('AU-1, API-40, OP-111: without access control nothing of it answers but who everybody is, whatever the body', async () => {
    const single = ['auth-method/ci', 'binding-rule/a', 'login', 'oidc/auth-url', 'oidc/complete-auth'];
    for (const path of ['auth-methods', 'auth-method', 'binding-rules', 'binding-rule', ...single])
      for (const body of [undefined, '{', '{"AuthMethodName":"ci"}', '[]'])
        for (const method of body === undefined ? ['GET', 'DELETE'] : ['PUT', 'POST'])
          expect(await answerOf(`/v1/acl/${path}`, method, body), path).toEqual([400, 'ACL support disabled']);
    for (const path of ['tokens', 'token', 'policies', 'policy/a', 'policy/self', 'roles', 'bootstrap', 'token/a/b'])
      for (const method of ['GET', 'PUT', 'DELETE'])
        expect(await answerOf(`/v1/acl/${path}`, method), path).toEqual([400, 'ACL support disabled']);
    expect(await api.get('/v1/acl/token/self')).toMatchObject({
      AccessorID: 'acls-disabled',
      Name: 'ACLs disabled token',
      Type: 'client',
    });
  });

  it('OP-100, OP-104: metrics of the control plane, in JSON and for Prometheus', async () => {
    const { Gauges } = await api.get<{ Gauges: { Name: string; Value: number; Labels: object }[] }>('/v1/metrics');
    const value = (name: string) => Gauges.find(({ Name }) => Name === name)?.Value;
    for (const status of ['pending', 'running', 'dead']) expect(value(`nomad.nomad.job_status.${status}`)).toBe(0);
    for (const name of [
      'raft.appliedIndex',
      'state.snapshotIndex',
      'runtime.alloc_bytes',
      'nomad.agent.http.connections',
    ])
      expect(value(`nomad.${name}`), name).toBeGreaterThan(0);
    await api.get('/v1/jobs');
    // Whether evaluations may be deleted is asked of the broker.
    const EvalIDs = ['00000000-0000-4000-8000-000000000000'];
    await api.raw('/v1/evaluations', { method: 'DELETE', body: JSON.stringify({ EvalIDs }) });
    const answer = await api.raw('/v1/metrics?format=prometheus');
    expect(answer.headers.get('content-type')).toContain('text/plain');
    const text = await answer.text();
    expect(text).toMatch(/^nomad_nomad_job_status_running\{host="[^"]+"\} 0$/m);
    expect(text).toMatch(/^nomad_nomad_fsm_apply_scheduler_config_count\{host="[^"]+"\} [1-9]/m);
    for (const name of ['request', 'query'])
      expect(text).toMatch(new RegExp(`^nomad_nomad_rpc_${name}\\{.*\\} [1-9]`, 'm'));
    expect(text).toMatch(/^nomad_runtime_num_goroutines\{host="[^"]+"\} \d+$/m);
    expect(await answerOf('/v1/metrics', 'PUT')).toEqual([405, 'Invalid method']);
  });
});

describe('several API processes', () => {
  interface Metrics {
    Gauges: { Name: string; Value: number; Labels: Record<string, string> }[];
  }
  interface Peers {
    Servers: { ID: string; Address: string; Leader: boolean; Voter: boolean; RaftProtocol: string }[];
  }
  const named = ({ Gauges }: Metrics, name: string) => Gauges.filter(({ Name }) => Name === name);
  let second: ApiClient;
  beforeAll(async () => {
    const port = await freePort();
    const env = { WAYBILL_HTTP_PORT: String(port), WAYBILL_OIDC_ISSUER: 'http://second.example' };
    await waybill.startService('api', 'second', env);
    second = new ApiClient(`http://127.0.0.1:${port}`);
  });
  afterAll(async () => {
    const { Servers } = await peersAt(second);
    deadServers.push(...Servers.filter(({ Address }) => Address === new URL(second.url).host).map(({ ID }) => ID));
    await waybill.kill('second');
  });
  const peersAt = (at: ApiClient) => at.get<Peers>('/v1/operator/raft/configuration');

  it('AU-182: that name different issuers say so in their logs and in their health, and work on', async () => {
    const serverOf = async (at: ApiClient) =>
      (await at.get<{ server: { ok: boolean; message: string } }>('/v1/agent/health?type=server')).server;
    const logOf = (name: string) => readFileSync(`${waybill.dir}/${name}.log`, 'utf8').replaceAll('\\"', '"');
    const differs = (own: string, other: string, at: ApiClient) =>
      `WAYBILL_OIDC_ISSUER is "${own}" here and "${other}" at the API ${new URL(at.url).host}: `;
    const issuer = 'http://second.example';
    for (const [at, name, text] of [
      [api, 'api', differs('', issuer, second)],
      [second, 'second', differs(issuer, '', api)],
    ] as const) {
      expect(await serverOf(at)).toEqual({ ok: true, message: expect.stringContaining(text) as string });
      expect(logOf(name).split(text)).toHaveLength(2);
    }
    expect(logOf('second')).toContain(`WAYBILL_OIDC_ISSUER = "${issuer}" is not using https.`);
  });

  it('API-238, OP-60, OP-61, OP-62: are all shown by each of them, with one and the same leader', async () => {
    const [here, there] = [await peersAt(api), await peersAt(second)];
    expect(there).toEqual(here);
    const [first, other] = here.Servers;
    const addresses = [api, second].map(({ url }) => new URL(url).host);
    expect(here.Servers.map(({ Address }) => Address)).toEqual(addresses);
    expect(here.Servers.map(({ Leader }) => Leader)).toEqual([true, false]);
    for (const { Voter, RaftProtocol } of here.Servers) expect([Voter, RaftProtocol]).toEqual([true, '3']);
    for (const at of [api, second]) {
      expect(await at.get('/v1/status/peers')).toEqual(addresses);
      expect(await at.get('/v1/status/leader')).toBe(addresses[0]);
      const { Members } = await at.get<{ Members: { Tags: { id: string } }[] }>('/v1/agent/members');
      expect(Members.map(({ Tags }) => Tags.id)).toEqual([first?.ID, other?.ID]);
      const health = await at.get<{ Healthy: boolean; Voters: string[] }>('/v1/operator/autopilot/health');
      expect(health).toMatchObject({ Healthy: true, Leader: first?.ID, Voters: [first?.ID, other?.ID] });
    }
    expect(await answerOf(`/v1/operator/raft/peer?id=${other?.ID}`, 'DELETE')).toEqual([
      409,
      `peer "${other?.ID}" is alive: stop its process to remove it`,
    ]);
    const [status, text] = await answerOf(`/v1/operator/raft/transfer-leadership?id=${other?.ID}`, 'PUT');
    expect([status, text]).toEqual([409, expect.stringContaining('roles are held by leases')]);
  });

  it('ST-10, API-56: read at once what another has acknowledged, also where they answer from memory', async () => {
    await api.register(shellJob('kept', 'true', { count: 0 }));
    const read = () =>
      Promise.all([
        second.get<{ Meta: object | null }>('/v1/job/kept'),
        second.get<{ JobModifyIndex: number }[]>('/v1/jobs?prefix=kept'),
        second.get<{ ID: string }[]>('/v1/job/kept/evaluations'),
      ]);
    await read();
    for (let count = 1; count <= ACKNOWLEDGED_WRITES; count++) {
      // The other one finds the request and the announcement of the write at the same moment.
      await freeze(waybill.pid('second'));
      const Meta = { count: `${count}` };
      const { Index, EvalID } = await api.register({ ...shellJob('kept', 'true', { count: 0 }), Meta });
      const reading = read();
      await turnOfTheLoop();
      thaw(waybill.pid('second'));
      const [job, [stub], evaluations] = await reading;
      expect([job.Meta, stub?.JobModifyIndex]).toEqual([Meta, Index]);
      expect(evaluations.map(({ ID }) => ID)).toContain(EvalID);
      await read();
    }
    await api.stop('kept', true);
    expect((await second.raw('/v1/job/kept')).status).toBe(404);
  });

  it('OP-106, OP-107: figures of the cluster are counted once, by whichever of them there is', async () => {
    const [here, there] = [await api.get<Metrics>('/v1/metrics'), await second.get<Metrics>('/v1/metrics')];
    for (const name of ['nomad.nomad.job_status.running', 'nomad.nomad.broker.total_ready', 'nomad.raft.lastIndex'])
      expect([named(here, name).length, named(there, name).length], name).toEqual([1, 0]);
    for (const one of [here, there]) expect(named(one, 'nomad.runtime.alloc_bytes')).toHaveLength(1);
    expect(named(here, 'nomad.waybill.lease.held')).toEqual(
      expect.arrayContaining([
        { Name: 'nomad.waybill.lease.held', Value: 1, Labels: expect.objectContaining({ role: 'broker' }) as unknown },
      ]),
    );
    expect(named(here, 'nomad.waybill.log.lag')).toMatchObject([{ Labels: { projection: 'postgres' } }]);
    expect(named(here, 'nomad.waybill.events.subscribers')).toMatchObject([{ Value: 0 }]);
    expect(named(here, 'nomad.nomad.autopilot.healthy')).toMatchObject([{ Value: 1 }]);
    expect(named(here, 'nomad.nomad.autopilot.failure_tolerance')).toMatchObject([{ Value: 0 }]);
    expect(named(here, 'nomad.waybill.events.lag')).toMatchObject([{ Value: 0 }]);
    const text = await (await api.raw('/v1/metrics?format=prometheus')).text();
    for (const name of ['apply_errors', 'redelivered'])
      expect(text).toMatch(new RegExp(`^nomad_waybill_log_${name}\\{.*projection="postgres".*\\} \\d+$`, 'm'));

    await waybill.kill('api');
    expect(named(await second.get<Metrics>('/v1/metrics'), 'nomad.raft.lastIndex')).toHaveLength(1);
    expect((await peersAt(second)).Servers).toMatchObject([{ Address: new URL(second.url).host, Leader: true }]);
    await waybill.startService('api');
    expect(named(await api.get<Metrics>('/v1/metrics'), 'nomad.raft.lastIndex')).toEqual([]);
  });
});

describe('a broker that is deposed', () => {
  it('OP-106, OP-271, OP-275: is not waited for longer than a request may take, and shows nothing of what it had in memory', async () => {
    const ready = async (): Promise<number | undefined> => {
      const { Gauges } = await api.get<{ Gauges: { Name: string; Value: number }[] }>('/v1/metrics');
      return Gauges.find(({ Name }) => Name === 'nomad.nomad.broker.total_ready')?.Value;
    };
    const roleOf = async (name: string): Promise<string> => (await fetch(`${waybill.opsUrl(name)}/metrics`)).text();
    const others = (await ready()) ?? 0; // of tests before, as there is no scheduler
    await api.register(shellJob('waits', 'true'));
    await eventually('its evaluation waits', async () => (await ready()) === others + 1);
    await waybill.startService('broker', 'successor');
    const deposed = waybill.pid('broker');
    await freeze(deposed);
    const askedAt = performance.now();
    const unanswered = answerOf('/v1/system/gc', 'PUT');
    expect((await api.raw('/v1/jobs?stale=true')).status).toBe(200);
    await eventually('the other one has it', async () => / [1-9]$/m.test(roleLine(await roleOf('successor'))));
    expect(await unanswered).toEqual([500, 'No cluster leader']);
    expect(performance.now() - askedAt).toBeLessThan(8_000);
    thaw(deposed);
    await eventually('it has heard of that', async () => / 0$/m.test(roleLine(await roleOf('broker'))));
    expect(await ready()).toBe(others + 1);
    expect(await roleOf('broker')).toMatch(/^waybill_nomad_broker_total_ready\{[^}]*\} 0$/m);
    await waybill.kill('successor', 'SIGTERM');
    await api.stop('waits', true);
  });
  const roleLine = (text: string): string =>
    text.split('\n').find((line) => line.startsWith('waybill_role_epoch')) ?? '';
});

describe('what clients ask of a cluster that has Raft and gossip', () => {
  const ADDRESS = /^(\d+\.){3}\d+:\d+$/;

  it('API-3, OP-60, OP-63: the raft paths, and how they answer a wrong method', async () => {
    expect(await answerOf('/v1/operator/raft/configuration', 'PUT')).toEqual([405, '']);
    expect(await answerOf('/v1/operator/raft/peer')).toEqual([404, 'Invalid method']);
    expect(await answerOf('/v1/operator/raft/nothing')).toEqual([404, 'Invalid method']);
    expect(await answerOf('/v1/operator/raft/transfer-leadership')).toEqual([405, 'Invalid method']);
    for (const [path, method] of [
      ['configuration', 'POST'],
      ['health', 'PUT'],
    ])
      expect(await answerOf(`/v1/operator/autopilot/${path}`, method)).toEqual([404, 'Invalid method']);
  });

  it.each([
    ['', "Must specify the peer's ID to remove", 400],
    ['?address=1.2.3.4:1', 'Removing a peer by address is not supported in the current raft protocol version', 400],
    ['?id=nobody', 'id "nobody" was not found in the Raft configuration', 404],
  ])('OP-61: removing a peer %s', async (query, text, status) => {
    expect(await answerOf(`/v1/operator/raft/peer${query}`, 'DELETE')).toEqual([status, text]);
  });

  it.each([
    ['', 'must specify id or address'],
    ['?id=a&address=b', 'must specify either id or address'],
    ['?id=a&id=b', 'must specify only one id'],
    ['?address=a&address=b', 'must specify only one address'],
    ['?id=', 'id must be non-empty'],
    ['?address=', 'address must be non-empty'],
    ['?id=x', 'id must be a uuid: '],
    ['?address=x', 'address must be in IP:port format: '],
    ['?address=10.0.0.1:4', 'address "10.0.0.1:4" was not found in the Raft configuration'],
  ])('OP-62: a transfer of leadership %s is refused', async (query, text) => {
    const [status, body] = await answerOf(`/v1/operator/raft/transfer-leadership${query}`, 'PUT');
    expect([status, body.slice(0, text.length)]).toEqual([400, text]);
  });

  it('OP-62, OP-260: a transfer to the one that leads changes nothing, nor does one to a server that is dead', async () => {
    const epoch = async (): Promise<string | undefined> =>
      /^waybill_role_epoch\{.*\} (\d+)$/m.exec(await (await fetch(`${waybill.opsUrl('broker')}/metrics`)).text())?.[1];
    const before = await epoch();
    expect(Number(before)).toBeGreaterThan(0);
    const [address] = await api.get<string[]>('/v1/status/peers');
    const transfer = (query: string) => answerOf(`/v1/operator/raft/transfer-leadership?${query}`, 'PUT');
    const [status, text] = await transfer(`address=${address}`);
    expect([status, JSON.parse(text)]).toEqual([
      200,
      { From: peer(address), To: peer(address), Noop: true, Err: null },
    ]);
    for (const dead of deadServers)
      expect(await transfer(`id=${dead}`)).toEqual([400, `id "${dead}" was not found in the Raft configuration`]);
    expect(deadServers).toHaveLength(1);
    expect([await epoch(), await api.get('/v1/status/leader')]).toEqual([before, address]);
  });
  const peer = (Address = ''): object => ({ Address, ID: expect.stringMatching(/^[0-9a-f-]{36}$/) as unknown });

  it('OP-64, OP-65, OP-66: autopilot, with durations as texts', async () => {
    expect(await api.get('/v1/operator/autopilot/configuration')).toEqual({
      CleanupDeadServers: true,
      LastContactThreshold: '200ms',
      MaxTrailingLogs: 250,
      MinQuorum: 0,
      ServerStabilizationTime: '10s',
      EnableRedundancyZones: false,
      DisableUpgradeMigration: false,
      EnableCustomUpgrades: false,
      CreateIndex: 0,
      ModifyIndex: 0,
    });
    const health = await api.get<{ Servers: { ID: string }[]; Leader: string }>('/v1/operator/autopilot/health');
    expect(health).toMatchObject({
      Healthy: true,
      FailureTolerance: 0,
      Servers: [{ Address: expect.stringMatching(ADDRESS) as unknown, SerfStatus: 'alive', Leader: true, Voter: true }],
    });
    expect(health.Leader).toBe(health.Servers[0]?.ID);
  });

  it.each([
    ['PUT', 'join', 400, 'missing address to join'],
    ['PUT', 'force-leave', 400, 'missing node to force leave'],
    ['PUT', 'force-leave?node=a&prune=maybe', 400, 'invalid prune value'],
    ['POST', 'force-leave?node=a&prune=true', 200, ''],
    ['PUT', 'reload', 200, ''],
    ['GET', 'keyring/list', 200, '{"Messages":{},"Keys":{},"NumNodes":1}'],
    ['PUT', 'keyring/rub', 404, 'resource not found'],
    ['GET', 'host', 403, 'Permission denied'],
    ['GET', 'pprof/heap', 403, 'Permission denied'],
    ['GET', 'pprof', 404, 'Invalid method'],
  ])('OP-76 to OP-80, OP-85, OP-86: %s agent/%s', async (method, path, status, text) => {
    expect(await answerOf(`/v1/agent/${path}`, method)).toEqual([status, text]);
  });

  it('EB-314, EB-315, OP-87: the workers of all scheduler processes, and as many as one wants of them', async () => {
    const types = ['service', 'batch', 'system', 'sysbatch', '_core'];
    const set = (body: object, method = 'PUT') =>
      api.raw('/v1/agent/schedulers/config', { method, body: JSON.stringify(body) });
    const server_id = 'waybill.global';
    expect(await api.get('/v1/agent/schedulers')).toEqual({ server_id, schedulers: [] });
    expect((await set({ num_schedulers: 1, enabled_schedulers: types })).status).toBe(503);

    await waybill.startService('scheduler', 'one');
    await waybill.startService('scheduler', 'other');
    expect(await api.get('/v1/agent/schedulers/config')).toEqual({
      server_id,
      num_schedulers: 4,
      enabled_schedulers: types,
    });
    const wanted = { num_schedulers: 3, enabled_schedulers: ['batch', '_core'] };
    expect(await (await set({ ...wanted, server_id: 'ignored' })).json()).toEqual({ server_id, ...wanted });
    expect(await api.get('/v1/agent/schedulers/config')).toEqual({ server_id, ...wanted });
    const { schedulers } = await api.get<{ schedulers: { id: string }[] }>('/v1/agent/schedulers');
    expect(new Set(schedulers.map(({ id }) => id)).size).toBe(3);
    expect(schedulers[0]).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/) as unknown,
      enabled_schedulers: ['batch', '_core'],
      started: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/) as unknown,
      status: 'Started',
      workload_status: expect.any(String) as unknown,
    });

    for (const wrong of [
      { num_schedulers: 1, enabled_schedulers: ['batch'] },
      { num_schedulers: 1, enabled_schedulers: ['nightly', '_core'] },
      { num_schedulers: 129, enabled_schedulers: types },
    ]) {
      const refused = await set(wrong, 'POST');
      expect([refused.status, await refused.text()]).toEqual([400, 'Invalid request']);
    }
    expect((await set({ num_schedulers: -1, enabled_schedulers: types })).status).toBe(400);
    expect(await api.get('/v1/agent/schedulers/config')).toEqual({ server_id, ...wanted });
    expect(await (await set({ num_schedulers: 0, enabled_schedulers: types })).json()).toMatchObject({
      num_schedulers: 0,
    });
  });

  it('OP-76: joining counts those that are members already', async () => {
    const join = await api.raw('/v1/agent/join?address=127.0.0.1&address=10.9.8.7', { method: 'PUT' });
    expect(await join.json()).toMatchObject({ num_joined: 1, error: expect.stringContaining('10.9.8.7'), warning: '' });
  });

  it('OP-236, OP-237: what else only the commercial edition has', async () => {
    expect((await answerOf('/v1/operator/license'))[0]).toBe(204);
    expect((await answerOf('/v1/operator/license', 'PUT'))[0]).toBe(501);
    expect((await answerOf('/v1/operator/license', 'POST'))[0]).toBe(405);
    expect(await answerOf('/v1/operator/utilization', 'POST')).toEqual([501, 'Nomad Enterprise only endpoint']);
    expect((await answerOf('/v1/operator/utilization'))[0]).toBe(405);
    expect(await api.get('/v1/operator/upgrade-check/vault-workload-identity')).toEqual({
      JobsWithoutVaultIdentity: [],
      OutdatedNodes: [],
      VaultTokens: [],
    });
    expect(await answerOf('/v1/operator/upgrade-check/x')).toEqual([404, 'Path x not found']);
  });

  it.each([
    ['GET', '/v1/agent/monitor/export', 400, 'Either -service-name or -on-disk must be set'],
    [
      'GET',
      '/v1/agent/monitor/export?on_disk=true&service_name=x',
      400,
      'Cannot target journald and nomad log file simultaneously',
    ],
    ['GET', '/v1/agent/monitor/export?on_disk=true&follow=true', 400, 'Cannot follow log file'],
    ['GET', '/v1/agent/monitor/export?on_disk=true', 501, /^logs go to standard output/],
    ['GET', '/v1/agent/pprof/heap', 403, 'Permission denied'],
    ['GET', '/v1/agent/host', 403, 'Permission denied'],
    ['PUT', '/v1/agent/reload', 200, ''],
    ['PUT', '/v1/agent/force-leave', 400, 'missing node to force leave'],
    ['PUT', '/v1/agent/force-leave?node=a&prune=maybe', 400, 'invalid prune value'],
    ['PUT', '/v1/agent/force-leave?node=a', 200, ''],
    ['PUT', '/v1/client/allocation/a/pause', 400, 'Request body is empty'],
    ['GET', '/v1/client/allocation/a/pause', 501, 'Nomad Enterprise only endpoint'],
  ] as const)('API-37, OP-9, OP-77, OP-78, OP-79, OP-84, OP-85: %s %s is %d', async (method, path, status, text) => {
    expect(await answerOf(path, method)).toEqual([
      status,
      typeof text === 'string' ? text : expect.stringMatching(text),
    ]);
  });

  it('pauses of tasks are looked at before they are refused', async () => {
    const pause = async (ScheduleState: string) => {
      const body = JSON.stringify({ Task: 't', ScheduleState });
      const answer = await api.raw('/v1/client/allocation/a/pause', { method: 'PUT', body });
      return [answer.status, await answer.text()];
    };
    expect(await pause('asleep')).toEqual([400, 'Not a valid task schedule state']);
    expect(await pause('pause')).toEqual([501, 'Nomad Enterprise only endpoint']);
  });

  it('API-2, OP-92: the root leads to the pages for people, whatever their address; unknown paths are empty', async () => {
    const root = await api.raw('/?a=b', { redirect: 'manual' });
    expect([root.status, root.headers.get('location')]).toEqual([307, '/ui/?a=b']);
    for (const path of ['/ui', '/ui/', '/ui/jobs/web']) {
      const page = await api.raw(path);
      expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
      expect(await page.text()).toContain('<title>Waybill</title>');
    }
    for (const path of ['/v1', '/v1/nothing', '/other', '/v2/jobs']) expect(await answerOf(path)).toEqual([404, '']);
  });

  it('API-258, OP-216: variables of a cluster without a keyring', async () => {
    expect(await api.get('/v1/vars')).toEqual([]);
    expect(await answerOf('/v1/var/a/b')).toEqual([404, 'variable not found']);
    expect(await answerOf('/v1/var/')).toEqual([400, 'missing variable path']);
    expect(await answerOf('/v1/var/a', 'PATCH')).toEqual([400, 'Invalid method']);
    const put = await api.raw('/v1/var/a', { method: 'PUT', body: '{"Items":{"a":"b"}}' });
    expect([put.status, await put.text()]).toEqual([500, expect.stringContaining('keyring is not ready')]);
  });

  it('OP-177: a namespace without a name', async () => {
    expect(await answerOf('/v1/namespace/')).toEqual([400, 'Missing Namespace Name']);
    expect(await answerOf('/v1/namespace/nothing')).toEqual([404, 'Namespace not found']);
  });
});

describe('monitor', () => {
  it.each([
    ['log_level=loud', 'Unknown log level: loud'],
    ['node_id=a&server_id=b', 'Cannot target node and server simultaneously'],
    ['log_json=perhaps', 'Unknown option for log json: '],
    ['plain=perhaps', 'Unknown option for plain: '],
    ['log_include_location=perhaps', 'Unknown option for log_include_location: '],
  ])('API-84, OP-82: %s is refused', async (query, text) => {
    const [status, body] = await answerOf(`/v1/agent/monitor?${query}`);
    expect([status, body.slice(0, text.length)]).toEqual([400, text]);
  });

  it('API-84, API-543: what the server logs, in frames, from the first moment on', async () => {
    const gone = new AbortController();
    const answer = await api.raw('/v1/agent/monitor?log_level=debug', { signal: gone.signal });
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/json']);
    const logOf = (frames: string): string =>
      [...frames.matchAll(/"Data":"([^"]*)"/g)].map(([, data]) => Buffer.from(data!, 'base64').toString()).join('');
    let asked: Promise<Response> | undefined;
    const frames = await textUntil(answer.body, (text) => {
      asked ??= api.raw('/v1/regions');
      return logOf(text).includes('/v1/regions');
    });
    expect(frames.startsWith('{}')).toBe(true);
    expect((await asked)?.status).toBe(200);
    expect(logOf(frames)).toMatch(
      /Z \[DEBUG\] http: request complete: method=GET path=\/v1\/regions status=200 duration=/,
    );
    gone.abort();
  });
});
