import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ApiClient, shellJob } from '../support/api-client.js';
import { runCli } from '../support/cli.js';
import { WaybillProcesses } from '../support/waybill-processes.js';

/** What the tests read of jobs; no machine runs anything here. */
let waybill: WaybillProcesses;
let api: ApiClient;

beforeAll(async () => {
  waybill = await WaybillProcesses.startTogether({}, ['projector', 'broker', 'api']);
  api = waybill.api;
});
afterAll(() => waybill?.stop());

async function send(method: string, path: string, body?: object) {
  const answer = await api.raw(path, { method, ...(body && { body: JSON.stringify(body) }) });
  return { status: answer.status, text: await answer.text(), index: Number(answer.headers.get('X-Nomad-Index')) };
}
async function sent<T = Record<string, unknown>>(method: string, path: string, body?: object): Promise<T> {
  const { status, text } = await send(method, path, body);
  expect(status, text).toBe(200);
  return JSON.parse(text) as T;
}
const put = (path: string, body: object) => send('PUT', path, body);
const job = (id: string, over: object = {}) => ({ ...shellJob(id, 'true'), ...over });

describe('scaling', () => {
  const scale = (id: string, body: object) => put(`/v1/job/${id}/scale`, { Target: { Group: 'group' }, ...body });
  interface Status {
    JobModifyIndex: number;
    TaskGroups: { group: { Desired: number; Events: Record<string, unknown>[] | null } };
  }
  const status = (id: string) => api.get<Status>(`/v1/job/${id}/scale`);

  it('API-173 API-174: a new version with the count, an evaluation job-scaling, and an event', async () => {
    await api.register(job('scaled'));
    expect(await status('scaled')).toMatchObject({ TaskGroups: { group: { Desired: 1, Placed: 0, Events: null } } });
    const {
      status: code,
      text,
      index,
    } = await scale('scaled', { Count: 3, Message: 'more', Meta: { by: { who: 1 } } });
    expect(code, text).toBe(200);
    const answer = JSON.parse(text) as { EvalID: string; JobModifyIndex: number; Index: number };
    expect(index).toBe(answer.Index);
    expect(answer.Index).toBe(answer.JobModifyIndex);
    expect(await api.get(`/v1/evaluation/${answer.EvalID}`)).toMatchObject({ TriggeredBy: 'job-scaling' });
    expect(await api.get('/v1/job/scaled')).toMatchObject({
      Version: 1,
      JobModifyIndex: answer.JobModifyIndex,
      TaskGroups: [{ Count: 3 }],
    });
    const { group } = (await status('scaled')).TaskGroups;
    const event = { Count: 3, PreviousCount: 1, Message: 'more', Error: false, Meta: { by: { who: 1 } } };
    expect(group).toMatchObject({ Desired: 3, Events: [{ ...event, EvalID: answer.EvalID, CreateIndex: index }] });
  });

  it('API-173: without a count only the event is kept, newest first; also of a system job', async () => {
    const { JobModifyIndex } = await api.register(job('noted', { Type: 'system' }));
    const body = { Message: 'cannot', Error: true };
    const answer = JSON.parse((await scale('noted', body)).text) as Record<string, unknown>;
    expect(answer).toMatchObject({ EvalID: '', EvalCreateIndex: 0 });
    expect(answer['JobModifyIndex']).toBeGreaterThanOrEqual(JobModifyIndex);
    await scale('noted', { Message: 'again' });
    const { Events } = (await status('noted')).TaskGroups.group;
    expect(Events).toMatchObject([{ Message: 'again' }, { Message: 'cannot', Error: true, Count: null, EvalID: null }]);
    expect(await api.get('/v1/job/noted')).toMatchObject({ Version: 0 });
  });

  it('API-170 API-171: what is refused', async () => {
    const Scaling = { Min: 1, Max: 3, Enabled: true };
    const [group] = (job('bounded') as { TaskGroups: object[] }).TaskGroups;
    await api.register(job('bounded', { TaskGroups: [{ ...group, Scaling }] }));
    await api.register(job('everywhere', { Type: 'system' }));
    const refused = async (id: string, body: object, code: number, text: string) =>
      expect(await scale(id, body)).toMatchObject({ status: code, text });
    await refused('bounded', { Target: { Job: 'x' } }, 400, 'job ID in payload did not match URL');
    await refused('bounded', { Target: { Namespace: 'x' } }, 400, 'namespace in payload did not match header');
    await refused('bounded', { Target: {} }, 400, 'missing task group name for scaling action');
    await refused('bounded', { Count: -1 }, 400, "scaling action count can't be negative");
    await refused(
      'bounded',
      { Count: 1, Error: true },
      400,
      'scaling action should not contain count if error is true',
    );
    await refused('nobody', { Count: 1 }, 404, 'job "nobody" not found');
    const unknown = 'task group "x" specified for scaling does not exist in job';
    await refused('bounded', { Count: 1, Target: { Group: 'x' } }, 400, unknown);
    await refused('bounded', { Count: 0 }, 400, 'group count was less than scaling policy minimum: 0 < 1');
    await refused('bounded', { Count: 4 }, 400, 'group count was greater than scaling policy maximum: 4 > 3');
    await refused('everywhere', { Count: 2 }, 400, 'jobs of type "system" can only be scaled between 0 and 1');
  });

  it('API-601 API-173: of two with the same JobModifyIndex one is done', async () => {
    const { JobModifyIndex } = await api.register(job('raced'));
    const answers = await Promise.all([2, 3].map((Count) => scale('raced', { Count, JobModifyIndex })));
    expect(answers.map(({ status: code }) => code).toSorted((a, b) => a - b)).toEqual([200, 409]);
    expect(answers.find(({ status: code }) => code === 409)?.text).toContain(
      `Enforcing job modify index ${JobModifyIndex}: job exists with conflicting job modify index: `,
    );
  });
});

describe('dispatching', () => {
  interface Dispatched {
    DispatchedJobID: string;
    EvalID: string;
    JobCreateIndex: number;
    Index: number;
  }
  const template = (id: string, config: object = {}, over: object = {}) =>
    api.register(job(id, { Type: 'batch', ParameterizedJob: config, Meta: { a: 'parent', b: 'parent' }, ...over }));
  const dispatch = (id: string, body: object, query = '') =>
    sent<Dispatched>('PUT', `/v1/job/${id}/dispatch${query}`, body);
  const child = (id: string) => api.get<Record<string, unknown>>(`/v1/job/${encodeURIComponent(id)}`);
  const payload = Buffer.from('some work').toString('base64');

  it('API-175 API-178: a child with its own meta and payload, and its evaluation, in one transaction', async () => {
    await template('work', { MetaRequired: ['b'], MetaOptional: ['c'] });
    const answer = await dispatch('work', { Payload: payload, Meta: { b: 'own' }, IdPrefixTemplate: 'nightly' });
    expect(answer.DispatchedJobID).toMatch(/^work\/dispatch-nightly-\d{10}-[0-9a-f]{8}$/);
    expect(answer.JobCreateIndex).toBe(answer.Index);
    expect(await child(answer.DispatchedJobID)).toMatchObject({
      Name: answer.DispatchedJobID,
      ParentID: 'work',
      Dispatched: true,
      Payload: payload,
      Meta: { a: 'parent', b: 'own' },
      Priority: 50,
      Version: 0,
    });
    expect(await api.get(`/v1/evaluation/${answer.EvalID}`)).toMatchObject({
      JobID: answer.DispatchedJobID,
      TriggeredBy: 'job-register',
      CreateIndex: answer.Index,
    });
    expect(await api.get('/v1/job/work/summary')).toMatchObject({ Children: { Pending: 1 } });
    const other = await dispatch('work', { Meta: { b: '' }, Priority: 80 });
    expect(await child(other.DispatchedJobID)).toMatchObject({ Priority: 80, Payload: null, Meta: { b: '' } });
  });

  it('API-175: raw bytes are the payload', async () => {
    await template('raw', { Payload: 'required' });
    const answer = await api.raw('/v1/job/raw/dispatch/payload', { method: 'POST', body: 'some work' });
    const { DispatchedJobID } = (await answer.json()) as Dispatched;
    expect(await child(DispatchedJobID)).toMatchObject({ Payload: payload });
  });

  it('API-177 API-640 ST-178: one token, one child, however many ask at once', async () => {
    await template('once');
    const answers = await Promise.all([1, 2, 3].map(() => dispatch('once', {}, '?idempotency_token=t1')));
    expect(new Set(answers.map(({ DispatchedJobID }) => DispatchedJobID)).size).toBe(1);
    expect(answers.filter(({ EvalID }) => EvalID !== '')).toHaveLength(1);
    const [{ JobCreateIndex }] = answers as [Dispatched];
    expect(await dispatch('once', {}, '?idempotency_token=t1')).toMatchObject({ EvalID: '', JobCreateIndex });
    expect((await dispatch('once', {}, '?idempotency_token=t2')).EvalID).not.toBe('');
  });

  it('API-28, API-177: the token counts in the body too, the one of the query goes first', async () => {
    await template('body-once');
    const first = await dispatch('body-once', { IdempotencyToken: 't1' });
    const same = { DispatchedJobID: first.DispatchedJobID, EvalID: '' };
    expect(await dispatch('body-once', { IdempotencyToken: 't1' })).toMatchObject(same);
    expect(await dispatch('body-once', { IdempotencyToken: 't2' }, '?idempotency_token=t1')).toMatchObject(same);
    expect((await dispatch('body-once', { IdempotencyToken: 't2' })).EvalID).not.toBe('');
  });

  it('API-176: what is refused', async () => {
    await template('strict', { Payload: 'forbidden', MetaRequired: ['b'] });
    await template('needs', { Payload: 'required' });
    await api.register(job('plain'));
    await template('stopped');
    await api.stop('stopped');
    const refused = async (id: string, body: object, text: string, status = 400) =>
      expect(await put(`/v1/job/${id}/dispatch`, body)).toMatchObject({ status, text });
    await refused('strict', { JobID: 'x' }, 'Job ID does not match');
    await refused('nobody', {}, 'parameterized job not found', 404);
    await refused('plain', {}, 'Specified job "plain" is not a parameterized job');
    await refused('stopped', {}, 'Specified job "stopped" is stopped', 409);
    await refused('needs', {}, 'Payload is not provided but required by parameterized job');
    await refused('strict', { Payload: payload }, 'Payload provided but forbidden by parameterized job');
    const large = Buffer.alloc(16_385).toString('base64');
    await refused('needs', { Payload: large }, 'Payload exceeds maximum size; 16385 > 16384');
    const meta = { b: '', z: '', y: '' };
    await refused('strict', { Meta: meta }, 'Dispatch request included unpermitted metadata keys: [y z]');
    await refused('strict', {}, 'Dispatch did not provide required meta keys: [b]');
    const priority = 'dispatch job priority must be between [1, 100]';
    await refused('strict', { Meta: { b: '' }, Priority: 101 }, priority);
    await template('named');
    await refused('named', { IdPrefixTemplate: 'a b' }, 'Job ID contains a space');
    await refused('named', { IdPrefixTemplate: 'a\0b' }, 'Job ID contains a null character');
    const leadsUp = 'Job ID cannot have "." or ".." as a part between slashes';
    await refused('named', { IdPrefixTemplate: 'x/../y' }, leadsUp);
    expect((await put('/v1/job/needs/dispatch', { Payload: '*' })).status).toBe(400);
  });

  it('API-113: a dispatched child cannot be registered over', async () => {
    await template('parent');
    const { DispatchedJobID } = await dispatch('parent', {});
    const answer = await put('/v1/jobs', { Job: job(DispatchedJobID, { Type: 'batch', Dispatched: true }) });
    expect(answer).toMatchObject({ status: 400, text: "field 'Dispatched' is read-only" });
  });
});

describe('versions of a job', () => {
  const tagPath = (id: string, name: string) => `/v1/job/${id}/versions/${name}/tag`;
  interface Versions {
    Versions: { Version: number; VersionTag: { Name: string; Description: string } | null }[];
    Diffs: { Type: string; Fields: { Name: string; Old: string; New: string }[] }[] | null;
  }
  const versions = (id: string, query = '') => api.get<Versions>(`/v1/job/${id}/versions${query}`);

  it('API-166: tagging, tagging again, and untagging', async () => {
    for (const Priority of [10, 20]) await api.register(job('tagged', { Priority }));
    const given = await sent('POST', tagPath('tagged', 'good'), { Version: 0, Description: 'the good one' });
    expect(given).toMatchObject({ Name: 'good', Description: 'the good one' });
    expect(given['TaggedTime']).toBeGreaterThan(1e18);
    await sent('PUT', tagPath('tagged', 'good'), { Version: 0, Description: 'still' });
    expect((await versions('tagged')).Versions).toMatchObject([
      { Version: 1, VersionTag: null },
      { Version: 0, VersionTag: { Name: 'good', Description: 'still' } },
    ]);
    expect(await put(tagPath('tagged', 'good'), { Latest: true })).toMatchObject({
      status: 409,
      text: 'tag "good" already exists on a different version of job "tagged"',
    });
    const removed = await sent('DELETE', tagPath('tagged', 'good'));
    expect(removed).toMatchObject({ Name: '', Description: '', TaggedTime: 0 });
    expect(await send('DELETE', tagPath('tagged', 'good'))).toMatchObject({
      status: 404,
      text: 'tag "good" not found on job "tagged"',
    });
  });

  it('API-166 API-7: what is refused', async () => {
    const refused = async (path: string, body: object, text: string, status = 400) =>
      expect(await put(path, body)).toMatchObject({ status, text });
    await refused(tagPath('nobody', 'x'), { Latest: true }, 'job "nobody" version 0 not found', 404);
    await refused(tagPath('tagged', 'x'), { Version: 9 }, 'job "tagged" version 9 not found', 404);
    const latest = { Latest: true, Version: 2 };
    await refused(tagPath('tagged', 'x'), latest, 'version must be zero when tagging latest, got: 2');
    const long = 'Tagged version description must be under 1000 characters, currently 1001';
    await refused(tagPath('tagged', 'x'), { Description: 'd'.repeat(1001) }, long);
    await refused('/v1/job/a/b/versions/x/tag', {}, 'invalid job tag endpoint', 404);
  });

  it('API-161: what each version changed, or how each differs from one', async () => {
    for (const Priority of [10, 20, 30]) await api.register(job('diffed', { Priority }));
    const old = (answer: Versions) => answer.Diffs?.map(({ Fields }) => Fields[0]?.Old ?? null);
    expect((await versions('diffed')).Diffs).toBeNull();
    expect(old(await versions('diffed', '?diffs=true'))).toEqual(['20', '10']);
    expect(old(await versions('diffed', '?diffs=true&diff_version=0'))).toEqual(['10', '10', null]);
    await sent('PUT', tagPath('diffed', 'mid'), { Version: 1 });
    expect(old(await versions('diffed', '?diffs=true&diff_tag=mid'))).toEqual(['20', null, '20']);
    const missing = (query: string) => send('GET', `/v1/job/diffed/versions?diffs=true&${query}`);
    expect(await missing('diff_version=7')).toMatchObject({ status: 404, text: 'version 7 not found' });
    expect(await missing('diff_tag=x')).toMatchObject({ status: 404, text: 'tag "x" not found' });
  });

  it('API-110 ST-58: the text of a version; one that was scaled keeps it', async () => {
    const Submission = { Source: 'text', Format: 'json', VariableFlags: { a: 'b' }, Variables: '' };
    await sent('PUT', '/v1/jobs', { Job: job('written'), Submission });
    await sent('PUT', '/v1/job/written/scale', { Count: 2, Target: { Group: 'group' } });
    const read = (query: string) => send('GET', `/v1/job/written/submission${query}`);
    for (const Version of [0, 1])
      expect(JSON.parse((await read(`?version=${Version}`)).text)).toMatchObject({ ...Submission, Version });
    expect(await read('?version=7')).toMatchObject({ status: 404, text: 'job source not found' });
    const malformed = { status: 400, text: 'Unable to parse job submission version parameter' };
    expect(await read('')).toMatchObject(malformed);
    expect(await read('?version=x')).toMatchObject(malformed);
  });
});

describe('scaling policies', () => {
  interface Stub {
    ID: string;
    ModifyIndex: number;
  }
  const [group] = (job('bounds') as { TaskGroups: { Tasks: object[] }[] }).TaskGroups;
  const bounded = (id: string, Max: number) => {
    const ScalingPolicies = [{ Type: 'vertical_cpu', Max: 500, Policy: { target: 0.8 } }];
    const Tasks = [{ ...group!.Tasks[0], ScalingPolicies }];
    return job(id, { TaskGroups: [{ ...group, Scaling: { Min: 1, Max, Policy: { cooldown: '1m' } }, Tasks }] });
  };
  const listed = (query: string) => api.get<Stub[]>(`/v1/scaling/policies?${query}`);
  const Target = { Namespace: 'default', Job: 'bounds', Group: 'group' };

  it('ST-59 ST-65: those of a job are listed by job and type, read by ID, and go with it', async () => {
    await api.register(bounded('bounds', 3));
    await api.register(bounded('bounds2', 3));
    const [found, ...others] = await listed('job=bounds&type=horizontal');
    expect(others).toEqual([]);
    const { ID, ModifyIndex } = found!;
    expect(found).toEqual({ ID, Enabled: true, Type: 'horizontal', Target, CreateIndex: ModifyIndex, ModifyIndex });
    expect(await listed('job=bounds&type=vertical')).toMatchObject([{ Type: 'vertical_cpu', Target }]);
    expect(await listed(`prefix=${ID.slice(0, 8)}`)).toEqual([found]);
    expect(await listed('namespace=elsewhere')).toEqual([]);
    const inFull = { ...found, Min: 1, Max: 3, Policy: { cooldown: '1m' } };
    expect(await api.get(`/v1/scaling/policy/${ID}`)).toEqual(inFull);
    const search = await sent<{ Matches: object }>('PUT', '/v1/search', { Prefix: ID, Context: 'scaling_policy' });
    expect(search.Matches).toEqual({ scaling_policy: [ID] });
    const unknown = await send('GET', '/v1/scaling/policy/00000000-0000-4000-8000-000000000000');
    expect(unknown).toMatchObject({ status: 404, text: 'policy not found' });
    await send('DELETE', '/v1/job/bounds?purge=true');
    expect(await listed('job=bounds')).toEqual([]);
    expect(await listed('job=bounds2')).toHaveLength(2);
    await send('DELETE', '/v1/job/bounds2?purge=true');
  });

  it('ST-59: who waits for a policy hears of its change', async () => {
    await api.register(bounded('waited', 3));
    const [{ ID, ModifyIndex }] = (await listed('job=waited&type=horizontal')) as [Stub];
    const change = api.get(`/v1/scaling/policy/${ID}?index=${ModifyIndex}&wait=30s`);
    await api.register(bounded('waited', 4));
    expect(await change).toMatchObject({ ID, Max: 4, CreateIndex: ModifyIndex });
    await send('DELETE', '/v1/job/waited?purge=true');
  });

  it('CL-861: listed by target, and one in full', async () => {
    const LIST = ['scaling', 'policy', 'list', '-job', 'bounds'];
    expect(await runCli(api.url, LIST)).toMatchObject({ code: 0, out: 'No policies found\n' });
    await api.register(bounded('bounds', 3));
    const [{ ID }] = (await listed('job=bounds&type=horizontal')) as [Stub];
    const { out } = await runCli(api.url, LIST);
    const [header, ...rows] = out.trimEnd().split('\n');
    expect(header).toBe('ID        Enabled  Type          Target');
    expect(rows.map((row) => row.slice(10))).toEqual([
      'true     horizontal    Namespace:default,Job:bounds,Group:group',
      expect.stringMatching(/^true {5}vertical_cpu {2}Namespace:default,Job:bounds,Group:group,Task:\w+$/),
    ]);
    const info = await runCli(api.url, ['scaling', 'policy', 'info', ID.slice(0, 8)]);
    expect(info).toMatchObject({ code: 0 });
    expect(info.out).toBe(`ID      = ${ID.slice(0, 8)}
Enabled = true
Target  = Namespace:default,Job:bounds,Group:group
Min     = 1
Max     = 3

Policy:
{
    "cooldown": "1m"
}
`);
    expect(await runCli(api.url, ['scaling', 'policy', 'info', '00'])).toMatchObject({
      code: 1,
      err: 'No scaling policy(s) with prefix or id "00" found\n',
    });
  });
});

describe('the command line', () => {
  let directory: string;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'waybill-cli-'));
  });
  afterAll(() => rm(directory, { recursive: true, force: true }));
  const cli = (...words: string[]) => runCli(api.url, words);
  async function file(name: string, content: object | string): Promise<string> {
    const where = join(directory, name);
    await writeFile(where, typeof content === 'string' ? content : JSON.stringify(content));
    return where;
  }

  it('CL-337 CL-359: scale, and who wanted it', async () => {
    await api.register(job('cl-scale'));
    expect(await cli('job', 'scaling-events', 'cl-scale')).toMatchObject({ code: 0, out: 'No events found\n' });
    const { code, out } = await cli('job', 'scale', '-detach', 'cl-scale', '3');
    expect([code, out]).toEqual([0, expect.stringMatching(/^Job scale successful\nEvaluation ID: [0-9a-f-]{36}\n$/)]);
    const events = (await cli('job', 'scaling-events', 'cl-scale')).out.split('\n');
    expect(events[0]).toBe('Task Group  Count  PrevCount  Date');
    expect(events[1]).toMatch(/^group {7}3 {6}1 {10}\d{4}-/);
    const failing = async (...words: string[]) => {
      const { code: exit, err } = await cli('job', 'scale', ...words);
      expect(exit).toBe(1);
      return err.split('\n')[0];
    };
    expect(await failing('cl-scale')).toBe('Command requires at least two arguments and no more than three');
    expect(await failing('cl-scale', 'x')).toMatch(/^Failed to convert count string to int: /);
    expect(await failing('cl-scale', 'nope', '1')).toBe('Group nope not found within job');
    expect(await failing('-check-index', '1', 'cl-scale', '1')).toMatch(/^Error submitting scaling request: /);
    const [group] = (job('two') as { TaskGroups: object[] }).TaskGroups;
    await api.register(job('two', { TaskGroups: [group, { ...group, Name: 'other' }] }));
    expect(await failing('two', '1')).toBe('Group name required');
  });

  it('CL-340 CL-341: dispatch', async () => {
    await api.register(job('cl-work', { Type: 'batch', ParameterizedJob: { MetaOptional: ['a'] } }));
    await api.register(job('cl-work-plain'));
    const payload = await file('payload', 'some work');
    const { code, out } = await cli('job', 'dispatch', '-detach', '-meta', 'a=b=c', 'cl-wor', payload);
    expect(code).toBe(0);
    const [, id = ''] = /^Dispatched Job ID = (\S+)\nEvaluation ID     = [0-9a-f]{8}\n$/.exec(out) ?? [];
    expect(await api.get(`/v1/job/${encodeURIComponent(id)}`)).toMatchObject({
      Meta: { a: 'b=c' },
      Payload: Buffer.from('some work').toString('base64'),
    });
    expect(await cli('job', 'dispatch', '-meta', 'x', 'cl-work')).toMatchObject({
      code: 1,
      err: 'Error parsing meta value: x\n',
    });
    expect((await cli('job', 'dispatch', 'cl-work', '/nowhere/x')).err).toMatch(/^Error reading input data: /);
    expect((await cli('job', 'dispatch', 'cl-work-plain')).err).toBe(
      'No parameterized job(s) with prefix or ID "cl-work-plain" found\n',
    );
    expect((await cli('job', 'dispatch', '-meta', 'z=1', 'cl-work')).err).toMatch(/^Failed to dispatch job: .*\[z\]/);
  });

  it('CL-343 CL-351 CL-352: tags, and what versions changed', async () => {
    for (const Priority of [10, 20]) await api.register(job('cl-tag', { Priority }));
    const tagged = await cli('job', 'tag', 'apply', '-name', 'v', '-description', 'd', '-version', '0', 'cl-tag');
    expect(tagged).toMatchObject({ code: 0, out: 'Job version 0 tagged with name "v"\n' });
    expect((await cli('job', 'tag', 'apply', 'cl-tag')).err).toBe('A version tag name is required\n');
    expect((await cli('job', 'tag', 'apply', '-name', 'x', '-version', 'x', 'cl-tag')).err).toMatch(
      /^Error parsing version: /,
    );
    const taken = await cli('job', 'tag', 'apply', '-name', 'v', 'cl-tag');
    expect([taken.code, taken.err]).toEqual([1, expect.stringMatching(/^Error tagging job version: .*already exists/)]);
    const change = 'Diff\n+/- Job: "cl-tag"\n+/- Priority: "10" => "20"\nTask Group: "group"';
    const history = (await cli('job', 'history', '-p', 'cl-tag')).out;
    expect(history.match(/Diff/g)).toHaveLength(1);
    expect(history.replaceAll(/^ +/gm, '')).toContain(change);
    const against = (await cli('job', 'history', '-p', '-diff-tag', 'v', 'cl-tag')).out;
    expect(against.replaceAll(/^ +/gm, '')).toContain(change);
    expect(await cli('job', 'history', '-p', '-diff-version', '9', 'cl-tag')).toMatchObject({
      code: 1,
      err: expect.stringContaining('version 9 not found') as string,
    });
    expect(await cli('job', 'tag', 'unset', '-name', 'v', 'cl-tag')).toMatchObject({
      code: 0,
      out: 'Tag "v" removed from job "cl-tag"\n',
    });
  });

  it('CL-353: flags of the history that exclude each other', async () => {
    const refused = async (...flags: string[]) => (await cli('job', 'history', ...flags, 'x')).err.trim();
    expect(await refused('-json', '-p')).toBe('-json and -t are exclusive with -p and -full');
    expect(await refused('-diff-tag', 'a')).toBe('-diff-tag and -diff-version can only be used with -p');
    const both = await refused('-p', '-diff-tag', 'a', '-diff-version', '1');
    expect(both).toBe('-diff-tag and -diff-version are mutually exclusive');
  });

  it('CL-354 CL-355: inspect, the job or its text', async () => {
    const Submission = {
      Source: 'the text\n',
      Format: 'hcl2',
      VariableFlags: { b: '2', a: "it's" },
      Variables: 'c = 3\n',
    };
    await sent('PUT', '/v1/jobs', { Job: job('cl-inspect'), Submission });
    expect(JSON.parse((await cli('inspect', 'cl-inspect')).out)).toMatchObject({ Job: { ID: 'cl-inspect' } });
    const bare = await cli('job', 'inspect', '-json', '-version', '0', 'cl-inspect');
    expect(JSON.parse(bare.out)).toMatchObject({ ID: 'cl-inspect', Version: 0 });
    expect((await cli('job', 'inspect', '-version', '7', 'cl-inspect')).err).toBe(
      'Error inspecting job: job "cl-inspect" with version 7 couldn\'t be found\n',
    );
    const source = await cli('job', 'inspect', '-hcl', '-with-vars', 'cl-inspect');
    expect(source.out).toBe('the text\n');
    expect(source.err).toBe("waybill job run -namespace=default -var 'a=it'\\''s' -var 'b=2' -var 'c=3' -\n");
    expect((await cli('inspect', '-hcl', '-json', 'x')).err).toBe('can only use one of -hcl or -json\n');
    expect((await cli('inspect', '-with-vars', 'x')).err).toBe('can only use -with-vars with -hcl\n');
  });

  it('CL-356: validate, with and without a server', async () => {
    const good = await file('good.json', job('good'));
    const bad = await file('bad.json', job('bad', { Priority: 1000 }));
    const nowhere = (where: string) => runCli('http://127.0.0.1:1', ['validate', where]);
    expect(await cli('job', 'validate', good)).toEqual({ code: 0, out: 'Job validation successful\n', err: '' });
    const refused = await cli('validate', bad);
    expect([refused.code, refused.out]).toEqual([1, '']);
    expect(refused.err).toMatch(/^Job validation errors:\n.*priority must be between/s);
    const alone = await nowhere(good);
    expect([alone.code, alone.out]).toEqual([0, 'Job validation successful\n']);
    expect(alone.err).toContain('Driver configuration not validated since connection to Waybill agent');
    expect((await nowhere(bad)).code).toBe(1);
  });
});
