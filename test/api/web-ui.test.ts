import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shellJob } from '../support/api-client.js';
import { type Answer, BrowserUi, firstOf, framed, type Params, shown } from '../support/browser-ui.js';
import { INT, type Json, NS, STRING, UINT, UUID } from '../support/official-client.js';
import { eventually } from '../support/wait.js';
import { WaybillProcesses } from '../support/waybill-processes.js';
import {
  ALLOCATED,
  ALLOCATION,
  ALLOCATION_STUB,
  DATE,
  DEPLOYMENT,
  listOf,
  mapOf,
  NODE_RESOURCES,
  orNull,
  STATUS_ROW,
  TASK_GROUP,
  TASK_STATE,
} from '../support/web-ui-shapes.js';

/**
 * What the official web UI (1.10.5) sends, page by page, as its adapters put it together, and what its serializers and
 * models take from the answers without asking whether it is there. Its pages themselves are not part of this.
 */

const MS = 1_000_000;

let waybill: WaybillProcesses;
let ui: BrowserUi;
let nodeId: string;

interface JobBody extends Json {
  ID: string;
  TaskGroups: [{ Update?: object; Services?: object[]; Networks?: object[]; Tasks: [Json] }];
}

/** Two instances, a service of Waybill's own, an action; `version` makes it another one. */
function web(version: string): JobBody {
  const job = shellJob('web', 'echo up; exec sleep 600', { count: 2 }) as JobBody;
  const [group] = job.TaskGroups;
  group.Update = {
    HealthCheck: 'task_states',
    MinHealthyTime: 50 * MS,
    HealthyDeadline: 20_000 * MS,
    MaxParallel: 2,
    Canary: 1,
  };
  group.Networks = [{ Mode: 'host', DynamicPorts: [{ Label: 'http' }] }];
  group.Services = [{ Name: 'web', Provider: 'nomad', PortLabel: 'http', Tags: ['a'], Checks: [check] }];
  group.Tasks[0]['Env'] = { VERSION: version };
  group.Tasks[0]['Actions'] = [{ Name: 'greet', Command: '/bin/echo', Args: ['hello'] }];
  return job;
}
const check = { Name: 'tcp', Type: 'tcp', Interval: 1_000 * MS, Timeout: 1_000 * MS };

const HCL = 'job "typed" {\n  group "g" {\n    count = 0\n    task "t" {\n      driver = "raw_exec"\n    }\n  }\n}\n';

const deploymentOf = (job: string): Promise<Answer<Json | null>> => ui.get<Json | null>(`/v1/job/${job}/deployment`);

/** The job page watches the latest deployment. */
function deployed(job: string, version: number, status: string): Promise<Json> {
  return eventually(`version ${version} of ${job} is ${status}`, async () => {
    const { body } = await deploymentOf(job);
    return body?.['JobVersion'] === version && body['Status'] === status && body;
  });
}

async function allocsOf(job: string): Promise<Json[]> {
  return (await ui.get<Json[]>(`/v1/job/${job}/allocations`)).body;
}
async function runningAlloc(job: string): Promise<string> {
  const found = (await allocsOf(job)).find((alloc) => alloc['ClientStatus'] === 'running');
  return String(found?.['ID']);
}

beforeAll(async () => {
  waybill = await WaybillProcesses.startTogether();
  ui = new BrowserUi(waybill.api.url);
  nodeId = await eventually('the node is ready', async () => {
    const { body } = await ui.get<Json[]>('/v1/nodes');
    return body[0]?.['Status'] === 'ready' && String(body[0]['ID']);
  });
  const huge = shellJob('huge', 'true', { type: 'batch' }) as JobBody;
  huge.TaskGroups[0].Tasks[0]['Resources'] = { CPU: 20, MemoryMB: 100_000_000 };
  const batches = { ...shellJob('batches', 'true', { type: 'batch' }), ParameterizedJob: { MetaOptional: ['who'] } };
  const nightly = {
    ...shellJob('nightly', 'true', { type: 'batch' }),
    Periodic: { SpecType: 'cron', Spec: '0 3 * * *' },
  };
  for (const job of [web('1'), huge, batches, nightly]) await ui.post('/v1/jobs', { Job: job });
  await deployed('web', 0, 'successful');
});
afterAll(() => waybill?.stop());

describe('every page', () => {
  it('begins with who asks, what is licensed, which regions there are and who is asked', async () => {
    // Without this accessor the UI believes that access control is on, and hides most of its pages.
    expect((await ui.get('/v1/acl/token/self')).body).toMatchObject({ AccessorID: 'acls-disabled' });
    const license = await ui.fetch('/v1/operator/license');
    expect(await license.json().catch(() => 'the license of nobody')).toBe('the license of nobody');
    expect((await ui.get('/v1/regions')).body).toEqual(['global']);
    expect((await ui.get('/v1/agent/members')).body).toMatchObject({ ServerRegion: 'global' });
    const self = await ui.get<{ config: Json }>('/v1/agent/self');
    expect(self.body.config).toMatchObject({ ACL: { Enabled: false }, UI: { Label: null } });
    expect(self.body.config['Version']).toMatchObject({ Version: STRING, VersionPrerelease: STRING });
  });

  it('a search with a body that has no content type of JSON', async () => {
    const find = async (body: object): Promise<Response> =>
      ui.fetch('/v1/search/fuzzy', { method: 'POST', body: JSON.stringify(body) });
    expect((await find({ Text: 'feature-detection-query', Context: 'namespaces' })).ok).toBe(true);
    const found = (await (await find({ Text: 'we', Context: 'all', Namespace: '*' })).json()) as Json;
    expect(found).toMatchObject({
      Matches: { jobs: [{ ID: 'web', Scope: ['default', 'web'] }], allocs: listOf({ Scope: ['default', UUID] }) },
      Truncations: { jobs: false },
    });
  });

  it('namespaces and node pools, also made and removed', async () => {
    const Capabilities = { DisabledTaskDrivers: null, EnabledTaskDrivers: null };
    const dev = { ID: 'dev', Name: 'dev', Hash: null, Description: null, Quota: null, Meta: null, Capabilities };
    await ui.post('/v1/namespace/dev', { ...dev, NodePoolConfiguration: null });
    await ui.put('/v1/namespace/dev', { ...dev, Description: 'try things', NodePoolConfiguration: null });
    const { body } = await ui.get<Json[]>('/v1/namespaces');
    expect(body.map(({ Name, Description }) => [Name, Description])).toContainEqual(['dev', 'try things']);
    await ui.delete('/v1/namespace/dev');
    const pools = await ui.get<Json[]>('/v1/node/pools');
    expect(pools.body.map(({ Name }) => Name)).toEqual(['all', 'default']);
  });
});

describe('jobs', () => {
  const statuses = (params: Params): Promise<Answer<Json[]>> =>
    ui.get<Json[]>('/v1/jobs/statuses', { namespace: '*', per_page: 25, ...params });

  it('API-185: the list, and what it then watches of the jobs that it shows, also of those that are gone', async () => {
    const { body, index } = await statuses({});
    expect(new Set(body.map(({ ID }) => ID))).toEqual(new Set(['batches', 'huge', 'nightly', 'web']));
    for (const row of body) expect(row).toMatchObject(STATUS_ROW);
    expect(index).toBeGreaterThan(1);
    const jobs = [
      ...body.map(({ ID, Namespace }) => ({ id: ID, namespace: Namespace })),
      { id: 'gone', namespace: 'x' },
    ];
    const named = await ui.post<Json[]>('/v1/jobs/statuses?namespace=*', { jobs, index: 0, namespace: '*' });
    expect(named.body).toHaveLength(4);
    const waiting = ui.post<Json[]>(`/v1/jobs/statuses?index=${named.index}&namespace=*`, { jobs, index: named.index });
    await ui.post('/v1/job/batches/dispatch', { Payload: '', Meta: { who: 'me' } });
    expect((await waiting).index).toBeGreaterThan(named.index);
  });

  it('API-64: pages: on, back by counting with the token, and to the last one', async () => {
    const all = (await statuses({})).body;
    const ids = (rows: readonly Json[]): unknown[] => rows.map(({ ID }) => ID);
    const highest = (rows: readonly Json[]): number => Math.max(...rows.map((row) => Number(row['ModifyIndex'])));
    const first = await statuses({ per_page: 2 });
    const second = await statuses({ per_page: 2, next_token: first.nextToken });
    expect([...ids(first.body), ...ids(second.body)]).toEqual(ids(all));
    // "+cursorAt + 1", where the cursor is the token of this page.
    const before = { next_token: Number(first.nextToken) + 1, per_page: 2, reverse: true };
    const back = await ui.get<Json[]>('/v1/jobs/statuses', before);
    expect(ids(back.body)).toEqual(ids(first.body).toReversed());
    const last = await ui.get<Json[]>('/v1/jobs/statuses', { per_page: 2, reverse: true });
    const lastPage = await statuses({ per_page: 2, next_token: highest(last.body) });
    expect(ids(lastPage.body)).toEqual(ids(all).slice(-2));
  });

  it('API-67: filters of its buttons, of its search box, and the texts by which it corrects a wrong one', async () => {
    const names = async (filter: string): Promise<unknown[]> => (await statuses({ filter })).body.map(({ ID }) => ID);
    expect(await names('Name matches "(?i)WE"')).toEqual(['web']);
    expect(await names('(Type == service or Type == system) and (NodePool == "default")')).toEqual(['web']);
    expect(await names('dc1 in Datacenters')).toEqual([]);
    const wrong = 'failed to read result page: error finding value in datum: /name at part 0: ';
    await expect(names('name == x')).rejects.toThrow(`${wrong}couldn't find key: struct field with name "name"`);
    await expect(names('Name === x')).rejects.toThrow('failed to read filter expression');
  });

  it('API-185: the children of a parent', async () => {
    await ui.post('/v1/job/nightly/periodic/force');
    const child = await eventually('the child is listed', async () => {
      const filter = 'ParentID == "nightly"';
      const { body } = await ui.get<Json[]>('/v1/jobs/statuses', {
        filter,
        namespace: 'default',
        include_children: true,
      });
      return body[0];
    });
    expect(child).toMatchObject(STATUS_ROW);
    const path = encodeURIComponent(String(child['ID']));
    expect((await ui.get(`/v1/job/${path}`)).body).toMatchObject({ ParentID: 'nightly', Status: STRING });
    expect((await ui.get('/v1/job/nightly')).body).toMatchObject({ Periodic: { Spec: '0 3 * * *' } });
    const { body } = await ui.get('/v1/job/batches');
    expect(body['ParameterizedJob']).toMatchObject({
      MetaRequired: orNull([]),
      MetaOptional: ['who'],
      Payload: STRING,
    });
  });
});

describe('a job', () => {
  it('its page: everything that hangs on it', async () => {
    const { body: job } = await ui.get('/v1/job/web');
    expect(job).toMatchObject({
      ID: 'web',
      Namespace: 'default',
      Version: 0,
      Stop: false,
      SubmitTime: NS,
      ParentID: '',
    });
    expect(job).toMatchObject({ TaskGroups: listOf(TASK_GROUP), Periodic: null, ParameterizedJob: null });
    const { body: summary } = await ui.get('/v1/job/web/summary');
    const counts = { Queued: 0, Starting: 0, Running: 2, Complete: 0, Failed: 0, Lost: 0, Unknown: 0 };
    expect(summary).toMatchObject({ JobID: 'web', Summary: { group: counts } });
    for (const alloc of await allocsOf('web'))
      expect(alloc).toMatchObject({ ...ALLOCATION_STUB, TaskStates: mapOf(TASK_STATE) });
    expect((await deploymentOf('web')).body).toMatchObject(DEPLOYMENT);
    expect((await deploymentOf('batches')).body).toBeNull();
    expect((await ui.get('/v1/job/web/deployments')).body).toEqual(listOf(DEPLOYMENT));
    const services = await ui.get<Json[]>('/v1/job/web/services');
    expect(services.body).toHaveLength(2);
    for (const one of services.body)
      expect(one).toMatchObject({
        ID: STRING,
        ServiceName: 'web',
        JobID: 'web',
        AllocID: UUID,
        NodeID: UUID,
        Port: INT,
      });
    expect(services.body[0]).toMatchObject({ Address: STRING, Tags: ['a'], Namespace: 'default' });
    expect((await ui.get('/v1/vars', { prefix: 'nomad/jobs/web' })).body).toEqual([]);
    expect((await ui.get('/v1/vars', { path: 'nomad/jobs' })).body).toEqual([]);
    await expect(ui.get('/v1/job/gone')).rejects.toMatchObject({ status: 404 });
  });

  it('what could not be placed', async () => {
    const { body } = await ui.get<Json[]>('/v1/job/huge/evaluations');
    const group = { CoalescedFailures: INT, NodesEvaluated: 1, NodesExhausted: 1, NodesAvailable: { dc1: 1 } };
    expect(body.find(({ Status }) => Status === 'complete')).toMatchObject({
      JobID: 'huge',
      ModifyIndex: UINT,
      CreateTime: NS,
      ModifyTime: NS,
      Priority: 50,
      FailedTGAllocs: { group: { ...group, DimensionExhausted: { memory: 1 } } },
    });
    expect(body.some(({ Status }) => Status === 'blocked')).toBe(true);
  });

  it('typed in: parsed, planned, run and shown again as it was typed', async () => {
    const { body: Job } = await ui.post('/v1/jobs/parse?namespace=*', { JobHCL: HCL, Canonicalize: true });
    expect(Job).toMatchObject({ Name: 'typed', ID: 'typed' });
    const { body: plan } = await ui.post('/v1/job/typed/plan', { Job, Diff: true });
    expect(plan).toMatchObject({ Diff: { Type: 'Added' }, FailedTGAllocs: {}, Warnings: '' });
    expect(plan['Annotations']).toMatchObject({ PreemptedAllocs: orNull([]) });
    await ui.post('/v1/jobs', { Job, Submission: { Source: HCL, Format: 'hcl2', Variables: '' } });
    const { body: submission } = await ui.get('/v1/job/typed/submission', { version: 0 });
    expect(submission).toMatchObject({ Source: HCL, Format: 'hcl2', Variables: '' });
    await ui.post('/v1/job/typed', { Job: { ...Job, Meta: { a: '1' } }, Submission: { Source: '{}', Format: 'json' } });
    expect((await ui.get('/v1/job/typed')).body).toMatchObject({ Version: 1, Meta: { a: '1' } });
    await expect(ui.post('/v1/jobs/parse?namespace=*', { JobHCL: 'job "x" {' })).rejects.toMatchObject({ status: 400 });
    await ui.delete('/v1/job/typed');
    expect((await ui.get('/v1/job/typed')).body).toMatchObject({ Stop: true });
    await ui.delete('/v1/job/typed?purge=true');
  });

  it('scaled, and what is shown of it', async () => {
    const Message = 'Manually scaled to 3 from the Nomad UI';
    await ui.post('/v1/job/huge/scale', {
      Count: 3,
      Message,
      Target: { Group: 'group' },
      Meta: { Source: 'nomad-ui' },
    });
    const { body } = await ui.get('/v1/job/huge/scale');
    const group = { Desired: 3, Placed: INT, Running: INT, Healthy: INT, Unhealthy: INT };
    expect(body).toMatchObject({ JobID: 'huge', Namespace: 'default', TaskGroups: { group } });
    const { Events } = (body['TaskGroups'] as { group: { Events: Json[] } }).group;
    expect(Events).toMatchObject([{ Time: NS, Count: 3, PreviousCount: 1, Message, Error: false, EvalID: UUID }]);
  });

  it('a canary promoted, its version tagged, compared and reverted', async () => {
    await ui.post('/v1/jobs', { Job: web('2') });
    const canary = await eventually('the canary is healthy', async () => {
      const { body } = await deploymentOf('web');
      const group = (body?.['TaskGroups'] as { group?: Json } | undefined)?.group;
      return body?.['JobVersion'] === 1 && group?.['HealthyAllocs'] === 1 && body;
    });
    const [row] = (await ui.post<Json[]>('/v1/jobs/statuses', { jobs: [{ id: 'web', namespace: 'default' }] })).body;
    expect(row).toMatchObject({ LatestDeployment: { IsActive: true, RequiresPromotion: true } });
    const ID = String(canary['ID']);
    expect((await ui.get(`/v1/deployment/allocations/${ID}`)).body).toHaveLength(1);
    // The UI writes the member so; names of members are read in any case.
    await ui.post(`/v1/deployment/promote/${ID}`, { DeploymentId: ID, All: true });
    await deployed('web', 1, 'successful');
    const tag = {
      Name: 'good',
      Description: 'it works',
      TaggedTime: null,
      VersionNumber: 0,
      JobName: 'web',
      Version: 0,
    };
    await ui.post('/v1/job/web/versions/good/tag', tag);
    interface Versions {
      Versions: Json[];
      Diffs: Json[] | null;
    }
    const plain = await ui.get<Versions>('/v1/job/web/versions');
    expect(plain.body.Versions).toMatchObject([
      { ID: 'web', Version: 1, Stable: true, SubmitTime: NS, VersionTag: null },
      { ID: 'web', Version: 0, Stable: true, SubmitTime: NS, VersionTag: { Name: 'good', Description: 'it works' } },
    ]);
    const { body: compared } = await ui.get<Versions>('/v1/job/web/versions', { diffs: true, diff_version: 1 });
    expect(compared.Versions.map(({ Version }) => Version)).toEqual([1, 0]);
    for (const diff of compared.Diffs ?? [])
      expect(diff).toMatchObject({ Type: STRING, TaskGroups: expect.any(Array) });
    await ui.delete('/v1/job/web/versions/good/tag');
    await ui.post('/v1/job/web/revert', { JobID: 'web', JobVersion: 0 });
    const reverted = await eventually('the deployment of the old version', async () => {
      const { body } = await deploymentOf('web');
      return body?.['JobVersion'] === 2 && body;
    });
    const again = String(reverted['ID']);
    await ui.post(`/v1/deployment/fail/${again}`, { DeploymentId: again });
    await deployed('web', 2, 'failed');
  });
});

describe('an allocation', () => {
  it('its page, with its figures and its checks', async () => {
    const id = await runningAlloc('web');
    const { body } = await ui.get(`/v1/allocation/${id}`);
    expect(body).toMatchObject({ ...ALLOCATION, TaskStates: { task: TASK_STATE }, AllocatedResources: ALLOCATED });
    expect(body['AllocatedResources']).toMatchObject({
      Shared: { Ports: [{ Label: 'http', Value: INT, HostIP: STRING }] },
    });
    expect(body['Job']).toMatchObject({ Version: UINT, TaskGroups: listOf(TASK_GROUP) });
    const stats = await ui.get(`/v1/client/allocation/${id}/stats`);
    const ResourceUsage = { CpuStats: { TotalTicks: expect.any(Number) }, MemoryStats: { RSS: INT, Usage: INT } };
    expect(stats.body).toMatchObject({
      ResourceUsage,
      Timestamp: NS,
      Tasks: { task: { ResourceUsage, Timestamp: NS } },
    });
    const checks = await eventually('the check has run', async () => {
      const { body: found } = await ui.get<Record<string, Json>>(`/v1/client/allocation/${id}/checks`);
      return Object.values(found)[0];
    });
    expect(checks).toMatchObject({ Check: 'tcp', Service: 'web', Status: 'failure', Timestamp: INT, Output: STRING });
    await expect(ui.get(`/v1/allocation/${nodeId}`)).rejects.toMatchObject({ status: 404, detail: 'alloc not found' });
  });

  it('its files and its log, read as streams of frames with nothing between them', async () => {
    const id = await runningAlloc('web');
    const path = (at: string): Params => ({ path: at });
    expect((await ui.get(`/v1/client/fs/stat/${id}`, path('/'))).body).toMatchObject({ IsDir: true });
    const { body: entries } = await ui.get<Json[]>(`/v1/client/fs/ls/${id}`, path('alloc/logs'));
    const file = { IsDir: false, Size: INT, ModTime: DATE, ContentType: STRING };
    expect(entries.slice(0, 2)).toMatchObject([
      { ...file, Name: 'task.stderr.0' },
      { ...file, Name: 'task.stdout.0' },
    ]);
    const output = 'path=alloc%2Flogs%2Ftask.stdout.0';
    for (const way of ['cat', 'readat']) {
      const answer = await ui.fetch(`/v1/client/fs/${way}/${id}?limit=50000&offset=0&origin=start&${output}`);
      expect(await answer.text()).toBe('up\n');
    }
    const head = await ui.fetch(`/v1/client/fs/logs/${id}?offset=0&origin=start&task=task&type=stdout`);
    expect(framed(await head.text())).toBe('up\n');
    const followed = await ui.fetch(
      `/v1/client/fs/logs/${id}?follow=true&offset=50000&origin=end&task=task&type=stdout`,
    );
    expect(followed.headers.get('access-control-allow-origin')).toBe('*');
    expect(framed(await firstOf(followed))).toBe('up\n');
  });

  it('AG-320: a terminal, and an action, by sockets that introduce themselves', async () => {
    const id = await runningAlloc('web');
    const command = encodeURIComponent('["/bin/sh"]');
    const terminal = await ui.socket(
      `/v1/client/allocation/${id}/exec?task=task&tty=true&ws_handshake=true&command=${command}`,
    );
    terminal.send({ version: 1, auth_token: '' });
    terminal.send({ tty_size: { width: 80, height: 24 } });
    terminal.send({});
    terminal.send({ stdin: { data: Buffer.from('echo $((6*7))\n').toString('base64') } });
    await eventually('the shell answers', () => shown(terminal).includes('42'));
    terminal.raw.terminate();
    const query = `namespace=default&action=greet&allocID=${id}&task=task&tty=true&ws_handshake=true`;
    const action = await ui.socket(`/v1/job/web/action?${query}`);
    action.send({ version: 1, auth_token: '' });
    action.send({ tty_size: { width: 250, height: 100 } });
    await eventually('the action has run', () => shown(action).includes('hello') && action.isGone);
  });

  it('restarted and stopped, with an empty body', async () => {
    const id = await runningAlloc('web');
    await ui.put(`/v1/client/allocation/${id}/restart`, { TaskName: 'task' });
    await ui.put(`/v1/client/allocation/${id}/restart`, { AllTasks: true });
    expect((await ui.post(`/v1/allocation/${id}/stop`)).body).toMatchObject({ EvalID: UUID });
  });
});

describe('machines, servers and the rest', () => {
  it('the machines, one of them, and its figures', async () => {
    const { body } = await ui.get<Json[]>('/v1/nodes', { resources: true });
    expect(body[0]).toMatchObject({ ID: nodeId, Name: STRING, Datacenter: 'dc1', Drain: false, Version: STRING });
    expect(body[0]).toMatchObject({ NodeResources: NODE_RESOURCES, SchedulingEligibility: 'eligible' });
    const { body: node } = await ui.get(`/v1/node/${nodeId}`);
    expect(node).toMatchObject({
      HTTPAddr: STRING,
      Attributes: mapOf(STRING),
      Meta: {},
      NodeResources: NODE_RESOURCES,
    });
    expect(node).toMatchObject({
      ReservedResources: NODE_RESOURCES,
      HostVolumes: mapOf({ Name: STRING, Path: STRING }),
    });
    expect(node['Drivers']).toMatchObject({ raw_exec: { Detected: true, Healthy: true, UpdateTime: DATE } });
    expect(node['Events']).toMatchObject([{ Message: STRING, Subsystem: STRING, Timestamp: DATE }]);
    expect((await ui.get(`/v1/node/${nodeId}/allocations`)).body).toEqual(listOf(ALLOCATION));
    const stats = await ui.get('/v1/client/stats', { node_id: nodeId });
    expect(stats.body).toMatchObject({ Timestamp: NS, CPUTicksConsumed: expect.any(Number), Memory: { Used: INT } });
  });

  it('metadata of a machine, eligibility, a drain and the end of it', async () => {
    const meta = (Meta: object): Promise<Answer<Json>> => ui.post(`/v1/client/metadata?node_id=${nodeId}`, { Meta });
    expect((await meta({ rack: 'r1' })).body).toMatchObject({ Meta: { rack: 'r1' } });
    expect((await meta({ rack: null })).body['Meta']).toEqual({});
    for (const Eligibility of ['ineligible', 'eligible']) {
      await ui.post(`/v1/node/${nodeId}/eligibility`, { NodeID: nodeId, Eligibility });
      expect((await ui.get(`/v1/node/${nodeId}`)).body).toMatchObject({ SchedulingEligibility: Eligibility });
    }
    // `huge` has nothing to move, `web` has: the drain is under way for a moment at least.
    const DrainSpec = { Deadline: 3_600_000 * MS, IgnoreSystemJobs: true };
    await ui.post(`/v1/node/${nodeId}/drain`, { NodeID: nodeId, DrainSpec });
    const { body: draining } = await ui.get(`/v1/node/${nodeId}`);
    expect(draining).toMatchObject({ Drain: true, DrainStrategy: { ...DrainSpec, ForceDeadline: DATE } });
    await ui.post(`/v1/node/${nodeId}/drain`, { NodeID: nodeId, DrainSpec: null });
    expect((await ui.get(`/v1/node/${nodeId}`)).body).toMatchObject({ Drain: false, DrainStrategy: null });
    await ui.post(`/v1/node/${nodeId}/eligibility`, { NodeID: nodeId, Eligibility: 'eligible' });
  });

  it('the topology: all allocations with what they were given, without their tasks', async () => {
    const { body } = await ui.get<Json[]>('/v1/allocations', { resources: true, task_states: false, namespace: '*' });
    expect(body.length).toBeGreaterThan(2);
    for (const alloc of body) expect(alloc).toMatchObject({ ...ALLOCATION_STUB, AllocatedResources: ALLOCATED });
  });

  it('the servers, the leader among them, and what they log', async () => {
    const { body } = await ui.get<{ Members: { Name: string; Addr: string; Tags: Record<string, string> }[] }>(
      '/v1/agent/members',
    );
    const [server] = body.Members;
    expect(server).toMatchObject({ Status: 'alive', Port: INT, Tags: { region: 'global', dc: 'dc1', build: STRING } });
    const leader = await ui.get<string>('/v1/status/leader', { region: 'global' });
    expect(leader.body).toBe(`${server?.Addr}:${server?.Tags['port']}`);
    for (const who of [`server_id=${server?.Name}&region=global`, `client_id=${nodeId}`]) {
      const log = await ui.fetch(`/v1/agent/monitor?follow=true&log_level=trace&offset=50000&origin=end&${who}`);
      expect(log.ok).toBe(true);
      expect(await firstOf(log)).toMatch(/^\{.*\}$/);
    }
  });

  it('evaluations, with parameters that are empty, in pages, and with those that belong to one', async () => {
    const list = (more: Params): Promise<Answer<Json[]>> =>
      ui.get<Json[]>('/v1/evaluations', {
        namespace: '*',
        reverse: true,
        per_page: 2,
        next_token: null,
        filter: null,
        ...more,
      });
    const first = await list({});
    expect(first.body).toHaveLength(2);
    const second = await list({ next_token: first.nextToken });
    expect(Number(first.body[1]?.['CreateIndex'])).toBeGreaterThanOrEqual(Number(second.body[0]?.['CreateIndex']));
    const searched = `(ID contains "huge" or JobID contains "huge" or NodeID contains "huge" or TriggeredBy contains "huge")`;
    const filter = `${searched} and NodeID is empty and TriggeredBy contains "job-register" and Status contains "complete"`;
    const [found] = (await list({ filter })).body;
    expect(found).toMatchObject({ JobID: 'huge', TriggeredBy: 'job-register', Namespace: 'default', Type: 'batch' });
    const { body: one } = await ui.get(`/v1/evaluation/${String(found?.['ID'])}`, {
      namespace: 'default',
      related: true,
    });
    expect(one['RelatedEvals']).toMatchObject([{ ID: one['BlockedEval'], PreviousEval: one['ID'], CreateTime: NS }]);
  });

  it('storage: the lists, and a volume of a machine', async () => {
    const RequestedCapabilities = [{ AccessMode: 'single-node-writer', AttachmentMode: 'file-system' }];
    const Volume = { Name: 'notes', PluginID: 'mkdir', RequestedCapabilities };
    await ui.put('/v1/volume/host/create', { Volume });
    for (const type of ['csi', 'host']) {
      const { body } = await ui.get<Json[]>('/v1/volumes', { type, namespace: '*' });
      expect(body).toHaveLength(type === 'host' ? 1 : 0);
      for (const one of body)
        expect(one).toMatchObject({
          ID: UUID,
          Name: 'notes',
          Namespace: 'default',
          NodeID: nodeId,
          PluginID: 'mkdir',
          State: STRING,
        });
    }
    const [{ ID } = { ID: '' }] = (await ui.get<{ ID: string }[]>('/v1/volumes', { type: 'host' })).body;
    const { body: volume } = await ui.get(`/v1/volume/host/${ID}`);
    expect(volume).toMatchObject({
      CreateTime: NS,
      ModifyTime: NS,
      CapacityBytes: INT,
      HostPath: STRING,
    });
    expect(volume).toMatchObject({ RequestedCapabilities });
    expect((await ui.get('/v1/plugins', { type: 'csi' })).body).toEqual([]);
  });
});
