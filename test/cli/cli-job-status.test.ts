import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RecordedApi } from '../support/recorded-api.js';

const EVAL = '6b4c1d2e-0000-4000-8000-000000000001';
const LATER = '7c4c1d2e-0000-4000-8000-000000000002';
const ALLOC = '0f9e8d7c-0000-4000-8000-000000000003';
const NODE = '1f3a9c2e-0000-4000-8000-000000000004';
const DEPLOYMENT = 'a1b2c3d4-0000-4000-8000-000000000005';

describe('job status and its neighbours', () => {
  let api: RecordedApi;
  let directory: string;
  const web = {
    ID: 'web',
    Name: 'web',
    Namespace: 'prod',
    Type: 'service',
    Priority: 50,
    NodePool: 'default',
    Status: 'running',
    Datacenters: ['*'],
  };
  const alloc = (more: object = {}) => ({
    ID: ALLOC,
    EvalID: EVAL,
    NodeID: NODE,
    NodeName: 'n1',
    Namespace: 'prod',
    TaskGroup: 'cache',
    JobVersion: 2,
    DesiredStatus: 'run',
    ClientStatus: 'failed',
    FollowupEvalID: '',
    CreateTime: 1,
    ModifyTime: 5,
    ...more,
  });
  const rowsOf = (out: string, title: string) =>
    (out.split(`\n${title}\n`)[1] ?? '')
      .split('\n\n')[0]
      ?.trimEnd()
      .split('\n')
      .map((row) => row.trimEnd().split(/ {2,}/));

  beforeEach(async () => {
    api = await RecordedApi.start();
    directory = await mkdtemp(path.join(tmpdir(), 'waybill-cli-'));
    api.play('GET /v1/jobs', [{ ID: 'web', Namespace: 'prod' }]);
    api.play('GET /v1/job/web', web);
    api.play('GET /v1/job/web/summary', { JobID: 'web', Summary: {}, Children: null });
    api.play('GET /v1/job/web/allocations', []);
    api.play('GET /v1/job/web/deployment', null);
    api.play('GET /v1/job/web/evaluations', []);
  });
  afterEach(async () => {
    api.stop();
    await rm(directory, { recursive: true });
  });

  const evaluation = (ID: string, CreateIndex: number, more: object = {}) => ({
    ID,
    Priority: 50,
    TriggeredBy: 'job-register',
    Status: 'complete',
    CreateIndex,
    ...more,
  });

  it('CL-314: -evals shows the evaluations', async () => {
    const failed = { FailedTGAllocs: { cache: {} } };
    api.play('GET /v1/job/web/evaluations', [evaluation(EVAL, 5, failed), evaluation(LATER, 6, { Status: 'blocked' })]);
    expect((await api.run(['job', 'status', 'web'])).out).not.toContain('Evaluations');
    expect(rowsOf((await api.run(['job', 'status', '-evals', 'web'])).out, 'Evaluations')).toEqual([
      ['ID', 'Priority', 'Triggered By', 'Status', 'Placement Failures'],
      ['6b4c1d2e', '50', 'job-register', 'complete', 'true'],
      ['7c4c1d2e', '50', 'job-register', 'blocked', 'N/A - In Progress'],
    ]);
  });

  it('CL-315: why the newest failed one could not place, five groups at most, only while one is blocked', async () => {
    const groups = (...names: string[]) =>
      Object.fromEntries(
        names.map((name) => [name, { NodesEvaluated: 1, NodesExhausted: 1, DimensionExhausted: { cpu: 1 } }]),
      );
    const failed = [
      evaluation(EVAL, 5, { FailedTGAllocs: groups('old') }),
      evaluation(LATER, 6, { FailedTGAllocs: groups('f', 'e', 'd', 'c', 'b', 'a') }),
    ];
    api.play('GET /v1/job/web/evaluations', failed);
    expect((await api.run(['job', 'status', 'web'])).out).not.toContain('Placement Failure');
    api.play('GET /v1/job/web/evaluations', [...failed, evaluation('x', 7, { Status: 'blocked' })]);
    const { out } = await api.run(['job', 'status', 'web']);
    expect(out).toContain(
      '\nPlacement Failure\nTask Group "a":\n  * Resources exhausted on 1 nodes\n  * Dimension "cpu" exhausted on 1 nodes\n\n',
    );
    expect(out.match(/Task Group "\w+":/g)).toHaveLength(5);
    expect(out).not.toContain('Task Group "old"');
    expect(out).toContain(`Placement failures truncated. To see remainder run:\nwaybill eval-status ${LATER}\n`);
  });

  it('CL-316: what will be rescheduled, of the newest allocation of each group', async () => {
    const WaitUntil = new Date(Date.now() + 3_600_000).toISOString();
    api.play('GET /v1/job/web/allocations', [
      alloc({ FollowupEvalID: EVAL }),
      alloc({ TaskGroup: 'old', FollowupEvalID: LATER, ModifyTime: 1 }),
      alloc({ TaskGroup: 'old', ModifyTime: 2 }),
      alloc({ TaskGroup: 'gone', FollowupEvalID: 'gone' }),
    ]);
    api.play(`GET /v1/evaluation/${EVAL}`, { ID: EVAL, WaitUntil });
    expect(rowsOf((await api.run(['job', 'status', 'web'])).out, 'Future Rescheduling Attempts')).toEqual([
      ['Task Group', 'Eval ID', 'Eval Time'],
      ['cache', '6b4c1d2e', expect.stringMatching(/^(1h|59m\d+s) from now$/)],
    ]);
    api.play(`GET /v1/evaluation/${EVAL}`, { ID: EVAL, WaitUntil: '2020-01-01T00:00:00Z' });
    expect((await api.run(['job', 'status', 'web'])).out).not.toContain('Future Rescheduling');
  });

  it('CL-317, CL-613: the latest deployment, actions, the allocations of this job only', async () => {
    const group = { DesiredTotal: 2, PlacedAllocs: 1, HealthyAllocs: 1, UnhealthyAllocs: 0 };
    api.play('GET /v1/job/web/deployment', {
      ID: DEPLOYMENT,
      JobID: 'web',
      Status: 'running',
      StatusDescription: 'd',
      TaskGroups: {
        b: {
          ...group,
          AutoRevert: true,
          DesiredCanaries: 1,
          Promoted: false,
          ProgressDeadline: 600e9,
          RequireProgressBy: '2026-03-01T10:00:00Z',
        },
        a: { ...group, AutoRevert: false, DesiredCanaries: 0, RequireProgressBy: null, ProgressDeadline: 0 },
      },
    });
    api.play('GET /v1/job/web', {
      ...web,
      TaskGroups: [{ Name: 'a', Tasks: [{ Name: 't', Actions: [{ Name: 'flush' }] }] }],
    });
    const { out } = await api.run(['job', 'status', 'web']);
    expect(out).toContain('\nLatest Deployment\nID          = a1b2c3d4\nStatus      = running\nDescription = d\n');
    const rows = rowsOf(out, 'Deployed');
    expect(rows?.map((row) => row[0])).toEqual(['Task Group', 'a', 'b']);
    expect(rows?.[0]?.slice(0, 9)).toEqual([
      'Task Group',
      'Auto Revert',
      'Promoted',
      'Desired',
      'Canaries',
      'Placed',
      'Healthy',
      'Unhealthy',
      'Progress Deadline',
    ]);
    expect(rows?.[1]?.slice(1, 3)).toEqual(['false', 'N/A']);
    expect(rowsOf(out, 'Actions')).toEqual([
      ['Action Name', 'Task Group', 'Task'],
      ['flush', 'a', 't'],
    ]);
    const asked = () =>
      api.seen
        .filter(({ line }) => line.endsWith('/allocations'))
        .at(-1)
        ?.query.get('all');
    expect(asked()).toBe('false');
    await api.run(['job', 'status', '-all-allocs', 'web']);
    expect(asked()).toBe('true');
  });

  it('CL-318, CL-1104: children of exactly this job, not of one whose ID begins so', async () => {
    api.play('GET /v1/job/web', { ...web, Periodic: { Enabled: true, Spec: '@daily', Specs: null, TimeZone: 'UTC' } });
    api.play('GET /v1/job/web/summary', { JobID: 'web', Summary: {}, Children: { Pending: 0, Running: 1, Dead: 2 } });
    api.play(
      'GET /v1/jobs',
      [web, { ...web, ID: 'web2' }],
      [
        { ...web, ID: 'web/periodic-1', ParentID: 'web' },
        { ...web, ID: 'web/periodic-2', ParentID: 'web2' },
      ],
    );
    const { out } = await api.run(['job', 'status', 'web']);
    expect(rowsOf(out, 'Children Job Summary')).toEqual([
      ['Pending', 'Running', 'Dead'],
      ['0', '1', '2'],
    ]);
    expect(rowsOf(out, 'Previously Launched Jobs')).toEqual([
      ['ID', 'Status'],
      ['web/periodic-1', 'running'],
    ]);
    api.play('GET /v1/jobs', [web], []);
    expect((await api.run(['job', 'status', 'web'])).out).toContain('\nNo instances of periodic job found\n');
  });

  it('CL-318: a parameterised job says what a dispatch takes', async () => {
    api.play('GET /v1/job/web', {
      ...web,
      ParameterizedJob: { Payload: 'optional', MetaRequired: ['a', 'b'], MetaOptional: null },
    });
    api.play('GET /v1/jobs', [web], []);
    const { out } = await api.run(['job', 'status', 'web']);
    expect(out).toContain(
      '\nParameterized Job\nPayload           = optional\nRequired Metadata = a, b\nOptional Metadata = <none>\n',
    );
    expect(out).toContain('\nNo dispatched instances of parameterized job found\n');
  });

  it('CL-312: what was dispatched is a job like others: its allocations, and no template for dispatches', async () => {
    const dispatched = { Dispatched: true, ParameterizedJob: { Payload: 'optional' }, TaskGroups: [] };
    api.play('GET /v1/job/web', { ...web, ...dispatched });
    api.play('GET /v1/job/web/allocations', [alloc()]);
    const { out } = await api.run(['job', 'status', 'web']);
    expect(out).toContain('Parameterized = false\n');
    expect(rowsOf(out, 'Allocations')).toHaveLength(2);
    expect(out).not.toContain('Parameterized Job');
  });

  it('CL-336: revert to a version or a tag', async () => {
    api.play('GET /v1/job/web/versions', { Versions: [{ Version: 4, VersionTag: { Name: 'good' } }, { Version: 3 }] });
    api.play('PUT /v1/job/web/revert', { EvalID: EVAL }, { EvalID: '' }, [500, 'no']);
    expect((await api.run(['job', 'revert', '-detach', 'web', 'good'])).out).toBe(`Evaluation ID: ${EVAL}\n`);
    expect(JSON.parse(api.seen.at(-1)?.body ?? '')).toEqual({ JobID: 'web', JobVersion: 4 });
    expect(await api.run(['job', 'revert', 'web', '3'])).toMatchObject({ code: 0, out: '' });
    expect((await api.run(['job', 'revert', 'web', 'bad'])).err).toBe(
      'Error retrieving job versions: version tag bad not found for job web\n',
    );
    expect((await api.run(['job', 'revert', 'web', '3'])).err).toBe(
      'Error retrieving job versions: Unexpected response code: 500 (no)\n',
    );
  });

  it('CL-256: the namespace and region in the job win over the flags; without them the flags count', async () => {
    const run = async (job: object) => {
      const file = path.join(directory, 'job.json');
      await writeFile(file, JSON.stringify({ Job: { ID: 'x', ...job } }));
      api.play('PUT /v1/jobs', { EvalID: '' });
      await api.run(['job', 'run', '-namespace=flag', '-region=flag', file]);
      return Object.fromEntries(api.seen.at(-1)?.query ?? []);
    };
    expect(await run({ Namespace: 'own', Region: 'mine' })).toMatchObject({ namespace: 'own', region: 'mine' });
    expect(await run({})).toMatchObject({ namespace: 'flag', region: 'flag' });
  });

  it('CL-257: options of other systems are taken', async () => {
    const file = path.join(directory, 'job.json');
    await writeFile(file, '{"ID": "x"}');
    api.play('PUT /v1/jobs', { EvalID: '' });
    const words = ['job', 'run', '-vault-namespace=a', '-consul-namespace=b', '-policy-override', file];
    expect((await api.run(words)).code).toBe(0);
    expect(JSON.parse(api.seen.at(-1)?.body ?? '')).toMatchObject({ PolicyOverride: true });
  });

  it('CL-174: how to get the next page: the command as typed, with another token', async () => {
    api.play('GET /v1/evaluations', (response) => {
      response.writeHead(200, { 'X-Nomad-NextToken': 'next' });
      response.end('[{"ID": "6b4c1d2e", "Status": "complete"}]');
    });
    for (const given of [['-page-token', 'x'], ['-page-token=x'], ['--page-token=x'], []]) {
      const { out } = await api.run(['eval', 'list', '-per-page', '1', ...given]);
      expect(out.split('\n\n').slice(1).join('\n\n')).toBe(
        'Results have been paginated. To get the next page run:\n\nwaybill eval list -per-page 1 -page-token next\n',
      );
    }
  });

  it('CL-401: without an ID and with a format all allocations; without one an error', async () => {
    api.play('GET /v1/allocations', [alloc()]);
    expect(JSON.parse((await api.run(['alloc', 'status', '-json'])).out)).toEqual([alloc()]);
    expect((await api.run(['alloc', 'status', '-t', '{{len .}}'])).out).toBe('1\n');
    const { code, err } = await api.run(['alloc', 'status']);
    expect([code, err.split('\n')[0]]).toEqual([1, 'This command takes one of the following argument conditions:']);
  });

  it('CL-416: an allocation of a job, running ones first; none says so', async () => {
    api.play('GET /v1/job/web/allocations', [alloc({ ID: 'x' }), alloc({ ClientStatus: 'running' })]);
    api.play(`GET /v1/client/fs/stat/${ALLOC}`, { Name: 'f', IsDir: true, Size: 1, FileMode: 'd', ModTime: 't' });
    api.play(`GET /v1/client/fs/ls/${ALLOC}`, []);
    expect((await api.run(['alloc', 'fs', '-job', 'web'])).code).toBe(0);
    expect((await api.run(['alloc', 'fs', '-job', '-group=nope', 'web'])).err).toBe(
      'Error fetching allocations: task group "nope" doesn\'t exist or it has no allocations\n',
    );
    api.play('GET /v1/job/web/allocations', []);
    expect((await api.run(['alloc', 'logs', '-job', 'web'])).err).toBe(
      'Error fetching allocations: job "web" doesn\'t exist or it has no allocations\n',
    );
  });

  it('CL-603, CL-213: deployment status -monitor prints a block per change, and exits with 0 unless told otherwise', async () => {
    const running = {
      ID: DEPLOYMENT,
      JobID: 'web',
      Namespace: 'prod',
      JobVersion: 1,
      Status: 'running',
      StatusDescription: 'd',
      TaskGroups: {},
    };
    const failed = { ...running, Status: 'failed', StatusDescription: 'bad' };
    api.play('GET /v1/deployments', [running]);
    api.play(`GET /v1/deployment/${DEPLOYMENT}`, running, running, running, failed);
    const first = await api.run(['deployment', 'status', '-monitor', 'a1b2']);
    expect(first.code).toBe(0);
    expect(first.out).toMatch(/^<ts>: Monitoring deployment "a1b2c3d4"\n\n<ts>\nID /);
    expect(first.out.match(/^Status /gm)).toHaveLength(2);
    expect((await api.run(['deployment', 'status', '-monitor', '-exit-code', 'a1b2'])).code).toBe(1);
  });

  it('CL-215, CL-216, CL-1102: a failed deployment that is undone is followed to its rollback, in its namespace; none is no crash', async () => {
    const failed = {
      ID: DEPLOYMENT,
      JobID: 'web',
      Namespace: 'prod',
      JobVersion: 1,
      Status: 'failed',
      StatusDescription: 'bad',
      TaskGroups: { a: { AutoRevert: true, DesiredTotal: 1, PlacedAllocs: 1, HealthyAllocs: 0, UnhealthyAllocs: 1 } },
    };
    const back = { ...failed, ID: LATER, JobVersion: 2, Status: 'successful', StatusDescription: 'good' };
    api.play('GET /v1/deployments', [failed]);
    api.play(`GET /v1/deployment/${DEPLOYMENT}`, failed);
    api.play(`GET /v1/deployment/${LATER}`, back);
    api.play('GET /v1/job/web/deployment', null, back);
    const { code, out } = await api.run(['deployment', 'status', '-monitor', '-exit-code', 'a1b2']);
    expect(code).toBe(1);
    expect(out).toContain('Description = good');
    const looks = api.seen.filter(({ line }) => line === 'GET /v1/job/web/deployment');
    expect(looks.map(({ query }) => query.get('namespace'))).toEqual(['prod', 'prod']);
  });
});
