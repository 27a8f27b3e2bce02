import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RecordedApi } from '../support/recorded-api.js';

const EVAL = '6b4c1d2e-0000-4000-8000-000000000001';
const DEPLOYMENT = 'a1b2c3d4-0000-4000-8000-000000000002';
const NODE = '1f3a9c2e-0000-4000-8000-000000000003';

let api: RecordedApi;
let directory: string;
beforeEach(async () => {
  api = await RecordedApi.start();
  directory = await mkdtemp(path.join(tmpdir(), 'waybill-cli-'));
});
afterEach(async () => {
  api.stop();
  await rm(directory, { recursive: true });
});

async function file(job: object): Promise<string> {
  const at = path.join(directory, 'job.json');
  await writeFile(at, JSON.stringify({ Job: job }));
  return at;
}

describe('job stop', () => {
  const stops = () => api.seen.filter(({ line }) => line.startsWith('DELETE'));
  const jobs = (...IDs: string[]) => IDs.map((ID) => ({ ID, Namespace: 'default', Type: 'service' }));
  beforeEach(() => {
    api.play('GET /v1/jobs', jobs('web'));
    api.play('GET /v1/job/web', { ID: 'web', Multiregion: { Regions: [{ Name: 'east' }] } });
    api.play('DELETE /v1/job/web', { EvalID: EVAL });
  });

  it.each([
    ['we', 'Are you sure you want to stop job "web"? [y/N] '],
    ['web', 'Are you sure you want to stop multi-region job "web" in a single region? [y/N] '],
  ])('CL-332: "%s" asks first, and no stops nothing', async (given, question) => {
    const refused = await api.runTyped('n\n', ['job', 'stop', '-detach', given]);
    expect(refused).toMatchObject({ code: 0, out: `${question}Cancelling job stop\n` });
    expect(stops()).toEqual([]);
    const agreed = await api.runTyped('y\n', ['job', 'stop', '-detach', given]);
    expect(agreed).toMatchObject({ code: 0, out: `${question}${EVAL}\n` });
    expect(stops()).toHaveLength(1);
  });

  it('CL-332: not with -yes or -global, nor when several are named', async () => {
    api.play('DELETE /v1/job/api', { EvalID: EVAL });
    for (const words of [
      ['-yes', 'we'],
      ['-global', 'web'],
      ['we', 'web'],
    ])
      expect(await api.run(['job', 'stop', '-detach', ...words])).toMatchObject({
        code: 0,
        out: expect.not.stringContaining('[y/N]'),
      });
    expect(stops()).toHaveLength(4);
  });
});

describe('the deployment monitor', () => {
  const deployment = (Status: string) => ({ ID: DEPLOYMENT, JobID: 'web', Namespace: 'default', Status });
  const PATH = `GET /v1/deployment/${DEPLOYMENT}`;
  const reads = () =>
    api.seen
      .filter(({ line }) => line === PATH)
      .map(({ query }) => [query.get('stale'), query.get('index'), query.get('wait')]);

  it.each(['successful', 'failed', 'cancelled', 'blocked'])('CL-211: ends when it is %s', async (status) => {
    api.play('GET /v1/deployments', [deployment('running')]);
    api.play(PATH, deployment('running'), deployment('running'), deployment(status), deployment('unread'));
    const { out } = await api.run(['deployment', 'status', '-monitor', 'a1b2']);
    expect(out).toMatch(new RegExp(`Status += ${status}`));
    expect(out).not.toContain('unread');
  });

  it("CL-211: reads block, for two seconds or as -wait says, and for the server's own time behind an evaluation", async () => {
    api.play('GET /v1/deployments', [deployment('running')]);
    for (const [words, wait] of [
      [[], '2000ms'],
      [['-wait=250ms'], '250ms'],
    ] as const) {
      api.seen.length = 0;
      api.play(PATH, deployment('running'), deployment('running'), deployment('running'), deployment('successful'));
      await api.run(['deployment', 'status', '-monitor', ...words, 'a1b2']);
      expect(reads().slice(1)).toEqual([
        ['true', null, null],
        ['true', '10', wait],
        ['true', '10', wait],
      ]);
    }
    api.seen.length = 0;
    api.play('PUT /v1/jobs', { EvalID: EVAL });
    api.play(`GET /v1/evaluation/${EVAL}`, { ID: EVAL, Status: 'complete', DeploymentID: DEPLOYMENT });
    api.play(`GET /v1/evaluation/${EVAL}/allocations`, []);
    api.play(PATH, deployment('running'), deployment('successful'));
    expect((await api.run(['job', 'run', await file({ ID: 'web' })])).code).toBe(0);
    expect(reads()).toEqual([
      ['true', null, null],
      ['true', '10', null],
    ]);
  });
});

it('CL-251: a file that is not there, in words for people', async () => {
  expect((await api.run(['job', 'plan', 'http://127.0.0.1:2/web.hcl'])).err).toBe(
    'Error getting jobfile from "http://127.0.0.1:2/web.hcl": connect ECONNREFUSED 127.0.0.1:2\n',
  );
  expect((await api.run(['job', 'plan', '/nowhere/web.hcl'])).err).toBe(
    'Error getting jobfile from "/nowhere/web.hcl": open /nowhere/web.hcl: no such file or directory\n',
  );
});

it('CL-165: a deployment is watched on by its own command, in its namespace', async () => {
  const running = { ID: DEPLOYMENT, JobID: 'web', Namespace: 'prod', Status: 'running' };
  api.play('GET /v1/deployments', [running]);
  api.play(`GET /v1/deployment/${DEPLOYMENT}`, running, () => undefined);
  const { code, err } = await api.run(['deployment', 'status', '-monitor', 'a1b2'], {}, /Monitoring/);
  expect([code, err.split('\n')[0]]).toEqual([
    130,
    'To watch on: waybill deployment status -monitor -namespace=prod a1b2c3d4',
  ]);
});

it('CL-327: a dry run names what was asked and what there is, each machine read where an attribute is compared', async () => {
  const Resources = { Cpu: { CpuShares: 4_000 }, Memory: { MemoryMB: 7_900 }, Disk: { DiskMB: 9_000 } };
  const node = { ID: 'n1', NodePool: 'default', Status: 'ready', Drivers: {}, NodeResources: Resources };
  api.play('GET /v1/nodes', [node]);
  api.play('GET /v1/node/n1', { ...node, Attributes: { 'kernel.name': 'linux' }, Meta: {} });
  const filtered = { NodesEvaluated: 1, ConstraintFiltered: { '${attr.kernel.name} = windows': 1 } };
  const FailedTGAllocs = { a: filtered, b: { NodesEvaluated: 1, DimensionExhausted: { memory: 1 } } };
  api.play('PUT /v1/job/web/plan', { Diff: { Type: 'Added', ID: 'web' }, Annotations: null, FailedTGAllocs });
  const task = { Driver: 'raw_exec', Resources: { MemoryMB: 100_000 } };
  const TaskGroups = [
    { Name: 'a', Tasks: [task] },
    { Name: 'b', Tasks: [task] },
  ];
  const { out } = await api.run(['job', 'plan', await file({ ID: 'web', TaskGroups })]);
  expect(out).toContain('1 nodes excluded by filter\n    * attribute "kernel.name": nodes have "linux"\n');
  expect(out).toContain('exhausted on 1 nodes\n    * memory: asked 100000 MiB, the largest node has 7900 MiB\n');
  // A server that does not list its machines to this user takes nothing away from the answer.
  api.play('GET /v1/nodes', [403, 'Permission denied']);
  const without = await api.run(['job', 'plan', await file({ ID: 'web', TaskGroups })]);
  expect(without.out).toContain('1 nodes excluded by filter\n  Task Group "b"');
});

describe('job plan of several regions', () => {
  const job = { ID: 'web', Multiregion: { Regions: [{ Name: 'west' }, { Name: 'east' }] } };
  const plan = (Place: number) => ({
    Diff: { Type: 'Edited', ID: 'web' },
    Annotations: { DesiredTGUpdates: { a: { Place } } },
    JobModifyIndex: 7,
  });

  it("CL-330: each is planned, in the job's order, without a footer; the highest code counts", async () => {
    api.play('PUT /v1/job/web/plan', plan(0), plan(1));
    const { code, out } = await api.run(['job', 'plan', await file(job)]);
    expect(code).toBe(1);
    expect(out).toMatch(/^Region: "west"\n[^]*Scheduler dry-run:[^]*Region: "east"\n[^]*Scheduler dry-run:/);
    expect(out).not.toContain('Job Modify Index');
    expect(
      api.seen.map(({ query, body }) => [
        query.get('region'),
        (JSON.parse(body) as { Job: { Region: string } }).Job.Region,
      ]),
    ).toEqual([
      ['west', 'west'],
      ['east', 'east'],
    ]);
    api.play('PUT /v1/job/web/plan', plan(0), plan(1));
    const data = await api.run(['job', 'plan', '-json-output', await file(job)]);
    expect([data.code, Object.keys(JSON.parse(data.out) as object)]).toEqual([1, ['west', 'east']]);
  });

  it('CL-330: a region that fails is named, after all were tried, and nothing is shown', async () => {
    api.play('PUT /v1/job/web/plan', [500, 'No path to region'], plan(0));
    expect(await api.run(['job', 'plan', await file(job)])).toEqual({
      code: 255,
      out: '',
      err: 'Error during plan for region "west": Unexpected response code: 500 (No path to region)\n',
    });
    expect(api.seen).toHaveLength(2);
  });
});

describe('plugin status', () => {
  it('CL-722: -verbose shows what is really reported, by any instance, and where volumes have to be', async () => {
    const all = { SupportsCreateDelete: true, SupportsAttachDetach: false, SupportsExpand: false };
    api.play('GET /v1/plugins', [{ ID: 'disks' }]);
    api.play('GET /v1/plugin/csi/disks', {
      ID: 'disks',
      Provider: 'p',
      Version: '1',
      ControllersHealthy: 1,
      ControllersExpected: 2,
      NodesHealthy: 1,
      NodesExpected: 1,
      Controllers: {
        a: { ControllerInfo: all },
        b: { ControllerInfo: { ...all, SupportsCreateDelete: false, SupportsExpand: true } },
      },
      Nodes: {
        [NODE]: { NodeInfo: { SupportsStats: true, AccessibleTopology: { Segments: { zone: 'z1', rack: 'r' } } } },
      },
      Allocations: [],
    });
    const { out } = await api.run(['plugin', 'status', '-verbose', 'disks']);
    expect(out.split('\n\n').slice(1)).toEqual([
      'Controller Capabilities\n  CREATE_DELETE_VOLUME\n  EXPAND_VOLUME',
      'Node Capabilities\n  GET_VOLUME_STATS',
      `Accessible Topologies\nNode ID                               Accessible Topology\n${NODE}  rack=r,zone=z1`,
      'Allocations\nNo allocations placed\n',
    ]);
    expect((await api.run(['plugin', 'status', 'disks'])).out).not.toContain('Capabilities');
  });
});
