import { readdirSync as readdir, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ApiClient, shellJob } from '../support/api-client.js';
import { eventually } from '../support/wait.js';
import { WaybillProcesses } from '../support/waybill-processes.js';

interface AllocStub {
  ID: string;
  Name: string;
  NodeID: string;
  ClientStatus: string;
  DesiredStatus: string;
  TaskStates: Record<string, { State: string; Failed: boolean; Restarts: number; Events: { Type: string }[] }> | null;
  ModifyIndex: number;
}

let waybill: WaybillProcesses;
let api: ApiClient;

beforeAll(async () => {
  waybill = await WaybillProcesses.startTogether();
  api = waybill.api;
  await eventually('the node is ready', async () =>
    (await api.get<{ Status: string }[]>('/v1/nodes')).some((node) => node.Status === 'ready'),
  );
});
afterAll(() => waybill?.stop());

const allocsOf = (id: string): Promise<AllocStub[]> =>
  api.get<AllocStub[]>(`/v1/job/${encodeURIComponent(id)}/allocations`);

const running = (id: string, count: number): Promise<AllocStub[]> =>
  eventually(`${count} of ${id} run`, async () => {
    const found = (await allocsOf(id)).filter((a) => a.ClientStatus === 'running' && a.DesiredStatus === 'run');
    return found.length === count && found;
  });

describe('the path of a job', () => {
  it('API-103: job and evaluation are one transaction, and can be read at once after the answer (API-56)', async () => {
    const answer = await api.register(shellJob('first', 'exec sleep 600'));
    expect(answer.JobModifyIndex).toBe(answer.Index);
    const evaluation = await api.get<Record<string, unknown>>(`/v1/evaluation/${answer.EvalID}`);
    expect(evaluation).toMatchObject({ JobID: 'first', TriggeredBy: 'job-register', CreateIndex: answer.Index });
    const job = await api.get<Record<string, unknown>>('/v1/job/first');
    expect(job).toMatchObject({ ID: 'first', Version: 0, JobModifyIndex: answer.Index, Priority: 50 });
  });

  it('is placed, started as a real process, and visible everywhere', async () => {
    const [alloc] = await running('first', 1);
    const full = await api.get<{ Job: { ID: string }; NodeID: string; EvalID: string }>(`/v1/allocation/${alloc!.ID}`);
    expect(full.Job.ID).toBe('first');
    const nodes = await api.get<{ ID: string; Name: string }[]>('/v1/nodes');
    expect(nodes.map((n) => n.ID)).toContain(full.NodeID);
    const onNode = await api.get<{ ID: string }[]>(`/v1/node/${full.NodeID}/allocations`);
    expect(onNode.map((a) => a.ID)).toContain(alloc!.ID);
    const ofEval = await api.get<{ ID: string }[]>(`/v1/evaluation/${full.EvalID}/allocations`);
    expect(ofEval.map((a) => a.ID)).toEqual([alloc!.ID]);
    await eventually(
      'the job is running',
      async () => (await api.get<{ Status: string }>('/v1/job/first')).Status === 'running',
    );
    expect(processesWith('NOMAD_JOB_ID=first')).toHaveLength(1);
  });

  it('API-106: the same specification again is no new version', async () => {
    await api.register(shellJob('first', 'exec sleep 600'));
    expect((await api.get<{ Version: number }>('/v1/job/first')).Version).toBe(0);
  });

  it('count up and down', async () => {
    await api.register(shellJob('first', 'exec sleep 600', { count: 3 }));
    const three = await running('first', 3);
    expect(three.map((a) => a.Name).toSorted()).toEqual(['first.group[0]', 'first.group[1]', 'first.group[2]']);
    await api.register(shellJob('first', 'exec sleep 600', { count: 1 }));
    const [left] = await running('first', 1);
    expect(left!.Name).toBe('first.group[0]');
  });

  it('API-120: a stopped job ends its processes, gracefully', async () => {
    await api.register(shellJob('polite', 'trap "echo bye; exit 0" TERM INT; while :; do sleep 0.1; done'));
    const [alloc] = await running('polite', 1);
    await api.stop('polite');
    await eventually('it is complete', async () => (await allocsOf('polite'))[0]?.ClientStatus === 'complete');
    await eventually(
      'the job is dead',
      async () => (await api.get<{ Status: string }>('/v1/job/polite')).Status === 'dead',
    );
    expect(processesWith('NOMAD_JOB_ID=polite')).toEqual([]);
    const log = await (await api.raw(`/v1/client/fs/logs/${alloc!.ID}?task=task&type=stdout&plain=true`)).text();
    expect(log).toBe('bye\n');
    const silent = await api.raw(`/v1/client/fs/logs/${alloc!.ID}?task=task&type=stderr&plain=true`);
    expect([silent.status, await silent.text()], 'what it never wrote to is empty').toEqual([200, '']);
  });

  it('a failing task is restarted by its restart policy, then fails', async () => {
    const restart = { Attempts: 2, Interval: 600_000_000_000, Delay: 50_000_000, Mode: 'fail' };
    const job = shellJob('failing', 'exit 3', { type: 'batch', restart });
    Object.assign((job as { TaskGroups: object[] }).TaskGroups[0]!, {
      ReschedulePolicy: { Attempts: 0, Unlimited: false },
    });
    await api.register(job);
    const failed = await eventually('it has failed', async () =>
      (await allocsOf('failing')).find((a) => a.ClientStatus === 'failed'),
    );
    expect(failed.TaskStates!['task']).toMatchObject({ State: 'dead', Failed: true, Restarts: 2 });
  });

  it('a batch job that succeeds is dead, and stays so', async () => {
    await api.register(shellJob('once', 'echo done', { type: 'batch' }));
    await eventually('it is complete', async () => (await allocsOf('once'))[0]?.ClientStatus === 'complete');
    await eventually(
      'the job is dead',
      async () => (await api.get<{ Status: string }>('/v1/job/once')).Status === 'dead',
    );
    expect(await allocsOf('once')).toHaveLength(1);
  });

  it('API-50, API-55: a blocking query returns with the change, and not before', async () => {
    const before = await api.raw('/v1/job/first');
    const index = Number(before.headers.get('x-nomad-index'));
    const waiting = api.raw(`/v1/job/first?index=${index}&wait=10s`);
    await api.register(shellJob('other', 'exec sleep 600'));
    const changed = await api.register(shellJob('first', 'exec sleep 599'));
    const answer = await waiting;
    expect(Number(answer.headers.get('x-nomad-index'))).toBeGreaterThanOrEqual(changed.Index);
    expect(((await answer.json()) as { Version: number }).Version).toBeGreaterThan(0);
  });

  it('API-51: a blocking query whose wait is over answers what there is', async () => {
    const index = Number((await api.raw('/v1/namespaces')).headers.get('x-nomad-index'));
    const answer = await api.raw(`/v1/namespaces?index=${index}&wait=100ms`);
    expect(answer.status).toBe(200);
    expect(Number(answer.headers.get('x-nomad-index'))).toBe(index);
  });

  it('API-5: a job with slashes, dots, stars and quotes in its id', async () => {
    const id = 'a/b.c*d>"é';
    await api.register(shellJob(id, 'exec sleep 600'));
    await running(id, 1);
    expect((await api.get<{ ID: string }>(`/v1/job/${encodeURIComponent(id)}`)).ID).toBe(id);
    await api.stop(id, true);
    expect((await api.raw(`/v1/job/${encodeURIComponent(id)}`)).status).toBe(404);
  });
});

describe('what cannot be a job', () => {
  const put = (body: RequestInit['body'], path = '/v1/jobs'): Promise<Response> =>
    api.raw(path, { method: 'PUT', body: body ?? null });
  const text = async (answer: Response): Promise<[number, string]> => [answer.status, await answer.text()];

  it('API-27: no body, no JSON, wrong types', async () => {
    expect(await text(await put(''))).toEqual([400, 'Request body is empty']);
    expect((await put('{"Job": '))!.status).toBe(400);
    expect((await put('{"Job": {"ID": 7}}')).status).toBe(400);
    expect((await put('{"Job": {"ID": "x", "TaskGroups": "no"}}')).status).toBe(400);
  });

  it('API-100: no job, no id', async () => {
    expect(await text(await put('{}'))).toEqual([400, 'Job must be specified']);
    expect(await text(await put('{"Job": {}}'))).toEqual([400, "Job ID hasn't been provided"]);
  });

  it('API-102: a job that breaks rules is 500 with all of them, and nothing is stored', async () => {
    const bad = shellJob('bad job', 'true', { count: -1 });
    const [status, body] = await text(await put(JSON.stringify({ Job: bad })));
    expect(status).toBe(400);
    expect(body).toContain('Job ID contains a space');
    expect(body).toMatch(/count/i);
    expect((await api.raw('/v1/job/bad%20job')).status).toBe(404);
    expect((await put('{"Job": {"ID": "empty", "Datacenters": ["dc1"]}}')).status).toBe(400);
  });

  it('nesting a thousand deep, invalid UTF-8 and ten megabytes are answered, not crashed on', async () => {
    const deep = `{"Job": ${'{"Job": '.repeat(1_000)}1${'}'.repeat(1_001)}`;
    expect((await put(deep)).status).toBe(400);
    expect((await put(Buffer.from([0x7b, 0xff, 0xfe, 0x7d]))).status).toBe(400);
    const large = shellJob('large', 'true');
    Object.assign(large, { Meta: { blob: 'x'.repeat(10_000_000) } });
    const [status, body] = await text(await put(JSON.stringify({ Job: large })));
    expect(status).toBe(413);
    expect(body).toContain('bytes');
    expect((await api.raw('/v1/job/large')).status).toBe(404);
  });

  it('API-2, API-3: an unknown path is an empty 404, a wrong method 405', async () => {
    expect(await text(await api.raw('/v1/nothing'))).toEqual([404, '']);
    expect(await text(await api.raw('/v1/nodes', { method: 'DELETE' }))).toEqual([405, 'Invalid method']);
  });

  it('an unknown driver is legal; the job waits for a machine that has it', async () => {
    const job = shellJob('exotic', 'true') as { TaskGroups: { Tasks: { Driver: string }[] }[] };
    job.TaskGroups[0]!.Tasks[0]!.Driver = 'warp';
    const { EvalID } = await api.register(job);
    const done = await eventually('the evaluation is complete', async () => {
      const e = await api.get<{ Status: string; BlockedEval?: string; FailedTGAllocs?: object }>(
        `/v1/evaluation/${EvalID}`,
      );
      return e.Status === 'complete' && e;
    });
    expect(done.FailedTGAllocs).toHaveProperty('group');
    expect(await api.get(`/v1/evaluation/${done.BlockedEval}`)).toMatchObject({ Status: 'blocked', JobID: 'exotic' });
  });
});

/** Tasks of this machine whose environment has this entry; not the shells that supervise them. */
function processesWith(entry: string): number[] {
  return readdir('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => environmentOf(pid).includes(`${entry}\0`) && !commandLineOf(pid).includes('waybill-task'))
    .filter((pid) => !commandLineOf(pid).includes('\nrun=$1'))
    .map(Number);
}

function environmentOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8');
  } catch {
    return '';
  }
}

function commandLineOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}
