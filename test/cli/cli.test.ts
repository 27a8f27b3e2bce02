import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RecordedApi } from '../support/recorded-api.js';

const EVAL = '6b4c1d2e-0000-4000-8000-000000000001';
const ALLOC = '0f9e8d7c-0000-4000-8000-000000000002';
const NODE = '1f3a9c2e-0000-4000-8000-000000000003';
const DEPLOYMENT = 'a1b2c3d4-0000-4000-8000-000000000004';

const tasks = (...names: string[]) => ({
  Version: 3,
  TaskGroups: [{ Name: 'cache', Tasks: names.map((Name) => ({ Name })) }],
});

describe('the command line against recorded answers of the API', () => {
  let api: RecordedApi;
  let directory: string;

  beforeEach(async () => {
    api = await RecordedApi.start();
    directory = await mkdtemp(path.join(tmpdir(), 'waybill-cli-'));
  });

  afterEach(async () => {
    api.stop();
    await rm(directory, { recursive: true, force: true });
  });

  const play: RecordedApi['play'] = (line, ...answers) => api.play(line, ...answers);
  const run: RecordedApi['run'] = (...call) => api.run(...call);

  async function jobFile(job: object): Promise<string> {
    const file = path.join(directory, 'job.json');
    await writeFile(file, JSON.stringify(job));
    return file;
  }

  const registered = { EvalID: EVAL, EvalCreateIndex: 9, JobModifyIndex: 9, Warnings: '', Index: 9 };
  const placed = {
    ID: ALLOC,
    EvalID: EVAL,
    NodeID: NODE,
    Namespace: 'default',
    TaskGroup: 'cache',
    JobVersion: 0,
    DesiredStatus: 'run',
    ClientStatus: 'pending',
    CreateIndex: 9,
  };
  const deployment = {
    ID: DEPLOYMENT,
    JobID: 'web',
    Namespace: 'default',
    JobVersion: 0,
    Status: 'successful',
    StatusDescription: 'Deployment completed successfully',
    TaskGroups: {
      cache: {
        DesiredTotal: 1,
        PlacedAllocs: 1,
        HealthyAllocs: 1,
        UnhealthyAllocs: 0,
        ProgressDeadline: 0,
        DesiredCanaries: 0,
      },
    },
  };

  describe('job run', () => {
    it('CL-201 to CL-207: prints what the scheduler does, then the deployment, and exits 0', async () => {
      play('PUT /v1/jobs', registered);
      const evaluation = { ID: EVAL, JobID: 'web', Namespace: 'default', CreateIndex: 9 };
      play(
        `GET /v1/evaluation/${EVAL}`,
        { ...evaluation, Status: 'pending' },
        { ...evaluation, Status: 'complete', DeploymentID: DEPLOYMENT },
      );
      play(`GET /v1/evaluation/${EVAL}/allocations`, [], [placed]);
      play(`GET /v1/deployment/${DEPLOYMENT}`, deployment);
      const { code, out } = await run(['job', 'run', await jobFile({ ID: 'web', Namespace: 'dev' })]);
      expect(out).toBe(
        [
          '==> <ts>: Monitoring evaluation "6b4c1d2e"',
          '    <ts>: Evaluation triggered by job "web"',
          '    <ts>: Evaluation within deployment: "a1b2c3d4"',
          '    <ts>: Allocation "0f9e8d7c" created: node "1f3a9c2e", group "cache"',
          '    <ts>: Evaluation status changed: "pending" -> "complete"',
          '==> <ts>: Evaluation "6b4c1d2e" finished with status "complete"',
          '==> <ts>: Monitoring deployment "a1b2c3d4"',
          '    ',
          '<ts>',
          'ID          = a1b2c3d4',
          'Job ID      = web',
          'Job Version = 0',
          'Status      = successful',
          'Description = Deployment completed successfully',
          '',
          'Deployed',
          'Task Group  Desired  Placed  Healthy  Unhealthy',
          'cache       1        1       1        0',
          '',
        ].join('\n'),
      );
      expect(code).toBe(0);
      expect(api.seen[0]?.query.get('namespace'), 'CL-256: the namespace of the job').toBe('dev');
      expect(JSON.parse(api.seen[0]?.body ?? '')).toMatchObject({ Job: { ID: 'web' }, EnforceIndex: false });
    });

    it('CL-205, CL-207: placement failures without a deployment exit 2', async () => {
      play('PUT /v1/jobs', registered);
      play(`GET /v1/evaluation/${EVAL}`, {
        ID: EVAL,
        JobID: 'web',
        Status: 'complete',
        BlockedEval: '77777777-0000',
        FailedTGAllocs: {
          cache: { NodesEvaluated: 1, NodesExhausted: 1, DimensionExhausted: { memory: 1 }, CoalescedFailures: 1 },
        },
      });
      play(`GET /v1/evaluation/${EVAL}/allocations`, []);
      const { code, out } = await run(['run', await jobFile({ Job: { ID: 'web' } })]);
      expect(out).toContain(
        [
          'finished with status "complete" but failed to place all allocations:',
          '    <ts>: Task Group "cache" (failed to place 2 allocations):',
          '      * Resources exhausted on 1 nodes',
          '      * Dimension "memory" exhausted on 1 nodes',
          '    <ts>: Evaluation "77777777" waiting for additional capacity to place remainder',
        ].join('\n'),
      );
      expect(code).toBe(2);
    });

    it('CL-207: a deployment that fails exits 1, also when everything was placed', async () => {
      play('PUT /v1/jobs', registered);
      play(`GET /v1/evaluation/${EVAL}`, { ID: EVAL, JobID: 'web', Status: 'complete', DeploymentID: DEPLOYMENT });
      play(`GET /v1/evaluation/${EVAL}/allocations`, [placed]);
      play(`GET /v1/deployment/${DEPLOYMENT}`, { ...deployment, Status: 'failed' });
      expect((await run(['run', await jobFile({ ID: 'web' })])).code).toBe(1);
    });

    it('CL-304: detached it says where to look; CL-166: warnings come first; CL-305: verbose shows the trace', async () => {
      play('PUT /v1/jobs', { ...registered, Warnings: 'careful' });
      const { code, out } = await run(['job', 'run', '-detach', '-verbose', await jobFile({ ID: 'web' })]);
      expect(out).toBe(
        `Job Warnings:\ncareful\n\nTrace ID: ${'ab'.repeat(16)}\nJob registration successful\nEvaluation ID: ${EVAL}\n`,
      );
      expect(code).toBe(0);
    });

    it('CL-302, CL-303: the check index is sent, and its refusal is printed alone', async () => {
      play('PUT /v1/jobs', [500, 'Enforcing job modify index 7: job does not exist']);
      const { code, err } = await run(['run', '-check-index', '7', await jobFile({ ID: 'web' })]);
      expect([code, err]).toEqual([1, 'Enforcing job modify index 7: job does not exist\nJob not updated\n']);
      expect(JSON.parse(api.seen[0]?.body ?? '')).toMatchObject({ EnforceIndex: true, JobModifyIndex: 7 });
      expect((await run(['run', '-check-index=x', 'f'])).err).toMatch(/^Error parsing check-index value "x": /);
    });

    it('CL-301, CL-126: -output sends nothing and keeps every digit', async () => {
      const file = path.join(directory, 'big.json');
      await writeFile(file, '{"job":{"ID":"web","SubmitTime":1763686800123456789}}');
      const { code, out } = await run(['run', '-output', file]);
      expect([code, out, api.seen.length]).toEqual([
        0,
        '{\n    "Job": {\n        "ID": "web",\n        "SubmitTime": 1763686800123456789\n    }\n}\n',
        0,
      ]);
    });

    it('CL-251, CL-252, CL-254: files that cannot be used', async () => {
      expect((await run(['run', '/nowhere/x.json'])).err).toMatch(
        /^Error getting job struct: Error getting jobfile from "\/nowhere\/x\.json": /,
      );
      const broken = path.join(directory, 'broken.json');
      await writeFile(broken, '{"ID": ');
      expect((await run(['run', '-json', broken])).err).toMatch(
        /^Error getting job struct: Failed to parse JSON job: /,
      );
      expect((await run(['run', '-var', 'a=b', broken])).err).toBe(
        'Invalid job options: cannot use variables with JSON files.\n',
      );
    });

    it('CL-1115, CL-208: the monitor goes on when the server fails for a moment', async () => {
      play('PUT /v1/jobs', registered);
      play(`GET /v1/evaluation/${EVAL}`, [503, 'database away'], { ID: EVAL, JobID: 'web', Status: 'complete' });
      play(`GET /v1/evaluation/${EVAL}/allocations`, []);
      const { code, err } = await run(['run', await jobFile({ ID: 'web' })]);
      expect(code).toBe(0);
      expect(err).toBe(
        'Failed fetching evaluation: Unexpected response code: 503 (database away), retrying in 1s (attempt 1/10)\n',
      );
    });

    it('CL-208: an evaluation that cannot be found', async () => {
      play('PUT /v1/jobs', registered);
      const { code, err } = await run(['run', await jobFile({ ID: 'web' })]);
      expect([code, err]).toEqual([1, `==> No evaluation with id "${EVAL}" found\n`]);
    });
  });

  const stub = (ID: string, Namespace = 'default') => ({
    ID,
    Namespace,
    Type: 'service',
    Priority: 50,
    Status: 'running',
    SubmitTime: 1_772_359_200_000_000_000,
    JobSummary: {},
  });

  describe('job status and stop', () => {
    it('CL-311: the list, sorted; CL-311 empty; CL-154 namespace column for all namespaces', async () => {
      play(
        'GET /v1/jobs',
        [
          { ...stub('web'), Stop: true },
          { ...stub('api', 'dev'), Periodic: true },
        ],
        [],
      );
      expect((await run(['status', '-namespace', '*'])).out).toBe(
        [
          'ID   Namespace  Type              Priority  Status             Submit Date',
          'api  dev        service/periodic  50        running            <ts>',
          'web  default    service           50        running (stopped)  <ts>',
          '',
        ].join('\n'),
      );
      expect((await run(['job', 'status'])).out).toBe('No running jobs\n');
    });

    it('CL-312, CL-313, CL-317: one job', async () => {
      play('GET /v1/jobs', [stub('web'), stub('web-2')]);
      play('GET /v1/job/web', { ...stub('web'), Name: 'web', Datacenters: ['*'], NodePool: 'default', TaskGroups: [] });
      play('GET /v1/job/web/summary', { JobID: 'web', Summary: { cache: { Running: 1 } }, Children: null });
      play('GET /v1/job/web/allocations', [{ ...placed, ClientStatus: 'running', FollowupEvalID: '' }]);
      play('GET /v1/job/web/deployment', deployment);
      play('GET /v1/job/web/evaluations', []);
      const { code, out } = await run(['job', 'status', 'web']);
      expect(code).toBe(0);
      expect(out).toBe(
        [
          'ID            = web',
          'Name          = web',
          'Submit Date   = <ts>',
          'Type          = service',
          'Priority      = 50',
          'Datacenters   = *',
          'Namespace     = default',
          'Node Pool     = default',
          'Status        = running',
          'Periodic      = false',
          'Parameterized = false',
          '',
          'Summary',
          'Task Group  Queued  Starting  Running  Failed  Complete  Lost  Unknown',
          'cache       0       0         1        0       0         0     0',
          '',
          'Latest Deployment',
          'ID          = a1b2c3d4',
          'Status      = successful',
          'Description = Deployment completed successfully',
          '',
          'Deployed',
          'Task Group  Desired  Placed  Healthy  Unhealthy',
          'cache       1        1       1        0',
          '',
          'Allocations',
          'ID        Node ID   Task Group  Version  Desired  Status   Created  Modified',
          '0f9e8d7c  1f3a9c2e  cache       0        run      running  <none>   <none>',
          '',
        ].join('\n'),
      );
      expect(api.seen[0]?.query.get('per_page')).toBe('20');
      const json = JSON.parse((await run(['job', 'status', '-json', 'web'])).out) as object[];
      expect(Object.keys(json[0] ?? {}), 'CL-319').toEqual([
        'Summary',
        'Allocations',
        'LatestDeployment',
        'Evaluations',
      ]);
    });

    it('CL-151, CL-153: none, several, not allowed to list', async () => {
      play('GET /v1/jobs', [], [stub('web-1'), stub('web-2')], [403, 'Permission denied'], [500, 'broken']);
      expect((await run(['job', 'status', ' web '])).err).toBe('No job(s) with prefix or ID "web" found\n');
      const several = await run(['job', 'status', 'web']);
      expect(several.err).toMatch(/^Prefix "web" matched multiple jobs\n\nID {5}Type .*\nweb-1 .*\nweb-2 .*\n$/);
      expect(several.code).toBe(1);
      await run(['job', 'status', '-short', 'we/b']);
      expect(api.seen.at(-1)?.line).toBe('GET /v1/job/we%2Fb');
      expect((await run(['job', 'status', 'web'])).err).toBe(
        'Error querying job prefix "web": Unexpected response code: 500 (broken)\n',
      );
    });

    it('CL-331, CL-333, CL-1114: several jobs, one unknown: the others are stopped, exit 1', async () => {
      play('GET /v1/jobs', (response, { query }) => {
        const prefix = query.get('prefix') ?? '';
        response.end(JSON.stringify(prefix === 'gone' ? [] : [stub(prefix, 'dev')]));
      });
      play('DELETE /v1/job/a', { EvalID: EVAL });
      play('DELETE /v1/job/b', { EvalID: '' });
      const { code, out, err } = await run(['stop', '-detach', 'a', 'gone', 'b']);
      expect([code, out, err]).toEqual([1, `${EVAL}\n`, 'No job(s) with prefix or ID "gone" found\n']);
      const deletes = api.seen.filter(({ line }) => line.startsWith('DELETE'));
      expect(
        deletes.map(({ query }) => query.get('namespace')),
        'CL-1113',
      ).toEqual(['dev', 'dev']);
    });
  });

  describe('allocations', () => {
    const frames = (text: string, heartbeat = '{}') =>
      `${heartbeat}${JSON.stringify({ Offset: 1, Data: Buffer.from(text).toString('base64'), File: 'f' })}`;

    it('CL-402, CL-405, CL-407: status', async () => {
      play('GET /v1/allocations', [placed]);
      play(`GET /v1/allocation/${ALLOC}`, {
        ...placed,
        Name: 'web.cache[0]',
        JobID: 'web',
        Job: tasks('redis'),
        ClientStatus: 'running',
        TaskStates: {
          redis: {
            State: 'running',
            Restarts: 0,
            StartedAt: '2026-03-01T10:00:00Z',
            Events: [
              { Type: 'Received', Time: 1_772_359_200_000_000_000, DisplayMessage: 'Task received by client' },
              { Type: 'Started', Time: 1_772_359_201_000_000_000, DisplayMessage: 'Task started by client' },
            ],
          },
        },
      });
      const { code, out, err } = await run(['alloc', 'status', '0f9e']);
      expect(code).toBe(0);
      expect(out).toContain(`ID                  = ${ALLOC}\nEval ID             = 6b4c1d2e\n`);
      expect(out).toContain('Job Version         = 3\n');
      expect(out).toContain('\nTask "redis" is "running"\nTask Events:\nStarted At     = <ts>\nFinished At    = N/A\n');
      expect(out).toContain(
        'Time                  Type      Description\n<ts>  Started   Task started by client\n<ts>  Received ',
      );
      expect(err).toBe("Couldn't retrieve stats: Unexpected response code: 404\n");
      expect(api.seen[0]?.query.get('prefix')).toBe('0f9e');
    });

    it('CL-410, CL-1106: an allocation without anything does not crash it', async () => {
      play('GET /v1/allocations', [placed]);
      play(`GET /v1/allocation/${ALLOC}`, { ID: ALLOC });
      for (const flags of [[], ['-verbose'], ['-short']])
        expect((await run(['alloc', 'status', ...flags, ALLOC])).code).toBe(0);
    });

    it('CL-156: nothing found is an error; several matches are an answer of alloc status alone', async () => {
      play('GET /v1/allocations', [], [placed, { ...placed, ID: '0f9e0000-0000-4000-8000-000000000009' }]);
      expect((await run(['alloc', 'status', 'ffff'])).err).toBe('No allocation(s) with prefix or id "ffff" found\n');
      const several = await run(['alloc', 'status', '0f9e']);
      expect(several.code).toBe(0);
      expect(several.out).toMatch(/^Prefix matched multiple allocations\n\nID /);
      expect((await run(['alloc', 'logs', '0f9e'])).code).toBe(1);
    });

    it('CL-413, CL-415: logs of the only task, from the start', async () => {
      play('GET /v1/allocations', [placed]);
      play(`GET /v1/allocation/${ALLOC}`, { ...placed, Job: tasks('redis') });
      play(`GET /v1/client/fs/logs/${ALLOC}`, (response) => response.end(frames('hello\n') + frames('\u001b[1mworld')));
      expect((await run(['logs', '-stderr', '0f9e'])).out).toBe('hello\n\u001b[1mworld');
      expect(Object.fromEntries(api.seen.at(-1)?.query ?? [])).toEqual({
        namespace: 'default',
        task: 'redis',
        type: 'stderr',
        follow: 'false',
        origin: 'start',
        offset: '0',
      });
      expect((await run(['logs', '-tail', '-n', '1', '0f9e'])).out).toBe('\u001b[1mworld');
      expect(Object.fromEntries(api.seen.at(-1)?.query ?? [])).toMatchObject({ origin: 'end', offset: '120' });
    });

    it('CL-413: -f alone follows both outputs, each to its own', async () => {
      play('GET /v1/allocations', [placed]);
      play(`GET /v1/allocation/${ALLOC}`, { ...placed, Job: tasks('redis') });
      play(`GET /v1/client/fs/logs/${ALLOC}`, (response, { query }) => response.end(frames(`${query.get('type')}\n`)));
      const { code, out, err } = await run(['alloc', 'logs', '-f', '0f9e']);
      expect([code, out, err]).toEqual([0, 'stdout\n', 'stderr\n']);
      expect(api.seen.slice(-2).map(({ query }) => query.get('origin'))).toEqual(['end', 'end']);
    });

    it('CL-415: Ctrl-C while following is no failure', async () => {
      play('GET /v1/allocations', [placed]);
      play(`GET /v1/allocation/${ALLOC}`, { ...placed, Job: tasks('redis') });
      play(`GET /v1/client/fs/logs/${ALLOC}`, (response) => void response.write(frames('one\n')));
      const { code, err } = await run(['logs', '-f', '-stdout', '0f9e'], {}, /one/);
      expect([code, err]).toEqual([0, '']);
    });

    it('CL-411, CL-412, CL-414, CL-415: refusals', async () => {
      play('GET /v1/allocations', [placed]);
      play(`GET /v1/allocation/${ALLOC}`, { ...placed, Job: tasks('a', 'b') });
      play(`GET /v1/client/fs/logs/${ALLOC}`, [404, 'task "a" not started yet. No logs available']);
      const err = async (...words: string[]) => (await run(['alloc', 'logs', ...words])).err;
      expect(await err()).toBe("An allocation ID is required\nFor additional help try 'waybill alloc logs -help'\n");
      expect(await err('a', 'b', 'c')).toMatch(/^This command takes one or two arguments\n/);
      expect(await err('-n=1', '-c=1', 'x')).toBe('both -n and -c set\n');
      expect(await err('-stdout', '-stderr', 'x')).toBe('Unable to support both stdout and stderr\n');
      expect(await err('0f9e')).toBe(
        'Failed to validate task: Allocation "0f9e8d7c" is running the following tasks:\n  * a\n  * b\n\nPlease specify the task.\n',
      );
      expect(await err('-task', 'c', '0f9e')).toBe(
        'Failed to validate task: Could not find task named: c, found:\na\nb\n',
      );
      expect(await err('0f9e', 'a')).toBe(
        'Failed to read stdout file: Unexpected response code: 404 (task "a" not started yet. No logs available)\n',
      );
    });
  });

  describe('actions on an allocation', () => {
    const job = { ...tasks('web', 'proxy'), Type: 'service' };
    beforeEach(() => {
      play('GET /v1/allocations', [placed]);
      play(`GET /v1/allocation/${ALLOC}`, { ...placed, Job: job });
    });

    it('JR-992, CL-155, CL-156: which allocation is meant', async () => {
      const restart = (prefix: string) => run(['alloc', 'restart', prefix]);
      expect((await restart('0')).err).toBe('Alloc ID must contain at least two characters.\n');
      play('GET /v1/allocations', []);
      expect((await restart('0f9')).err).toBe('No allocation(s) with prefix or id "0f9" found\n');
      expect(api.seen.at(-1)?.query.get('prefix')).toBe('0f');
      play('GET /v1/allocations', [placed, { ...placed, ID: '0fffffff-0000-4000-8000-000000000009' }]);
      const several = await restart('0f');
      expect([several.code, several.out]).toEqual([1, '']);
      expect(several.err).toMatch(/^Prefix matched multiple allocations\n\nID .*\n0f9e8d7c .*\n0fffffff .*\n$/);
    });

    it('JR-991, JR-994: restart is one call; success prints nothing', async () => {
      play(`PUT /v1/client/allocation/${ALLOC}/restart`, { Index: 0 });
      for (const [words, body] of [
        [[], { TaskName: '', AllTasks: false }],
        [['-all-tasks'], { TaskName: '', AllTasks: true }],
        [['-task', 'web'], { TaskName: 'web', AllTasks: false }],
      ] as const) {
        const { code, out, err } = await run(['alloc', 'restart', ...words, '0f9e']);
        expect([code, out, err]).toEqual([0, '', '']);
        expect(JSON.parse(api.seen.at(-1)?.body ?? '')).toEqual(body);
      }
      await run(['alloc', 'restart', '-task=proxy', '0f9e', 'web']);
      expect(JSON.parse(api.seen.at(-1)?.body ?? '')).toMatchObject({ TaskName: 'proxy' });
    });

    it('JR-991, JR-993, JR-994: what restart refuses', async () => {
      play(`PUT /v1/client/allocation/${ALLOC}/restart`, [500, 'Task not running']);
      const err = async (...words: string[]) => (await run(['alloc', 'restart', ...words])).err;
      expect(await err()).toMatch(/^This command takes one or two arguments: <alloc-id> <task-name>\n/);
      expect(await err('-all-tasks', '0f9e', 'web')).toBe(
        'The -all-tasks option is not allowed when restarting a specific task.\n',
      );
      expect(await err('0')).toBe('Alloc ID must contain at least two characters.\n');
      expect(await err('0f9e', 'x')).toBe('Could not find task named: x, found:\nweb\nproxy\n');
      expect(await err('0f9e', 'web')).toBe(
        'Failed to restart task:\n\nUnexpected response code: 500 (Task not running)\n',
      );
      expect(await err('0f9e')).toMatch(/^Failed to restart allocation:\n\nUnexpected response code: 500/);
      play(`GET /v1/allocation/${ALLOC}`, { ...placed, TaskGroup: 'other', Job: job });
      expect(await err('0f9e', 'web')).toBe('Could not find allocation task group: other\n');
      play(`GET /v1/allocation/${ALLOC}`, placed);
      expect(await err('0f9e', 'web')).toMatch(/^Failed to restart task:/);
    });

    it('CL-442: signal', async () => {
      play(`PUT /v1/client/allocation/${ALLOC}/signal`, { Index: 0 });
      expect(await run(['alloc', 'signal', '0f9e'])).toEqual({ code: 0, out: '', err: '' });
      expect(JSON.parse(api.seen.at(-1)?.body ?? '')).toEqual({ Task: '', Signal: 'SIGKILL' });
      await run(['alloc', 'signal', '-s', 'SIGHUP', '0f9e', 'web']);
      expect(JSON.parse(api.seen.at(-1)?.body ?? '')).toEqual({ Task: 'web', Signal: 'SIGHUP' });
      expect((await run(['alloc', 'signal', '0f9e', 'x'])).err).toMatch(/^Could not find task named: x, found:/);
      play(`PUT /v1/client/allocation/${ALLOC}/signal`, [500, 'Task not running']);
      expect((await run(['alloc', 'signal', '0f9e'])).err).toBe(
        'Error signalling allocation: Unexpected response code: 500 (Task not running)\n',
      );
    });

    it('CL-441: stop, detached or watched; batch is rescheduled', async () => {
      play(`PUT /v1/allocation/${ALLOC}/stop`, { EvalID: EVAL, Index: 9 });
      play(`GET /v1/evaluation/${EVAL}`, { ID: EVAL, JobID: 'web', Status: 'complete' });
      play(`GET /v1/evaluation/${EVAL}/allocations`, []);
      expect((await run(['alloc', 'stop', '-detach', '0f9e'])).out).toBe(`${EVAL}\n`);
      expect(Object.fromEntries(api.seen.at(-1)?.query ?? [])).toEqual({ namespace: 'default' });
      const { code, out } = await run(['alloc', 'stop', '-no-shutdown-delay', '0f9e']);
      expect([code, out.includes('finished with status "complete"')]).toEqual([0, true]);
      play(`GET /v1/allocation/${ALLOC}`, { ...placed, Job: { ...job, Type: 'batch' } });
      await run(['alloc', 'stop', '-no-shutdown-delay', '-detach', '0f9e']);
      expect(Object.fromEntries(api.seen.at(-1)?.query ?? [])).toEqual({
        namespace: 'default',
        no_shutdown_delay: 'true',
        reschedule: 'true',
      });
      play(`PUT /v1/allocation/${ALLOC}/stop`, [404, 'allocation not found']);
      expect((await run(['alloc', 'stop', '0f9e'])).err).toBe(
        'Error stopping allocation: Unexpected response code: 404 (allocation not found)\n',
      );
    });

    it('CL-405, CL-406, CL-408, CL-146: use beside what was asked for, and with -stats all that was measured', async () => {
      const usage = {
        MemoryStats: { RSS: 5 << 20, Swap: 0, Measured: ['RSS', 'Swap'] },
        CpuStats: { SystemMode: 1, UserMode: 2.5, Percent: 3.5, TotalTicks: 35.7, Measured: ['User Mode', 'Percent'] },
      };
      play(`GET /v1/client/allocation/${ALLOC}/stats`, {
        ResourceUsage: usage,
        Tasks: {
          web: { ResourceUsage: usage },
          // A kernel that does not tell the resident memory, and one that measured none.
          untold: { ResourceUsage: { MemoryStats: { RSS: 0, Usage: 7 << 20, Measured: ['Usage'] } } },
          none: { ResourceUsage: { MemoryStats: { RSS: 0, Usage: 9 << 20, Measured: ['RSS', 'Usage'] } } },
        },
      });
      const asked = { Cpu: { CpuShares: 100 }, Memory: { MemoryMB: 64 } };
      play(`GET /v1/allocation/${ALLOC}`, {
        ...placed,
        Job: job,
        TaskStates: { web: { State: 'running' }, untold: { State: 'running' }, none: { State: 'running' } },
        AllocatedResources: { Tasks: { web: asked, untold: asked, none: asked } },
      });
      const { code, out, err } = await run(['alloc', 'status', '-stats', '0f9e']);
      expect([code, err]).toEqual([0, '']);
      expect(out).toContain('35/100 MHz  5.0 MiB/64 MiB');
      expect(out).toMatch(/Task "untold" [^]*? 7\.0 MiB\/64 MiB/);
      expect(out).toMatch(/Task "none" [^]*? 0 B\/64 MiB/);
      expect(out).toContain('Memory Stats\nRSS      Swap\n5.0 MiB  0 B\n');
      expect(out).toContain('CPU Stats\nPercent  User Mode\n3.50%    2.50%\n');
    });

    it('CL-409: -short is a row per task, with the last that happened to it', async () => {
      const Events = [
        { Type: 'Received', Time: 1_772_359_200_000_000_000 },
        { Type: 'Started', Time: 1_772_359_201_000_000_000 },
      ];
      play(`GET /v1/allocation/${ALLOC}`, {
        ...placed,
        Name: 'web.cache[0]',
        TaskStates: { web: { State: 'running', Events }, fetch: { State: 'dead' }, proxy: { State: 'running' } },
        AllocatedResources: {
          Tasks: {},
          TaskLifecycles: { fetch: { Hook: 'prestart' }, proxy: { Hook: 'prestart', Sidecar: true }, web: null },
        },
      });
      const [list = '', tasks = ''] = (await run(['alloc', 'status', '-short', '0f9e'])).out.split('\nTasks\n');
      expect(list.split('\n').map((row) => row.split(' ')[0])).toEqual(['ID', 'Name', 'Created', 'Modified', '']);
      expect(
        tasks
          .trim()
          .split('\n')
          .map((row) => row.split(/ {2,}/)),
      ).toEqual([
        ['Name', 'State', 'Last Event', 'Time', 'Lifecycle'],
        ['fetch', 'dead', '<none>', '<none>', 'prestart'],
        ['proxy', 'running', '<none>', '<none>', 'prestart sidecar'],
        ['web', 'running', 'Started', '<ts>', 'main'],
      ]);
    });

    it('CL-409, CL-222: -verbose ends with the placement, and the scores of the nodes', async () => {
      const ScoreMetaData = [{ NodeID: NODE, Scores: { binpack: 0.5 }, NormScore: 0.5 }];
      play(`GET /v1/allocation/${ALLOC}`, { ...placed, Metrics: { NodesEvaluated: 1, ScoreMetaData } });
      const { out } = await run(['alloc', 'status', '-verbose', '0f9e']);
      expect(out.split('\nPlacement Metrics\n')[1]?.replaceAll(/ {2,}/g, '  ')).toBe(
        `  Node  binpack  final score\n  ${NODE}  0.5  0.5\n`,
      );
    });

    it('CL-444: pausing is refused with what the server says', async () => {
      const pause = `/v1/client/allocation/${ALLOC}/pause`;
      play(`PUT ${pause}`, [501, 'Nomad Enterprise only endpoint']);
      play(`GET ${pause}`, [501, 'Nomad Enterprise only endpoint']);
      for (const words of [['-state=pause'], ['-status'], []])
        expect(await run(['alloc', 'pause', ...words, '0f9e', 'web'])).toMatchObject({
          code: 1,
          err: 'Error pausing task: Unexpected response code: 501 (Nomad Enterprise only endpoint)\n',
        });
    });

    it('CL-1108: following goes on over empty frames, a task that restarts and a file that is rotated', async () => {
      const data = (text: string, File: string) => ({ Offset: 1, Data: Buffer.from(text).toString('base64'), File });
      const sent = [
        {},
        data('one\n', 'web.stdout.0'),
        { File: 'web.stdout.0', Data: '' },
        {},
        { FileEvent: 'file deleted', File: 'web.stdout.0' },
        data('two\n', 'web.stdout.1'),
        { FileEvent: 'file truncated', File: 'web.stdout.1' },
        data('three\n', 'web.stdout.1'),
      ];
      play(`GET /v1/client/fs/logs/${ALLOC}`, (response, { query }) => {
        if (query.get('type') === 'stdout') for (const one of sent) response.write(JSON.stringify(one));
        response.end();
      });
      expect(await run(['alloc', 'logs', '-f', '0f9e', 'web'])).toMatchObject({
        code: 0,
        out: 'one\ntwo\nthree\n',
        err: '',
      });
    });
  });

  it('CL-501: nodes, in short, quiet and refused', async () => {
    play('GET /v1/nodes', [
      {
        ID: NODE,
        NodePool: 'default',
        Datacenter: 'dc1',
        Name: 'n1',
        NodeClass: '',
        Drain: false,
        SchedulingEligibility: 'eligible',
        Status: 'ready',
      },
    ]);
    expect((await run(['node', 'status'])).out).toBe(
      'ID        Node Pool  DC   Name  Class   Drain  Eligibility  Status\n' +
        '1f3a9c2e  default    dc1  n1    <none>  false  eligible     ready\n',
    );
    expect((await run(['node', 'status', '-quiet'])).out).toBe(`${NODE}\n`);
    expect((await run(['node', 'status', '-quiet', '-json'])).err).toBe(
      '-quiet cannot be used with -verbose or -json\n',
    );
  });

  it('CL-503, CL-1107: one node, whatever its answer lacks', async () => {
    play('GET /v1/nodes', [{ ID: NODE }]);
    play(`GET /v1/node/${NODE}`, { ID: NODE, Name: 'n1', Drivers: { raw_exec: { Detected: true, Healthy: false } } });
    play(`GET /v1/node/${NODE}/allocations`, [{ ID: ALLOC, ClientStatus: 'running' }]);
    const { code, out } = await run(['node', 'status', '1f3a']);
    expect(code).toBe(0);
    expect(out).toContain('Driver Status   = raw_exec (unhealthy)');
    expect(out).toContain('\nAllocations\nID        Node ID');
  });

  it('CL-623, CL-624: an evaluation', async () => {
    const evaluation = {
      ID: EVAL,
      Status: 'complete',
      JobID: 'web',
      TriggeredBy: 'job-register',
      FailedTGAllocs: { cache: { NodesEvaluated: 0 } },
      BlockedEval: '77777777-0000',
    };
    play('GET /v1/evaluations', [evaluation]);
    play(`GET /v1/evaluation/${EVAL}`, evaluation);
    play(`GET /v1/evaluation/${EVAL}/allocations`, [placed]);
    const { out } = await run(['eval', 'status', '6b4c']);
    expect(out).toContain('Status Description = complete\n');
    expect(out).toContain('Placement Failures = true\n');
    expect(out).toContain('\nPlaced Allocations\nID ');
    expect(out).toContain(
      '\nFailed Placements\nTask Group "cache" (failed to place 1 allocation):\n  * No nodes were eligible for evaluation\n\n' +
        'Evaluation "77777777" waiting for additional capacity to place remainder\n',
    );
  });

  it('CL-231: the allocations of a job, also of earlier ones of its ID', async () => {
    play('GET /v1/jobs', [403, 'Permission denied']);
    play('GET /v1/job/web/allocations', [placed], [], [500, 'boom']);
    const { code, out } = await run(['job', 'allocs', '-all', 'web']);
    expect([code, out.split('\n')[0]]).toEqual([
      0,
      'ID        Node ID   Task Group  Version  Desired  Status   Created  Modified',
    ]);
    expect(out).toMatch(/^0f9e8d7c {2}1f3a9c2e {2}cache {7}0 {8}run {6}pending {2}/m);
    expect(api.seen.at(-2)?.query.get('all')).toBe('true');
    expect((await run(['job', 'allocs', 'web'])).out).toBe('No allocations placed\n');
    expect((await run(['job', 'allocs', 'web'])).err).toBe(
      'Error retrieving allocations: Unexpected response code: 500 (boom)\n',
    );
  });

  it('CL-358, CL-601, CL-611: the deployments of a job, or the latest', async () => {
    play('GET /v1/jobs', [{ ID: 'web', Namespace: 'prod' }]);
    play('GET /v1/job/web/deployments', [deployment], [], [500, 'boom']);
    play('GET /v1/job/web/deployment', deployment, null);
    const words = ['job', 'deployments', 'we'];
    expect((await run(words)).out).toBe(
      'ID        Job ID  Job Version  Status      Description\n' +
        'a1b2c3d4  web     0            successful  Deployment completed successfully\n',
    );
    expect((await run(words)).out).toBe('No deployments found\n');
    expect((await run(words)).err).toBe('Error retrieving deployments: Unexpected response code: 500 (boom)\n');
    expect((await run([...words, '-latest'])).out).toBe(
      'ID          = a1b2c3d4\nJob ID      = web\nJob Version = 0\nStatus      = successful\n' +
        'Description = Deployment completed successfully\n\nDeployed\n' +
        'Task Group  Desired  Placed  Healthy  Unhealthy\ncache       1        1       1        0\n',
    );
    expect((await run([...words, '-latest'])).out).toBe('No deployment found\n');
    expect(api.seen.at(-1)?.query.get('namespace')).toBe('prod');
  });

  describe('event tail', () => {
    const line = (index: number) =>
      `{"Index":${index},"Events":[{"Topic":"Job","Type":"JobRegistered","Key":"web","Namespace":"default","Index":${index},"Payload":{"Job":{"Version":1152921504606846977,"Status":"running"}}}]}\n`;

    it('CL-1004, CL-1010: goes on behind the last line over a broken connection, JSON lines as they came', async () => {
      play(
        'GET /v1/event/stream',
        (response) => {
          response.writeHead(200, { 'X-Waybill-Event-Head': '4', 'X-Waybill-Event-Floor': '1' });
          response.write(`{}\n${line(3)}${line(4)}{"Index":5,"Ev`, () => response.destroy());
        },
        (response) => response.end(`{}\n${line(4)}${line(5)}`),
      );
      const { code, out } = await run(['event', 'tail', '-index=3', '-json', '-count=3', 'Job:web', '-topic', 'Node']);
      expect([code, out]).toEqual([0, line(3) + line(4) + line(5)]);
      expect(api.seen.map(({ query }) => query.get('index'))).toEqual(['3', '5']);
      expect(api.seen[0]?.query.getAll('topic')).toEqual(['Job:web', 'Node']);
    });

    it('CL-1001, CL-1011: rows of text, and -no-follow ends at the head', async () => {
      play('GET /v1/event/stream', (response) => {
        response.writeHead(200, { 'X-Waybill-Event-Head': '3' });
        response.write(`{}\n${line(3)}`);
      });
      const { code, out } = await run(['event', 'tail', '-index', '1', '-no-follow']);
      expect(code).toBe(0);
      expect(out).toMatch(/^INDEX {7}TIME .*SUMMARY\n3 {11}<none> .*JobRegistered .*web {7}v\d+ running\n$/);
    });

    it('CL-1008: Ctrl-C says where to go on', async () => {
      play('GET /v1/event/stream', (response) => void response.write(`{}\n${line(3)}`));
      const { code, err } = await run(['event', 'tail', '-index=1'], {}, /running/);
      expect([code, err]).toEqual([0, 'Last index: 3. Resume with -index 4\n']);
    });
  });

  describe('talking to the server', () => {
    it('CL-121, CL-123, CL-124: where settings come from and what every request carries', async () => {
      play('GET /v1/nodes', []);
      const parent = `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01`;
      const env = {
        NOMAD_REGION: 'n',
        WAYBILL_REGION: 'w',
        NOMAD_TOKEN: 's3cret',
        NOMAD_NAMESPACE: 'dev',
        TRACEPARENT: parent,
      };
      expect((await run(['node', 'status', '-namespace=x', '-reason', 'why'], env)).out).toBe('No nodes registered\n');
      expect(Object.fromEntries(api.seen[0]?.query ?? [])).toEqual({ region: 'w', namespace: 'x' });
      expect(api.seen[0]?.headers).toMatchObject({
        'x-nomad-token': 's3cret',
        'accept-encoding': 'gzip',
        'user-agent': expect.stringMatching(/^waybill-cli\//) as string,
        'x-waybill-reason': 'why',
        traceparent: expect.stringMatching(
          new RegExp(`^00-${'1'.repeat(32)}-(?!${'2'.repeat(16)})[0-9a-f]{16}-01$`),
        ) as string,
      });
      const nowhere = await run(['node', 'status', '-address', ''], { WAYBILL_ADDR: '', NOMAD_ADDR: api.url });
      expect(nowhere.out).toBe('No nodes registered\n');
    });

    it('CL-1119: a closed port, HTML, an empty or cut answer, a long error: one error, exit 1, no stack', async () => {
      const page = (response: ServerResponse) => void response.end('<html>');
      play(
        'GET /v1/nodes',
        page,
        (r) => void r.end(),
        (r) => void r.end('[{"ID":'),
        [500, 'x'.repeat(1 << 20)],
        (r) => void r.destroy(),
      );
      for (let i = 0; i < 5; i++) {
        const { code, err } = await run(['node', 'status', '-token', 's3cret']);
        expect(code).toBe(1);
        expect(err).toMatch(/^Error querying node status: [^\n]{1,1100}\n$/);
        expect(err).not.toContain('s3cret');
      }
      const closed = await run(['node', 'status', '-address', 'http://user:pw@127.0.0.1:1']);
      expect(closed.err).toMatch(
        /^Error querying node status: Get "http:\/\/127\.0\.0\.1:1\/v1\/nodes": connection refused/,
      );
    });

    it('CL-122: an address that is none', async () => {
      expect((await run(['node', 'status', '-address', 'a b'])).err).toMatch(
        /^Error initializing client: invalid address 'a b': /,
      );
    });

    it('CL-103, CL-104, CL-107, CL-113: wrong words', async () => {
      const unknown = await run(['nonsense']);
      expect([unknown.code, unknown.out.split('\n')[2]]).toEqual([127, 'Common commands:']);
      const group = await run(['job', 'nonsense']);
      expect([group.code, group.out.includes('Subcommands:'), group.err]).toEqual([1, true, '']);
      const before = await run(['-address=x', 'job', 'status']);
      expect([before.code, before.err.startsWith('Invalid flags before the subcommand.')]).toEqual([1, true]);
      const many = await run(['run', 'a', 'b']);
      expect([many.code, many.err]).toEqual([
        1,
        "This command takes one argument: <path>\nFor additional help try 'waybill job run -help'\n",
      ]);
      expect(api.seen).toEqual([]);
    });
  });

  describe('as a process', () => {
    const bin = fileURLToPath(new URL('../../apps/cli/bin/waybill.js', import.meta.url));

    it('CL-911, CL-106: version', async () => {
      for (const words of [['version'], ['-v'], ['--version']]) {
        const child = spawn(process.execPath, [bin, ...words], { stdio: ['ignore', 'pipe', 'inherit'] });
        let out = '';
        child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
        expect(await once(child, 'close')).toEqual([0, null]);
        expect(out).toMatch(/^Waybill v\d+\.\d+\.\d+\nNomad API \d+\.\d+\.\d+\n$/);
      }
    });

    it('CL-136: a reader that closes the pipe ends it silently', async () => {
      play('GET /v1/event/stream', (response) => {
        response.writeHead(200, { 'X-Waybill-Event-Head': '1' });
        const lines = `{"Index":2,"Events":[{"Topic":"Job","Type":"T","Key":"${'k'.repeat(60_000)}","Namespace":""}]}\n`;
        response.write(`{}\n${lines}`);
        for (let i = 3; i < 50; i++) response.write(lines.replace('"Index":2', `"Index":${i}`));
      });
      const child = spawn(process.execPath, [bin, 'event', 'tail', '-address', api.url], {
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      let err = '';
      child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()));
      await once(child.stdout, 'data');
      child.stdout.destroy();
      expect(await once(child, 'close')).toEqual([0, null]);
      expect(err).toBe('');
    });
  });
});
