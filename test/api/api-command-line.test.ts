import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ApiClient, shellJob } from '../support/api-client.js';
import { DescribedAnswers } from '../support/described-answers.js';
import { BOOL, INT, type Json, NS, OfficialClient, STRING, UINT, UUID } from '../support/official-client.js';
import { eventually } from '../support/wait.js';
import { WaybillProcesses } from '../support/waybill-processes.js';

/**
 * What the official command line sends, command by command, and every field of the answers that it dereferences
 * (http-api.md section 5): a missing one makes it crash, hang or print nonsense. Every answer is also held against the
 * description that the API serves of itself, type by type: the client's decoder is strict (API-711, API-715).
 */

const MS = 1_000_000;
const UPDATE = { HealthCheck: 'task_states', MinHealthyTime: 50 * MS, HealthyDeadline: 20_000 * MS };

let waybill: WaybillProcesses;
let client: OfficialClient;
let described: DescribedAnswers;

beforeAll(async () => {
  waybill = await WaybillProcesses.startTogether();
  described = await DescribedAnswers.of(new StrictDescription(waybill.api.url));
  client = new OfficialClient(waybill.api.url, described.check);
  await eventually('the node is ready', async () => {
    const { body } = await client.get<Json[]>('/v1/nodes');
    return body[0]?.['Status'] === 'ready';
  });
  await runJob(service('web', 2));
});
afterAll(() => waybill?.stop());

/** The description with every object closed, so that an answer cannot have a member that nobody knows of (API-712). */
class StrictDescription extends ApiClient {
  override async get<T>(path: string): Promise<T> {
    const close = (_: string, one: unknown): unknown =>
      typeof one === 'object' && one !== null && 'properties' in one && 'required' in one
        ? { ...one, additionalProperties: false }
        : one;
    return JSON.parse(JSON.stringify(await super.get(path)), close) as T;
  }
}

interface JobBody {
  ID: string;
  TaskGroups: [{ Name: string; Count: number; Update?: object; Tasks: [{ Env?: object; Resources: object }] }];
}

function service(id: string, count = 1, env: Record<string, string> = {}, update: object = {}): JobBody {
  const job = shellJob(id, 'exec sleep 600', { count }) as JobBody;
  job.TaskGroups[0].Update = { ...UPDATE, MaxParallel: count, ...update };
  job.TaskGroups[0].Tasks[0].Env = env;
  return job;
}

/** `job run`: API-510. */
async function runJob(job: unknown, more: object = {}): Promise<{ evalId: string; deploymentId: string }> {
  const Submission = { Source: 'job "x" {}', Format: 'hcl2', VariableFlags: {}, Variables: '' };
  const { body, index } = await client.put('/v1/jobs', { Job: job, Submission, ...more });
  expect(body).toMatchObject({ EvalID: UUID, JobModifyIndex: UINT, Warnings: STRING });
  expect(index).toBe(body['Index']);
  const evaluation = await client.monitor(String(body['EvalID']));
  expect(evaluation).toMatchObject({ Status: 'complete' });
  const deploymentId = (evaluation['DeploymentID'] ?? '') as string;
  if (deploymentId) expect(await client.monitorDeployment(deploymentId)).toMatchObject({ Status: 'successful' });
  return { evalId: String(body['EvalID']), deploymentId };
}

const stubsOf = async (job: string): Promise<Json[]> => {
  const { body } = await client.get<Json[]>(`/v1/job/${job}/allocations`, { all: false });
  return body;
};

/** One that runs. */
const runningAlloc = (job: string): Promise<Json> =>
  eventually(`an allocation of ${job} runs`, async () => {
    const running = (stub: Json) => stub['ClientStatus'] === 'running' && stub['DesiredStatus'] === 'run';
    return (await stubsOf(job)).find(running);
  });

describe('jobs', () => {
  it('API-503, API-504, API-510, API-600: job run, followed through its evaluation and its deployment', async () => {
    const { evalId, deploymentId } = await runJob(service('run'));
    expect(deploymentId).not.toBe('');
    const [alloc] = await client.allocationsOf(evalId);
    expect(alloc).toMatchObject({ ClientStatus: 'running' });
  });

  it('API-503, API-510: what could not be placed is said by the evaluation, with the blocked one that waits', async () => {
    const job = service('huge');
    job.TaskGroups[0].Tasks[0].Resources = { CPU: 20, MemoryMB: 100_000_000 };
    const { body } = await client.put('/v1/jobs', { Job: job });
    const ended = await client.monitor(String(body['EvalID']));
    expect(ended).toMatchObject({
      Status: 'complete',
      BlockedEval: UUID,
      FailedTGAllocs: {
        group: {
          NodesEvaluated: 1,
          NodesExhausted: 1,
          DimensionExhausted: { memory: 1 },
          NodesAvailable: { dc1: 1 },
          CoalescedFailures: INT,
        },
      },
    });
  });

  it('API-108, API-510: job run -check-index, the text it matches when the job has moved on', async () => {
    const { body: job } = await client.get('/v1/job/web');
    const stale = Number(job['JobModifyIndex']) - 1;
    const refused = client.put('/v1/jobs', { Job: service('web', 2), EnforceIndex: true, JobModifyIndex: stale });
    await expect(refused).rejects.toThrow(
      `Unexpected response code: 409 (Enforcing job modify index ${stale}: job exists with conflicting job modify index: ${Number(job['JobModifyIndex'])})`,
    );
  });

  it('API-104, API-510, SC-13: job run of a parameterized job has no evaluation to follow', async () => {
    const job = { ...shellJob('batches', 'true', { type: 'batch' }), ParameterizedJob: { MetaOptional: ['who'] } };
    const { body } = await client.put('/v1/jobs', { Job: job });
    expect(body).toMatchObject({ EvalID: '', EvalCreateIndex: 0, JobModifyIndex: UINT, Warnings: '' });
  });

  it('API-511: job plan', async () => {
    const fresh = await client.put('/v1/job/planned/plan', { Job: service('planned', 2), Diff: true });
    expect(fresh.body).toMatchObject({
      Diff: { Type: 'Added', ID: 'planned' },
      Annotations: { DesiredTGUpdates: { group: { Place: 2, Stop: 0, DestructiveUpdate: 0 } } },
      FailedTGAllocs: {},
      JobModifyIndex: 0,
      Warnings: '',
      NextPeriodicLaunch: null,
    });
    const changed = await client.put('/v1/job/web/plan', { Job: service('web', 2, { A: '1' }), Diff: true });
    expect(changed.body).toMatchObject({
      Diff: { Type: 'Edited', TaskGroups: [{ Type: 'Edited', Name: 'group', Updates: expect.any(Object) }] },
      Annotations: { DesiredTGUpdates: { group: { DestructiveUpdate: 2 } } },
      JobModifyIndex: UINT,
    });
    const same = await client.put('/v1/job/web/plan', { Job: service('web', 2), Diff: true });
    expect(same.body).toMatchObject({ Diff: { Type: 'None' } });
  });

  it('API-512: job status, the list', async () => {
    const { body, index } = await client.get<Json[]>('/v1/jobs');
    expect(index).toBeGreaterThan(0);
    expect(body.find(({ ID }) => ID === 'web')).toMatchObject({
      Type: 'service',
      Priority: 50,
      Status: 'running',
      SubmitTime: NS,
      Periodic: false,
      ParameterizedJob: false,
      Stop: false,
      JobSummary: { JobID: 'web', Summary: { group: { Running: 2, Queued: 0 } } },
    });
    expect(body.find(({ ID }) => ID === 'batches')).toMatchObject({ ParameterizedJob: true });
  });

  it('API-500, API-502, API-513: job status of one', async () => {
    const { ID } = await client.findJob('web');
    const { body: job } = await client.get(`/v1/job/${String(ID)}`);
    expect(job).toMatchObject({
      ID: 'web',
      Name: 'web',
      SubmitTime: NS,
      Type: 'service',
      Priority: 50,
      Namespace: 'default',
      Status: 'running',
      Stop: false,
      Datacenters: ['*'],
      NodePool: 'default',
      Version: UINT,
    });
    const [alloc] = (await client.get<Json[]>('/v1/job/web/allocations', { all: false })).body;
    expect(alloc).toMatchObject({
      ID: UUID,
      NodeID: UUID,
      TaskGroup: 'group',
      JobVersion: UINT,
      DesiredStatus: 'run',
      ClientStatus: 'running',
      CreateTime: NS,
      ModifyTime: NS,
    });
    const evaluations = (await client.get<Json[]>('/v1/job/web/evaluations')).body;
    expect(evaluations[0]).toMatchObject({ ID: UUID, Priority: 50, TriggeredBy: 'job-register', Status: 'complete' });
    expect((await client.get('/v1/job/web/deployment')).body).toMatchObject({ Status: 'successful', TaskGroups: {} });
    expect((await client.get('/v1/job/web/summary')).body).toMatchObject({
      JobID: 'web',
      Namespace: 'default',
      Summary: { group: { Queued: 0, Complete: INT, Failed: INT, Running: 2, Starting: 0, Lost: 0, Unknown: 0 } },
      Children: { Pending: 0, Running: 0, Dead: 0 },
    });
    await client.uiHint();
  });

  it('API-513: job status of a parameterized job counts its children', async () => {
    expect((await client.get('/v1/job/batches/summary')).body).toMatchObject({
      Children: { Pending: INT, Running: INT, Dead: INT },
    });
    const { body } = await client.get<Json[]>('/v1/jobs', { prefix: 'batches/dispatch-' });
    expect(body).toEqual([]);
  });

  it('API-517, API-519: job history with differences, and job inspect with its source', async () => {
    await runJob(service('history'));
    await runJob(service('history', 1, { A: '1' }));
    await client.findJob('history');
    const { body } = await client.get('/v1/job/history/versions', { diffs: true });
    const versions = body['Versions'] as Json[];
    expect(versions.map(({ Version }) => Version)).toEqual([1, 0]);
    for (const version of versions)
      expect(version).toMatchObject({ Stable: BOOL, SubmitTime: NS, Version: UINT, VersionTag: null });
    expect(body['Diffs']).toEqual([expect.objectContaining({ Type: 'Edited' })]);
    const source = await client.get('/v1/job/history/submission', { version: 1 });
    expect(source.body).toMatchObject({ Source: 'job "x" {}', Format: 'hcl2', Version: 1, JobID: 'history' });
  });

  it('API-518: job revert, and the version it makes is followed', async () => {
    await runJob(service('back'));
    await runJob(service('back', 1, { A: '1' }));
    await client.findJob('back');
    const { body } = await client.put('/v1/job/back/revert', { JobID: 'back', JobVersion: 0 });
    expect(body).toMatchObject({ EvalID: UUID });
    await client.monitor(String(body['EvalID']));
    expect((await client.get('/v1/job/back')).body).toMatchObject({ Version: 2 });
  });

  it('API-166, API-518: job tag, and revert to a tag by way of the versions', async () => {
    const { body } = await client.put('/v1/job/web/versions/good/tag', { Version: 0, Description: 'it works' });
    expect(body).toMatchObject({ Name: 'good', Description: 'it works', TaggedTime: NS });
    const versions = (await client.get('/v1/job/web/versions', { diffs: false })).body['Versions'] as Json[];
    expect(versions[0]).toMatchObject({ Version: 0, VersionTag: { Name: 'good', TaggedTime: NS } });
    await client.delete('/v1/job/web/versions/good/tag');
  });

  it('API-520: job eval', async () => {
    await client.findJob('web');
    const { body } = await client.put('/v1/job/web/evaluate', {
      JobID: 'web',
      EvalOptions: { ForceReschedule: false },
    });
    expect(await client.monitor(String(body['EvalID']))).toMatchObject({ Status: 'complete' });
  });

  it('API-521: job scale', async () => {
    await runJob(service('scaled'));
    await client.findJob('scaled');
    const status = await client.get('/v1/job/scaled/scale');
    expect(status.body).toMatchObject({
      JobID: 'scaled',
      JobStopped: false,
      TaskGroups: { group: { Desired: 1, Placed: 1, Running: 1, Healthy: 1, Unhealthy: 0, Events: null } },
    });
    const { body } = await client.put('/v1/job/scaled/scale', {
      Count: 2,
      Target: { Job: 'scaled', Group: 'group' },
      Message: 'submitted using the CLI',
    });
    expect(body).toMatchObject({ EvalID: UUID, EvalCreateIndex: UINT, JobModifyIndex: UINT });
    expect((await client.get('/v1/job/scaled')).body).toMatchObject({ TaskGroups: [{ Count: 2 }] });
    await client.monitor(String(body['EvalID']));
    expect((await client.get('/v1/job/scaled/scale')).body).toMatchObject({
      TaskGroups: { group: { Events: [{ Count: 2, PreviousCount: 1, Message: 'submitted using the CLI', Time: NS }] } },
    });
  });

  it('API-522: job promote of a canary', async () => {
    await runJob(service('canary'));
    const canaries = service('canary', 1, { A: '1' }, { Canary: 1 });
    const { body } = await client.put('/v1/jobs', { Job: canaries });
    await client.monitor(String(body['EvalID']));
    await client.findJob('canary');
    const deployment = await eventually('the canary is healthy', async () => {
      const { body: found } = await client.get<Json & { TaskGroups: Record<string, Json> }>(
        '/v1/job/canary/deployment',
      );
      return found.TaskGroups['group']?.['HealthyAllocs'] === 1 && found;
    });
    expect(deployment).toMatchObject({ TaskGroups: { group: { DesiredCanaries: 1, PlacedCanaries: [UUID] } } });
    const id = String(deployment['ID']);
    const promoted = await client.put(`/v1/deployment/promote/${id}`, { DeploymentID: id, All: true });
    expect(promoted.body).toMatchObject({ EvalID: UUID, EvalCreateIndex: UINT, DeploymentModifyIndex: UINT });
    expect(await client.monitorDeployment(id)).toMatchObject({ Status: 'successful' });
  });

  it('API-522: job promote where nothing was ever deployed', async () => {
    expect((await client.get('/v1/job/batches/deployment')).body).toBeNull();
  });

  it('API-523, API-640: job dispatch finds its job by filter, and a retry finds the first child', async () => {
    const filter = 'ParentID == "" and ParameterizedJob is not nil';
    const { body: found } = await client.get<Json[]>('/v1/jobs', { prefix: 'batch', per_page: 20, filter });
    expect(found.map(({ ID }) => ID)).toEqual(['batches']);
    const query = { idempotency_token: 'once' };
    const { body } = await client.put('/v1/job/batches/dispatch', { JobID: 'batches', Meta: { who: 'me' } }, query);
    expect(body).toMatchObject({
      DispatchedJobID: expect.stringMatching(/^batches\/dispatch-\d+-[0-9a-f]{8}$/) as unknown,
      EvalID: UUID,
      JobCreateIndex: UINT,
    });
    expect(await client.monitor(String(body['EvalID']))).toMatchObject({ Status: 'complete' });
    const again = await client.put('/v1/job/batches/dispatch', { JobID: 'batches', Meta: { who: 'me' } }, query);
    expect(again.body).toMatchObject({ DispatchedJobID: body['DispatchedJobID'], EvalID: '' });
  });

  it('API-71, API-523: the text that makes job dispatch ask again without a filter', async () => {
    const asked = client.get('/v1/jobs', { filter: 'ParentID ==' });
    await expect(asked).rejects.toThrow('failed to create result paginator');
  });

  it('API-514: job stop, followed until it is done; a stopped parameterized job has nothing to follow', async () => {
    await runJob(service('ended'));
    await client.findJob('ended');
    const flags = { purge: false, global: false, eval_priority: 0, no_shutdown_delay: false };
    const { body } = await client.delete('/v1/job/ended', flags);
    expect(await client.monitor(String(body['EvalID']))).toMatchObject({ TriggeredBy: 'job-deregister' });
    expect((await client.get('/v1/job/ended')).body).toMatchObject({ Stop: true });
    expect((await client.delete('/v1/job/nobody', flags)).body).toMatchObject({ EvalID: '' });
  });
});

describe('job restart', () => {
  it('API-515: in place, allocation by allocation', async () => {
    await client.findJob('web');
    await client.get('/v1/job/web');
    const versions = (await client.get('/v1/job/web/versions', { diffs: false })).body['Versions'] as Json[];
    const { body: allocs } = await client.get<Json[]>('/v1/job/web/allocations', { all: true });
    for (const alloc of allocs) {
      expect(versions.map(({ Version }) => Version)).toContain(alloc['JobVersion']);
      expect(alloc).toMatchObject({ TaskGroup: 'group', NodeID: UUID, NextAllocation: '', TaskStates: { task: {} } });
      const { body: deployments } = await client.get<Json[]>('/v1/job/web/deployments', { all: true });
      expect(deployments.every(({ Status }) => Status === 'successful')).toBe(true);
      const id = String(alloc['ID']);
      const { body } = await client.put(`/v1/client/allocation/${id}/restart`, { TaskName: '', AllTasks: false });
      expect(body).toMatchObject({ Index: UINT });
      const restarted = (await client.get(`/v1/allocation/${id}`)).body;
      expect(restarted).toMatchObject({ TaskStates: { task: { Restarts: INT, State: STRING } } });
    }
  });

  it('API-516: by replacement: blocked reads of the old allocation lead to the new one', async () => {
    await runJob(service('moved'));
    const alloc = await runningAlloc('moved');
    const stopped = await client.put(`/v1/allocation/${String(alloc['ID'])}/stop`);
    expect(stopped.body).toMatchObject({ EvalID: UUID });
    expect(stopped.index).toBeGreaterThan(0);
    const replacement = await follow(String(alloc['ID']));
    expect(replacement['ID']).not.toBe(alloc['ID']);
    const evaluations = await client.get<Json[]>('/v1/job/moved/evaluations', { index: stopped.index - 1 });
    expect(evaluations.index).toBeGreaterThanOrEqual(stopped.index);
    expect(evaluations.body.some(({ Status }) => Status === 'blocked')).toBe(false);
  });

  /** As the command does: from one allocation to the one after it, until another than the first runs. */
  async function follow(first: string, id = first, index = 1): Promise<Json> {
    const answer = await client.get(`/v1/allocation/${id}`, { index, wait: '5000ms' });
    const next = answer.body['NextAllocation'];
    if (typeof next === 'string' && next !== '') return follow(first, next);
    if (id !== first && answer.body['ClientStatus'] === 'running') return answer.body;
    return follow(first, id, answer.index);
  }
});

describe('allocations', () => {
  it('API-501, API-524, API-710: alloc status', async () => {
    const id = String((await runningAlloc('web'))['ID']);
    const alloc = await client.findByPrefix('allocation', id);
    expect(alloc).toMatchObject({
      ID: id,
      EvalID: UUID,
      Name: STRING,
      NodeID: UUID,
      NodeName: 'test-node',
      Job: { ID: 'web', Version: UINT, Type: 'service', TaskGroups: [{ Name: 'group', Tasks: [{ Name: 'task' }] }] },
      TaskGroup: 'group',
      TaskStates: { task: { State: 'running', Events: expect.any(Array) as unknown, Failed: false } },
      AllocatedResources: {
        Shared: { DiskMB: INT },
        Tasks: { task: { Cpu: { CpuShares: 20 }, Memory: { MemoryMB: 16 } } },
      },
      Resources: { CPU: 20, MemoryMB: 16, DiskMB: INT },
      Metrics: { NodesEvaluated: INT, NodesAvailable: { dc1: 1 }, AllocationTime: INT },
      DeploymentStatus: { Healthy: true },
      CreateTime: NS,
      ModifyTime: NS,
    });
    const events = (alloc as { TaskStates: { task: { Events: Json[] } } }).TaskStates.task.Events;
    for (const event of events) expect(event).toMatchObject({ Type: STRING, Time: NS, DisplayMessage: STRING });
    expect((await client.get(`/v1/client/allocation/${id}/checks`)).body).toEqual({});
    expect((await client.get(`/v1/client/allocation/${id}/stats`)).body).toMatchObject({
      ResourceUsage: {
        MemoryStats: expect.any(Object),
        CpuStats: { Percent: expect.any(Number), TotalTicks: expect.any(Number) },
      },
      Tasks: { task: { ResourceUsage: { MemoryStats: expect.any(Object), CpuStats: expect.any(Object) } } },
      Timestamp: NS,
    });
    await client.uiHint();
  });

  it('API-525, API-526: alloc logs and alloc fs', async () => {
    const { body } = await client.put('/v1/jobs', { Job: shellJob('chatty', 'echo hello; exec sleep 600') });
    await client.monitor(String(body['EvalID']));
    const id = String((await runningAlloc('chatty'))['ID']);
    const alloc = await client.findByPrefix('allocation', id);
    expect((await client.get(`/v1/node/${String(alloc['NodeID'])}`)).body).toMatchObject({ HTTPAddr: STRING });
    const follow = { follow: false, task: 'task', type: 'stdout', origin: 'start', offset: 0 };
    await eventually('the line is there', async () => {
      const { body: frame } = await client.get(`/v1/client/fs/logs/${id}`, follow);
      return Buffer.from(String(frame['Data']), 'base64').toString() === 'hello\n';
    });
    expect((await client.get(`/v1/client/fs/stat/${id}`, { path: '/' })).body).toMatchObject({
      IsDir: true,
      Size: INT,
      FileMode: expect.stringMatching(/^d[rwx-]{9}$/) as unknown,
      ModTime: STRING,
    });
    const { body: files } = await client.get<Json[]>(`/v1/client/fs/ls/${id}`, { path: '/' });
    expect(files.map(({ Name }) => Name)).toEqual(expect.arrayContaining(['alloc', 'task']));
    const cat = await fetch(`${waybill.api.url}/v1/client/fs/cat/${id}?path=alloc/logs/task.stdout.0`);
    expect(await cat.text()).toBe('hello\n');
  });

  it('API-528: alloc restart and alloc signal', async () => {
    const id = String((await runningAlloc('chatty'))['ID']);
    await client.findByPrefix('allocation', id);
    const restarted = await client.put(`/v1/client/allocation/${id}/restart`, { TaskName: '', AllTasks: false });
    expect(restarted.body).toEqual({ Index: 0 });
    await eventually('the task runs again', async () => {
      const { TaskStates } = (await client.get<{ TaskStates: { task: Json } }>(`/v1/allocation/${id}`)).body;
      return TaskStates.task['State'] === 'running' && TaskStates.task['Restarts'] === 1;
    });
    const signalled = await client.put(`/v1/client/allocation/${id}/signal`, { Task: '', Signal: 'SIGCONT' });
    expect(signalled.body).toEqual({ Index: 0 });
  });

  it('API-529: alloc stop, followed until it is replaced', async () => {
    const id = String((await runningAlloc('chatty'))['ID']);
    await client.findByPrefix('allocation', id);
    const { body } = await client.put(`/v1/allocation/${id}/stop`);
    expect(await client.monitor(String(body['EvalID']))).toMatchObject({ TriggeredBy: 'alloc-stop' });
  });
});

describe('nodes', () => {
  const nodeId = async (): Promise<string> => String((await client.get<Json[]>('/v1/nodes')).body[0]?.['ID']);

  it('API-530: node status, the list', async () => {
    const { body } = await client.get<Json[]>('/v1/nodes', { os: true });
    expect(body).toEqual([
      expect.objectContaining({
        ID: UUID,
        Datacenter: 'dc1',
        Name: 'test-node',
        NodePool: 'default',
        NodeClass: STRING,
        Version: expect.stringMatching(/^\d+\.\d+\.\d+/) as unknown,
        Address: STRING,
        Drain: false,
        SchedulingEligibility: 'eligible',
        Status: 'ready',
        Attributes: { 'os.name': STRING },
        Drivers: expect.any(Object) as unknown,
      }),
    ]);
  });

  it('API-531, API-710: node status of one', async () => {
    const node = await client.findByPrefix('node', await nodeId());
    const id = String(node['ID']);
    expect(node).toMatchObject({
      NodeResources: {
        Cpu: { CpuShares: UINT, TotalCpuCores: UINT },
        Memory: { MemoryMB: UINT },
        Disk: { DiskMB: UINT },
      },
      ReservedResources: { Cpu: { CpuShares: UINT }, Memory: { MemoryMB: UINT }, Disk: { DiskMB: UINT } },
      Drivers: { raw_exec: { Detected: true, Healthy: true } },
      Events: expect.any(Array) as unknown,
      DrainStrategy: null,
      StatusUpdatedAt: INT,
      Drain: false,
      SecretID: '',
    });
    expect(node).toHaveProperty('HostVolumes');
    const { body: allocs, index } = await client.get<Json[]>(`/v1/node/${id}/allocations`);
    expect(index).toBeGreaterThan(0);
    for (const alloc of allocs)
      expect(alloc).toMatchObject({
        Resources: { CPU: INT, MemoryMB: INT, DiskMB: INT },
        Job: { Version: UINT, TaskGroups: expect.any(Array) as unknown },
      });
    expect((await client.get('/v1/client/stats', { node_id: id })).body).toMatchObject({
      Memory: { Total: UINT, Available: UINT, Used: UINT, Free: UINT },
      CPU: expect.any(Array) as unknown,
      CPUTicksConsumed: expect.any(Number) as unknown,
      DiskStats: expect.any(Array) as unknown,
      Uptime: UINT,
    });
  });

  it('API-533: node eligibility there and back', async () => {
    const id = await nodeId();
    await client.findByPrefix('node', id);
    const off = await client.put(`/v1/node/${id}/eligibility`, { NodeID: id, Eligibility: 'ineligible' });
    expect(off.body).toMatchObject({ NodeModifyIndex: UINT, EvalIDs: null, EvalCreateIndex: 0 });
    const on = await client.put(`/v1/node/${id}/eligibility`, { NodeID: id, Eligibility: 'eligible' });
    expect(on.body).toMatchObject({ NodeModifyIndex: UINT });
  });

  it('API-532: node drain, followed until everything has gone, and its end', async () => {
    const id = await nodeId();
    const wanted = { NodeID: id, DrainSpec: { Deadline: -1_000 * MS, IgnoreSystemJobs: false }, MarkEligible: false };
    const set = await client.put(`/v1/node/${id}/drain`, wanted);
    expect(set.body).toMatchObject({ NodeModifyIndex: UINT });
    for (let index = Number(set.body['NodeModifyIndex']) - 1; ;) {
      const { body: node, index: next } = await client.get(`/v1/node/${id}`, { stale: true, index, wait: '5000ms' });
      expect(next).toBeGreaterThan(0);
      index = next;
      if (node['DrainStrategy'] === null) break;
      expect(node['DrainStrategy']).toMatchObject({ Deadline: -1_000 * MS, IgnoreSystemJobs: false });
    }
    for (let index = 0; ;) {
      const allocs = await client.get<Json[]>(`/v1/node/${id}/allocations`, { stale: true, index, wait: '5000ms' });
      index = allocs.index;
      const moved = allocs.body.filter(
        (alloc) => (alloc['DesiredTransition'] as Json | undefined)?.['Migrate'] === true,
      );
      expect(moved.length).toBeGreaterThan(0);
      for (const alloc of moved) expect(alloc).toMatchObject({ ClientStatus: STRING, Job: { Type: 'service' } });
      const gone = ({ DesiredStatus, ClientStatus }: Json) => DesiredStatus === 'stop' && ClientStatus === 'complete';
      if (moved.every(gone)) break;
    }
    const end = await client.put(`/v1/node/${id}/drain`, { NodeID: id, DrainSpec: null, MarkEligible: true });
    expect(end.body).toMatchObject({ NodeModifyIndex: UINT });
    await client.put(`/v1/node/${id}/eligibility`, { NodeID: id, Eligibility: 'eligible' });
    await runningAlloc('web');
  });
});

describe('deployments', () => {
  it('API-534: list, status, pause, resume and fail', async () => {
    await runJob(service('held'));
    // A canary nobody promotes keeps the deployment open.
    const { body } = await client.put('/v1/jobs', { Job: service('held', 1, { A: '1' }, { Canary: 1 }) });
    await client.monitor(String(body['EvalID']));
    const { body: listed } = await client.get<Json[]>('/v1/deployments');
    const open = listed.find(({ JobID, Status }) => JobID === 'held' && Status === 'running');
    expect(open).toMatchObject({ ID: UUID, JobVersion: 1, StatusDescription: STRING, TaskGroups: { group: {} } });
    const id = String(open?.['ID']);
    await client.findByPrefix('deployment', id);
    for (const Pause of [true, false]) {
      const paused = await client.put(`/v1/deployment/pause/${id}`, { DeploymentID: id, Pause });
      expect(paused.body).toMatchObject({ EvalID: STRING, DeploymentModifyIndex: UINT });
      expect((await client.get(`/v1/deployment/${id}`)).body).toMatchObject({ Status: Pause ? 'paused' : 'running' });
    }
    const failed = await client.put(`/v1/deployment/fail/${id}`);
    expect(failed.body).toMatchObject({ EvalID: UUID, RevertedJobVersion: null });
    await client.monitor(String(failed.body['EvalID']));
    expect(await client.monitorDeployment(id)).toMatchObject({
      Status: 'failed',
      StatusDescription: 'Deployment marked as failed',
    });
  });
});

describe('evaluations', () => {
  it('API-535: eval list in pages, eval status with its relatives', async () => {
    const first = await client.get<Json[]>('/v1/evaluations', { per_page: 2 });
    expect(first.body).toHaveLength(2);
    const second = await client.get<Json[]>('/v1/evaluations', { per_page: 2, next_token: first.nextToken });
    expect(second.body.map(({ ID }) => ID)).not.toContain(first.body[0]?.['ID']);
    const ofJob = await client.get<Json[]>('/v1/evaluations', { job: 'huge', status: 'complete' });
    const id = String(ofJob.body[0]?.['ID']);
    await client.findByPrefix('evaluation', id);
    const { body } = await client.get(`/v1/evaluation/${id}`, { related: true });
    expect(body).toMatchObject({
      ID: id,
      Status: 'complete',
      CreateTime: NS,
      ModifyTime: NS,
      RelatedEvals: [{ ID: UUID, Status: 'blocked', TriggeredBy: 'queued-allocs' }],
    });
    await client.allocationsOf(id);
  });

  it('API-536, API-540, API-541: operator scheduler set-config by check and set; eval delete while paused', async () => {
    const read = async () =>
      (await client.get('/v1/operator/scheduler/configuration')).body['SchedulerConfig'] as Json & {
        ModifyIndex: number;
      };
    const config = await read();
    expect(config).toMatchObject({
      SchedulerAlgorithm: 'binpack',
      PreemptionConfig: { SystemSchedulerEnabled: BOOL, ServiceSchedulerEnabled: BOOL },
      MemoryOversubscriptionEnabled: BOOL,
      RejectJobRegistration: BOOL,
      PauseEvalBroker: false,
      ModifyIndex: UINT,
    });
    const path = '/v1/operator/scheduler/configuration';
    const paused = await client.put(path, { ...config, PauseEvalBroker: true }, { cas: config.ModifyIndex });
    expect(paused.body).toMatchObject({ Updated: true, Index: UINT });
    const lost = await client.put(path, { ...config, PauseEvalBroker: false }, { cas: config.ModifyIndex });
    expect(lost.body).toMatchObject({ Updated: false });
    const filter = 'JobID == "huge" and Status == "complete"';
    const { body: count } = await client.get('/v1/evaluations/count', { filter });
    expect(count).toMatchObject({ Count: 1 });
    expect((await client.delete('/v1/evaluations', {}, { Filter: filter })).body).toMatchObject({ Count: 1 });
    const { ModifyIndex } = await read();
    await client.put(path, { ...config, PauseEvalBroker: false }, { cas: ModifyIndex });
    expect(await read()).toMatchObject({ PauseEvalBroker: false });
  });
});

describe('the cluster', () => {
  it('OP-91, API-542: system gc', async () => {
    expect((await client.put('/v1/system/gc')).body).toBeUndefined();
  });

  it('API-545, API-546: status and ui find a job, an allocation and a node by their beginnings', async () => {
    const { body } = await client.put('/v1/search', { Prefix: 'web', Context: 'all' });
    expect(body).toMatchObject({ Matches: { jobs: ['web'] }, Truncations: { jobs: false } });
    const alloc = String((await runningAlloc('web'))['ID']);
    const found = await client.put('/v1/search', { Prefix: alloc.slice(0, 8), Context: 'all' });
    expect(found.body).toMatchObject({ Matches: { allocs: [alloc] } });
  });

  it('API-547: server members, the leader among them', async () => {
    const { body } = await client.get('/v1/agent/members');
    const members = body['Members'] as { Addr: string; Tags: Record<string, string> }[];
    for (const member of members)
      expect(member).toMatchObject({
        Name: STRING,
        Addr: STRING,
        Port: UINT,
        Status: 'alive',
        ProtocolCur: UINT,
        Tags: { build: STRING, raft_vsn: '3', dc: 'dc1', region: 'global' },
      });
    expect((await client.get('/v1/regions')).body).toEqual(['global']);
    const { body: leader } = await client.get<string>('/v1/status/leader');
    expect(members.map(({ Addr, Tags }) => `${Addr}:${Tags['port']}`)).toContain(leader);
  });

  it('API-548: namespace apply, list, status and delete', async () => {
    await client.put('/v1/namespace', { Name: 'dev', Description: 'try things', Quota: '', Meta: { a: 'b' } });
    const { body } = await client.get<Json[]>('/v1/namespaces');
    expect(body.map(({ Name }) => Name)).toEqual(['default', 'dev']);
    expect((await client.get('/v1/namespace/dev')).body).toMatchObject({
      Name: 'dev',
      Description: 'try things',
      Quota: '',
      Capabilities: null,
      Meta: { a: 'b' },
    });
    await client.delete('/v1/namespace/dev');
    await expect(client.get('/v1/namespace/dev')).rejects.toThrow('Unexpected response code: 404');
  });
});

describe('the description of the API', () => {
  it('API-711, API-712, API-715: every answer above was as described, and had nothing else in it', () => {
    expect(described.seen.size).toBeGreaterThan(45);
  });
});
