import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ApiClient, shellJob } from '../support/api-client.js';
import { eventually } from '../support/wait.js';
import { WaybillProcesses } from '../support/waybill-processes.js';

/** What registering, scaling and stopping a job does, and what it refuses. No machine is needed for that. */

interface Job {
  ID: string;
  Version: number;
  Stop: boolean;
  Namespace: string;
  ModifyIndex: number;
  JobModifyIndex: number;
  SubmitTime: number;
  Priority: number;
  TaskGroups: { Name: string; Count: number; Tasks: { Resources: { CPU: number } }[] }[];
}

let waybill: WaybillProcesses;
let api: ApiClient;

beforeAll(async () => {
  waybill = await WaybillProcesses.startTogether({}, ['projector', 'broker', 'scheduler', 'api']);
  api = waybill.api;
});
afterAll(() => waybill?.stop());

const put = (body: unknown, method = 'PUT'): RequestInit => ({ method, body: JSON.stringify(body) });
const answerOf = async (path: string, init?: RequestInit): Promise<[number, string]> => {
  const answer = await api.raw(path, init);
  return [answer.status, await answer.text()];
};
const register = (job: object, more: object = {}, query = ''): Promise<[number, string]> =>
  answerOf(`/v1/jobs${query}`, put({ Job: job, ...more }));
const idle = (id: string, over: object = {}): Record<string, unknown> => ({
  ...shellJob(id, 'true', { count: 0 }),
  ...over,
});
const stored = (id: string): Promise<Job> => api.get<Job>(`/v1/job/${encodeURIComponent(id)}`);
const statusOf = async (evalId: string): Promise<unknown> =>
  (await api.get<Record<string, unknown>>(`/v1/evaluation/${evalId}`))['Status'];
const evaluationOf = async (answer: string) =>
  api.get<Record<string, unknown>>(`/v1/evaluation/${(JSON.parse(answer) as { EvalID: string }).EvalID}`);

describe('registering', () => {
  it('API-103, API-105: the evaluation of a registration, in its transaction', async () => {
    const [, answer] = await register(idle('a', { Priority: 60 }), { EvalPriority: 70 });
    const { Index, JobModifyIndex, EvalCreateIndex } = JSON.parse(answer) as Record<string, number>;
    expect([JobModifyIndex, EvalCreateIndex]).toEqual([Index, Index]);
    expect(await evaluationOf(answer)).toMatchObject({
      Priority: 70,
      Type: 'service',
      TriggeredBy: 'job-register',
      JobModifyIndex: Index,
      CreateIndex: Index,
      Namespace: 'default',
    });
    const [, again] = await register(idle('a', { Priority: 60, Meta: { a: 'b' } }));
    expect(await evaluationOf(again)).toMatchObject({ Priority: 60 });
  });

  it('API-109, API-602: counts and resources that were changed meanwhile can be kept', async () => {
    const counted = shellJob('kept', 'true', { count: 0 });
    await register(counted);
    expect((await answerOf('/v1/job/kept/scale', put({ Count: 3, Target: { Group: 'group' } })))[0]).toBe(200);
    const changed = shellJob('kept', 'false', { count: 0 }) as { TaskGroups: { Tasks: { Resources: object }[] }[] };
    Object.assign(changed.TaskGroups[0]?.Tasks[0]?.Resources ?? {}, { CPU: 99 });
    await register(changed, { PreserveCounts: true, PreserveResources: true });
    expect((await stored('kept')).TaskGroups).toMatchObject([{ Count: 3, Tasks: [{ Resources: { CPU: 20 } }] }]);
    await register(changed);
    expect((await stored('kept')).TaskGroups).toMatchObject([{ Count: 0, Tasks: [{ Resources: { CPU: 99 } }] }]);
  });

  it('API-112: a job keeps its type, and whether it is periodic or parameterized', async () => {
    await register(idle('service'));
    await register(idle('batch', { Type: 'batch' }));
    await register(idle('cron', { Type: 'batch', Periodic: { Specs: ['0 0 1 1 *'] } }));
    await register(idle('template', { Type: 'batch', ParameterizedJob: {} }));
    for (const [job, text] of [
      [idle('service', { Type: 'batch' }), 'cannot update job from type "service" to "batch"'],
      [idle('cron', { Type: 'batch' }), 'cannot update periodic job to being non-periodic'],
      [
        idle('batch', { Type: 'batch', Periodic: { Specs: ['0 0 1 1 *'] } }),
        'cannot update non-periodic job to being periodic',
      ],
      [idle('template', { Type: 'batch' }), 'cannot update parameterized job to being non-parameterized'],
      [
        idle('batch', { Type: 'batch', ParameterizedJob: {} }),
        'cannot update non-parameterized job to being parameterized',
      ],
    ] as const)
      expect(await register(job)).toEqual([400, text]);
  });

  it('OP-239, API-115, API-116: an unknown pool is refused; a policy override is nothing to us', async () => {
    const [status, text] = await register(idle('pool', { NodePool: 'nowhere' }));
    expect([status, text]).toEqual([400, expect.stringContaining('job "pool" is in nonexistent node pool "nowhere"')]);
    expect((await register(idle('pool', { NodePool: '' }), { PolicyOverride: true }))[0]).toBe(200);
    expect(await stored('pool')).toMatchObject({ NodePool: 'default' });
  });

  it('API-601: of two registrations with one index exactly one succeeds', async () => {
    await register(idle('raced'));
    const { JobModifyIndex } = await stored('raced');
    const answers = await Promise.all(
      ['1', '2'].map((n) => register(idle('raced', { Meta: { n } }), { EnforceIndex: true, JobModifyIndex })),
    );
    expect(answers.map(([status]) => status).toSorted((a, b) => a - b)).toEqual([200, 409]);
    const refused = answers.find(([status]) => status === 409)?.[1];
    expect(refused).toContain(`Enforcing job modify index ${JobModifyIndex}: job exists with conflicting`);
  });

  it('API-613, API-614: times are exact whole numbers, and durations are no texts', async () => {
    await register(idle('exact'));
    const text = await (await api.raw('/v1/job/exact')).text();
    expect(/"SubmitTime":(\d+)/.exec(text)?.[1]).toMatch(/^\d{19}$/);
    const group = { Name: 'g', Count: 0, Tasks: [{ Name: 't', Driver: 'raw_exec', KillTimeout: '30s' }] };
    expect((await register({ ID: 'exact', TaskGroups: [group] }))[0]).toBe(400);
    const whole = { ...group, Tasks: [{ ...group.Tasks[0], KillTimeout: 30_000_000_000 }] };
    expect((await register({ ID: 'exact', TaskGroups: [whole] }))[0]).toBe(200);
  });

  it('API-615, API-618: names of members in any case; unknown members and parameters are nothing to us', async () => {
    const job = {
      id: 'cased',
      Future: { a: [1] },
      taskgroups: [{ NAME: 'g', count: 0, tasks: [{ name: 't', driver: 'x' }] }],
    };
    expect((await answerOf('/v1/jobs?future=1', put({ job, Tomorrow: true })))[0]).toBe(200);
    expect(await stored('cased')).toMatchObject({ ID: 'cased', TaskGroups: [{ Name: 'g', Count: 0 }] });
  });

  it('API-616: the query decides about the namespace, then the body', async () => {
    await answerOf('/v1/namespace', put({ Name: 'prod' }));
    await answerOf('/v1/namespace', put({ Name: 'dev' }));
    await register(idle('placed', { Namespace: 'dev' }), {}, '?namespace=prod');
    expect(await api.get('/v1/job/placed?namespace=prod')).toMatchObject({ Namespace: 'prod' });
    expect((await answerOf('/v1/job/placed?namespace=dev'))[0]).toBe(404);
  });

  it.each(['a/b', 'a%b', 'x?y', 'x/periodic-1700000000', 'plan', 'ünï'])(
    'API-5, API-6, API-617: a job called %s is found by every sub-route',
    async (id) => {
      await register(idle(id));
      const path = `/v1/job/${encodeURIComponent(id)}`;
      for (const sub of ['', '/summary', '/versions', '/allocations', '/evaluations', '/deployments', '/scale'])
        expect((await answerOf(`${path}${sub}`))[0], sub).toBe(200);
      expect((await answerOf(`${path}/evaluate`, put({ JobID: id })))[0]).toBe(200);
      expect((await answerOf(path, { method: 'DELETE' }))[0]).toBe(200);
      expect(await stored(id)).toMatchObject({ ID: id, Stop: true });
    },
  );

  it('API-617: a space in a name is refused', async () => {
    expect((await register(idle('a b')))[1]).toContain('Job ID contains a space');
  });
});

describe('stopping', () => {
  it('API-120, API-121: a new version that is stopped, and an evaluation of type service', async () => {
    await register(idle('stopped', { Type: 'batch', Priority: 42 }));
    const before = await stored('stopped');
    const [, answer] = await answerOf('/v1/job/stopped', { method: 'DELETE' });
    expect(await stored('stopped')).toMatchObject({ Stop: true, Version: before.Version + 1 });
    expect(await evaluationOf(answer)).toMatchObject({ Type: 'service', TriggeredBy: 'job-deregister', Priority: 42 });
    const [, again] = await answerOf('/v1/job/stopped?eval_priority=90', { method: 'DELETE' });
    expect(await evaluationOf(again)).toMatchObject({ Priority: 90 });
    for (const [query, status] of [
      ['eval_priority=101', 400],
      ['eval_priority=high', 400],
      ['eval_priority=-3', 200],
    ] as const)
      expect((await answerOf(`/v1/job/stopped?${query}`, { method: 'DELETE' }))[0]).toBe(status);
  });

  it('API-122: nothing is written for a job that is not there', async () => {
    const [status, answer] = await answerOf('/v1/job/never', { method: 'DELETE' });
    expect([status, JSON.parse(answer)]).toMatchObject([
      200,
      { EvalID: '', EvalCreateIndex: 0, JobModifyIndex: 0, Index: 0 },
    ]);
  });

  it('API-104, API-123: parents of children have nothing to evaluate', async () => {
    const [, registered] = await register(idle('parent', { Type: 'batch', ParameterizedJob: {} }));
    expect(JSON.parse(registered)).toMatchObject({ EvalID: '', EvalCreateIndex: 0 });
    const [, answer] = await answerOf('/v1/job/parent', { method: 'DELETE' });
    expect(JSON.parse(answer)).toMatchObject({ EvalID: '', JobModifyIndex: expect.any(Number) as number });
  });

  it('API-639, API-604: a blocked read of a job that is purged wakes with 404; its evaluations stay', async () => {
    const { EvalID } = await api.register(idle('purged'));
    await eventually('it is at rest', async () => (await statusOf(EvalID)) === 'complete');
    const index = (await api.raw('/v1/job/purged')).headers.get('x-nomad-index');
    const reads = ['', '/scale', '/summary'].map((sub) => answerOf(`/v1/job/purged${sub}?index=${index}&wait=300s`));
    await answerOf('/v1/job/purged?purge=true', { method: 'DELETE' });
    for (const read of reads) expect((await read)[0]).toBe(404);
    expect((await answerOf(`/v1/evaluation/${EvalID}`))[0]).toBe(200);
  });

  it('API-603, API-604: a blocked read of a job that is not there wakes when it is', async () => {
    const missing = await api.raw('/v1/job/later');
    const index = missing.headers.get('x-nomad-index');
    const waiting = answerOf(`/v1/job/later?index=${index}&wait=20s`);
    await api.register(idle('later'));
    expect((await waiting)[0]).toBe(200);
  });
});

describe('lists', () => {
  it('API-608, API-609: pages are full although most is filtered out, and repeat nothing while jobs come and go', async () => {
    for (let n = 10; n < 40; n++) await api.register(idle(`page-${n}`, { Priority: n % 10 === 0 ? 90 : 10 }));
    const filter = encodeURIComponent('Priority == 90 and ID matches "^page-"');
    const first = await api.raw(`/v1/jobs?per_page=2&filter=${filter}`);
    const token = encodeURIComponent(first.headers.get('x-nomad-nexttoken') ?? '');
    expect(((await first.json()) as Job[]).map(({ ID }) => ID)).toEqual(['page-10', 'page-20']);
    await api.stop('page-30', true);
    await api.register(idle('page-15', { Priority: 90 }));
    const second = await api.raw(`/v1/jobs?per_page=2&filter=${filter}&next_token=${token}`);
    expect(await second.json()).toEqual([]);
    expect(second.headers.get('x-nomad-nexttoken')).toBeNull();
  });

  it('API-610, API-611: an odd beginning is refused, a whole ID finds itself', async () => {
    const { EvalID } = await api.register(idle('prefixed'));
    const [status, text] = await answerOf('/v1/evaluations?prefix=abc');
    expect([status, text]).toEqual([400, expect.stringContaining('Input (without hyphens) must be even length')]);
    expect(await api.get(`/v1/evaluations?prefix=${EvalID}`)).toMatchObject([{ ID: EvalID }]);
  });

  it('API-633: bad booleans, each list in its own way', async () => {
    expect((await answerOf('/v1/nodes?resources=maybe'))[0]).toBe(400);
    expect((await answerOf('/v1/allocations?resources=maybe'))[0]).toBe(400);
  });

  it('API-643: a job that was registered a moment ago has its summary in the list', async () => {
    await api.register(idle('fresh'));
    expect(await api.get('/v1/jobs?prefix=fresh')).toMatchObject([
      { JobSummary: { JobID: 'fresh', Namespace: 'default' } },
    ]);
  });

  it('OP-1, API-619: a token with white space around it, or as a bearer in any case, is one', async () => {
    for (const header of [
      ['X-Nomad-Token', 'abc '],
      ['Authorization', 'bEaReR abc'],
    ] as [string, string][])
      expect((await api.raw('/v1/jobs', { headers: [header] })).status).toBe(200);
  });
});
