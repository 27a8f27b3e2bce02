import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RecordedApi } from '../support/recorded-api.js';
import { DEPLOYMENT, EVAL, deployment, placed, registered } from '../support/recorded-objects.js';

describe('jobs against recorded answers of the API', () => {
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
      const { code, out, err } = await run(['run', await jobFile({ Job: { ID: 'web' } })]);
      expect(err).toBe('The job waits for room and is placed as soon as there is some.\n');
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

    it('CL-205: placement failures name what was asked and what there is, and that Ctrl-C leaves the job queued', async () => {
      play('PUT /v1/jobs', registered);
      const failed = { cache: { NodesEvaluated: 1, NodesExhausted: 1, DimensionExhausted: { memory: 1 } } };
      const ended = {
        ID: EVAL,
        JobID: 'web',
        Status: 'complete',
        BlockedEval: '77777777-0000',
        FailedTGAllocs: failed,
      };
      play(`GET /v1/evaluation/${EVAL}`, { ...ended, DeploymentID: DEPLOYMENT });
      play(`GET /v1/evaluation/${EVAL}/allocations`, []);
      play(`GET /v1/deployment/${DEPLOYMENT}`, deployment);
      const task = { Driver: 'raw_exec', Resources: { CPU: 100, MemoryMB: 100_000 }, Lifecycle: null };
      const group = { Name: 'cache', Tasks: [task], EphemeralDisk: { SizeMB: 300 } };
      play('GET /v1/job/web', { ID: 'web', NodePool: 'default', TaskGroups: [group] });
      const has = { Cpu: { CpuShares: 4_000 }, Memory: { MemoryMB: 7_900 }, Disk: { DiskMB: 9_000 } };
      play('GET /v1/nodes', [{ NodePool: 'default', Status: 'ready', Drivers: {}, NodeResources: has }]);
      const { code, out, err } = await run(['run', await jobFile({ Job: { ID: 'web' } })]);
      expect(out).toContain(
        '      * Dimension "memory" exhausted on 1 nodes\n      * memory: asked 100000 MiB, the largest node has 7900 MiB\n',
      );
      expect(err).toBe('The job waits for room and is placed as soon as there is some; Ctrl-C leaves it queued.\n');
      expect(code).toBe(0);
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
      play('PUT /v1/jobs', [409, 'Enforcing job modify index 7: job does not exist']);
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
      expect((await run(['run', '/nowhere/x.json'])).err).toMatch(/^Error getting jobfile from "\/nowhere\/x\.json": /);
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
});
