import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ApiClient, shellJob } from '../support/api-client.js';
import { eventually } from '../support/wait.js';
import { WaybillProcesses } from '../support/waybill-processes.js';

/** Edge cases of the contract (http-api.md 6) that take a machine; its last one takes it away. */

interface Alloc {
  ID: string;
  NodeID: string;
  Name: string;
  ClientStatus: string;
  NextAllocation: string;
}

const NOWHERE = '00000000-0000-4000-8000-000000000000';
const FOREVER = 'exec sleep 600';

const agentDir = mkdtempSync(`${tmpdir()}/waybill-agent-`);
let waybill: WaybillProcesses;
let api: ApiClient;

beforeAll(async () => {
  waybill = await WaybillProcesses.start({
    WAYBILL_AGENT_DIR: agentDir,
    WAYBILL_HTTP_AGENT_DIR: agentDir,
    WAYBILL_PUBLISH_ALLOCATION_METRICS: 'true',
    WAYBILL_METRICS_PREFIX_FILTER: '-nomad.client.tasks',
    WAYBILL_METRICS_USE_NODE_NAME: 'true',
  });
  api = waybill.api;
  await eventually('the node is ready', async () =>
    (await api.get<{ Status: string }[]>('/v1/nodes')).some(({ Status }) => Status === 'ready'),
  );
});
afterAll(async () => {
  await waybill?.stop();
  rmSync(agentDir, { recursive: true, force: true });
});

const answerOf = async (path: string, method = 'GET', body?: object): Promise<[number, string]> => {
  const answer = await api.raw(path, { method, ...(body && { body: JSON.stringify(body) }) });
  return [answer.status, await answer.text()];
};
const indexOf = async (path: string): Promise<number> =>
  Number((await api.raw(path)).headers.get('x-nomad-index') ?? 0);
const allocsOf = (id: string, query = ''): Promise<Alloc[]> => api.get(`/v1/job/${id}/allocations${query}`);
const runningOf = (id: string, count = 1): Promise<Alloc[]> =>
  eventually(`${id} runs`, async () => {
    const running = (await allocsOf(id)).filter(({ ClientStatus }) => ClientStatus === 'running');
    return running.length === count && running;
  });
const isDone = (id: string) => async (): Promise<boolean> =>
  (await api.get<{ Status: string }>(`/v1/evaluation/${id}`)).Status === 'complete';

describe('jobs', () => {
  it('API-181: a job that is wrong is an answer, with the list of what is wrong with it', async () => {
    const wrong = { ...shellJob('wrong', 'true', { count: -1 }), Priority: 200 };
    const [status, text] = await answerOf('/v1/validate/job', 'PUT', { Job: wrong });
    const answer = JSON.parse(text) as { ValidationErrors: string[]; Error: string };
    expect([status, answer.ValidationErrors.length]).toEqual([200, 2]);
    expect(answer.ValidationErrors[0]).toMatch(/^Task group group validation failed: 1 error occurred:\n\t\* /);
    expect(answer.Error).toMatch(/^2 errors occurred:/);
    expect(answer).toMatchObject({ DriverConfigValidated: true, Warnings: '' });
    expect(await answerOf('/v1/validate/job', 'PUT', {})).toEqual([400, 'Job must be specified']);
    const { ID: _, ...anonymous } = shellJob('x', 'true') as { ID: string };
    const [ok, said] = await answerOf('/v1/validate/job', 'PUT', { Job: { ...anonymous, NodePool: 'none' } });
    expect(ok).toBe(200);
    expect(JSON.parse(said)).toMatchObject({
      ValidationErrors: ['job "" is in nonexistent node pool "none"', 'Missing job ID', 'Missing job name'],
    });
  });

  it('API-124, API-125: stopping: a parameter that is no bool is named; no volumes are ever evaluated', async () => {
    await api.register(shellJob('stopped', 'true', { count: 0 }));
    for (const name of ['purge', 'global', 'no_shutdown_delay']) {
      const [status, text] = await answerOf(`/v1/job/stopped?${name}=maybe`, 'DELETE');
      expect([status, text]).toEqual([400, expect.stringContaining(`"${name}" (maybe) as a bool`)]);
    }
    const [, answer] = await answerOf('/v1/job/stopped', 'DELETE');
    const Index: unknown = expect.any(Number);
    const meta = { Index, LastContact: 0, KnownLeader: true, NextToken: '' };
    const made = { EvalID: expect.stringMatching(/^[0-9a-f-]{36}$/), EvalCreateIndex: Index, JobModifyIndex: Index };
    expect(JSON.parse(answer)).toEqual({ ...made, ...meta, VolumeEvalID: '', VolumeEvalIndex: 0 });
  });
});

describe('evaluations', () => {
  it('API-605: a list that waits wakes when what it shows leaves it', async () => {
    const { EvalID } = await api.register({ ...shellJob('blocked', 'true'), Datacenters: ['nowhere'] });
    await eventually('it has been tried', isDone(EvalID));
    const path = '/v1/evaluations?job=blocked&status=blocked';
    const blocked = await eventually('its evaluation is blocked', async () => {
      const found = await api.get<object[]>(path);
      return found.length === 1 && found;
    });
    expect(blocked).toHaveLength(1);
    const waiting = answerOf(`${path}&index=${await indexOf(path)}&wait=20s`);
    const began = performance.now();
    await api.stop('blocked');
    let [status, text] = await waiting;
    while (text !== '[]' && performance.now() - began < 15_000)
      [status, text] = await answerOf(`${path}&index=${await indexOf(path)}&wait=5s`);
    expect([status, text]).toEqual([200, '[]']);
    expect(performance.now() - began).toBeLessThan(15_000);
  });

  it('API-606: what is deleted raises the index of the list it was in', async () => {
    const { EvalID } = await api.register(shellJob('deleted', 'true', { count: 0 }));
    await eventually('it is over', isDone(EvalID));
    await api.stop('deleted');
    const configure = (PauseEvalBroker: boolean) =>
      answerOf('/v1/operator/scheduler/configuration', 'PUT', { PauseEvalBroker });
    await configure(true);
    const before = await indexOf('/v1/evaluations');
    const waiting = api.raw(`/v1/evaluations?index=${before}&wait=20s`);
    const [status, text] = await answerOf('/v1/evaluations', 'DELETE', { EvalIDs: [EvalID] });
    expect([status, JSON.parse(text)]).toMatchObject([200, { Count: 1 }]);
    const after = Number((await waiting).headers.get('x-nomad-index'));
    expect(after).toBeGreaterThan(before);
    expect(after).toBe((JSON.parse(text) as { Index: number }).Index);
    await configure(false);
  });
});

describe('allocations and machines', () => {
  it('API-192: an allocation has its whole job, at the version that it runs, and says what happened in words', async () => {
    await api.register(shellJob('whole', FOREVER));
    const [alloc] = await runningOf('whole');
    const read = await api.get<{ Job: Record<string, unknown>; TaskStates: Record<string, { Events: object[] }> }>(
      `/v1/allocation/${alloc!.ID}`,
    );
    expect(read.Job).toMatchObject({ ID: 'whole', Version: 0, Type: 'service', TaskGroups: [{ Name: 'group' }] });
    expect(Object.keys(read.Job).toSorted()).toEqual(Object.keys(await api.get('/v1/job/whole')).toSorted());
    for (const event of read.TaskStates['task']!.Events)
      expect(event).toMatchObject({ DisplayMessage: expect.stringMatching(/./) });
  });

  it('API-208, API-551: what every node says, and no address where it does not answer', async () => {
    const [stub] = await api.get<{ ID: string }[]>('/v1/nodes');
    const node = await api.get<Record<string, unknown>>(`/v1/node/${stub!.ID}`);
    expect(node).toMatchObject({
      Drain: false,
      DrainStrategy: null,
      SchedulingEligibility: 'eligible',
      Status: 'ready',
      LastDrain: null,
      HTTPAddr: '',
    });
  });

  it('API-198: logs of a task that is not in the job, and of one that has not begun', async () => {
    const waits = { Name: 'waits', Driver: 'raw_exec', Config: { command: '/bin/sleep', args: ['600'] } };
    const begins = { ...waits, Name: 'begins', Lifecycle: { Hook: 'prestart', Sidecar: false } };
    const Resources = { CPU: 20, MemoryMB: 16 };
    const Tasks = [waits, begins].map((task) => ({ ...task, Resources, KillTimeout: 1e9 }));
    await api.register({ ID: 'slow', TaskGroups: [{ Name: 'group', Tasks }] });
    const alloc = await eventually('it begins', async () => (await allocsOf('slow'))[0]);
    const logs = (task: string) => answerOf(`/v1/client/fs/logs/${alloc.ID}?task=${task}&type=stdout&plain=true`);
    await eventually('its first task has logs', async () => (await logs('begins'))[0] === 200);
    expect(await logs('waits')).toEqual([404, 'task "waits" not started yet. No logs available']);
    expect(await logs('none')).toEqual([400, 'unknown task name "none"']);
    await api.stop('slow', true);
  });

  it('API-632: stopping again what was replaced replaces nothing', async () => {
    await api.register(shellJob('once', FOREVER));
    const [first] = await runningOf('once');
    const stop = async (): Promise<void> => {
      const [, text] = await answerOf(`/v1/allocation/${first!.ID}/stop`, 'PUT');
      await eventually('it has been seen to', isDone((JSON.parse(text) as { EvalID: string }).EvalID));
    };
    await stop();
    await eventually('another runs', async () => (await runningOf('once'))[0]!.ID !== first!.ID);
    const before = await allocsOf('once');
    await stop();
    expect((await allocsOf('once')).map(({ ID }) => ID).toSorted()).toEqual(before.map(({ ID }) => ID).toSorted());
    await api.stop('once', true);
  });

  it('API-199: a machine that nobody names is that of the agent beside the API', async () => {
    const [{ NodeID } = { NodeID: '' }] = await runningOf('whole');
    const named = JSON.parse((await answerOf(`/v1/client/metadata?node_id=${NodeID}`))[1]) as object;
    expect(await api.get('/v1/client/metadata')).toEqual(named);
    expect((await answerOf('/v1/client/stats'))[0]).toBe(200);
  });

  it('OP-104, OP-105: what a machine tells of itself, at its own port and at that of the API beside it', async () => {
    interface Metrics {
      Gauges: { Name: string; Value: number; Labels: Record<string, string> }[];
    }
    const [alloc] = await runningOf('whole');
    const ops = waybill.opsUrl('agent');
    for (const metrics of [`${ops}/v1/metrics`, `${api.url}/v1/metrics`]) {
      const { Gauges } = (await (await fetch(metrics)).json()) as Metrics;
      const named = (name: string) => Gauges.filter(({ Name }) => Name === `nomad.client.${name}`);
      const node = { node_id: alloc!.NodeID, node_class: 'none', node_status: 'ready', host: 'test-node' };
      expect(named('allocations.running'), metrics).toMatchObject([{ Labels: node }]);
      expect(named('host.memory.total')[0]?.Value).toBeGreaterThan(2 ** 20);
      expect(named('host.disk.size')[0]?.Value).toBeGreaterThan(2 ** 20);
      expect(named('host.cpu.idle')[0]?.Labels).toMatchObject({ ...node, cpu: 'cpu0' });
      const rss = named('allocs.memory.rss').find(({ Labels }) => Labels['alloc_id'] === alloc!.ID);
      expect(rss).toMatchObject({ Labels: { job: 'whole', task_group: 'group', namespace: 'default' } });
      expect(rss?.Value).toBeGreaterThan(0);
      expect(Gauges.filter(({ Name }) => Name.startsWith('nomad.client.tasks'))).toEqual([]);
    }
    const servers = await (await api.raw('/v1/metrics?format=prometheus')).text();
    expect(servers).toMatch(/^nomad_nomad_heartbeat_active\{.*\} 1$/m);
    for (const call of ['register', 'update_status', 'update_alloc', 'get_client_allocs'])
      expect(servers).toMatch(new RegExp(`^nomad_nomad_client_${call}_count\\{.*\\} [1-9]`, 'm'));
    for (const path of ['/metrics', '/v1/metrics?format=prometheus']) {
      const answer = await fetch(`${ops}${path}`);
      expect(answer.headers.get('content-type')).toContain('text/plain');
      expect(await answer.text()).toMatch(/^nomad_client_uptime\{.*node_pool="default".*\} \d+$/m);
    }
    expect((await fetch(`${waybill.opsUrl('broker')}/v1/metrics`)).status).toBe(404);
  });

  it('OP-273: after all of that neither the secret of the machine nor the password of the database can be read anywhere', async () => {
    const [{ NodeID } = { NodeID: '' }] = await runningOf('whole');
    const names = ['projector', 'broker', 'scheduler', 'nodes', 'deployments', 'volumes', 'api', 'agent'];
    const secret = readFileSync(`${agentDir}/secret-id`, 'utf8').trim();
    const { password } = new URL(waybill.stack.databaseUrl);
    expect([secret.length, password.length > 8]).toEqual([36, true]);
    const [LOG, EVENTS] = ['/v1/waybill/log?per_page=1000', '/v1/event/stream?index=1&until=head'];
    const asked = [
      '/v1/agent/self',
      '/v1/agent/host',
      '/v1/metrics',
      '/v1/nodes?resources=true',
      `/v1/node/${NodeID}`,
      `/v1/node/${secret}`,
      `/v1/node/${NodeID}/allocations`,
      `/v1/client/metadata?node_id=${NodeID}`,
      LOG,
      EVENTS,
    ];
    const said = new Map<string, string>();
    for (const path of asked) said.set(path, (await answerOf(path))[1].replaceAll(path, ''));
    for (const name of names) {
      said.set(`metrics of ${name}`, await (await fetch(`${waybill.opsUrl(name)}/metrics`)).text());
      said.set(`log of ${name}`, readFileSync(`${waybill.dir}/${name}.log`, 'utf8'));
    }
    for (const path of [LOG, EVENTS]) expect(said.get(path)).toContain(NodeID);
    for (const [where, text] of said) {
      expect(text.length, where).toBeGreaterThan(0);
      expect([where, text.includes(secret), text.includes(password)]).toEqual([where, false, false]);
    }
  });

  it('API-634, OP-274: a machine that nobody knows, that is cut off, or is gone is not waited for', async () => {
    expect((await answerOf(`/v1/client/stats?node_id=${NOWHERE}`))[0]).toBe(404);
    const [alloc] = await runningOf('whole');
    const { ID, NodeID } = alloc!;
    const log = await fetch(`${api.url}/v1/agent/monitor?node_id=${NodeID}&plain=true`);
    const rest = log.text();
    await waybill.kill('agent');
    expect(await rest).toMatch(/^\[ERROR\] .*node.*\n$/m); // the monitor has ended, and said why
    const asked = [
      `/v1/client/fs/ls/${ID}?path=/`,
      `/v1/client/allocation/${ID}/stats`,
      `/v1/client/stats?node_id=${NodeID}`,
    ];
    const notFound = async (path: string) => {
      const began = performance.now();
      const [status] = await answerOf(path);
      expect([path, status, performance.now() - began < 2_000]).toEqual([path, 404, true]);
    };
    for (const path of asked) await notFound(path);
    expect((await answerOf(`/v1/node/${NodeID}/purge`, 'PUT'))[0]).toBe(200);
    for (const path of asked) await notFound(path);
  });
});
