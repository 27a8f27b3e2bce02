import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RecordedApi } from '../support/recorded-api.js';

const EVAL = '6b4c1d2e-0000-4000-8000-000000000001';
const DEPLOYMENT = 'a1b2c3d4-0000-4000-8000-000000000002';

describe('what went wrong before', () => {
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
  const deployment = { ID: DEPLOYMENT, JobID: 'web', Namespace: 'default', JobVersion: 0, TaskGroups: {} };

  it('CL-1101: placements that failed at first and a deployment that succeeds all the same: exit 0', async () => {
    api.play('PUT /v1/jobs', { EvalID: EVAL });
    api.play(`GET /v1/evaluation/${EVAL}`, {
      ID: EVAL,
      JobID: 'web',
      Status: 'complete',
      DeploymentID: DEPLOYMENT,
      BlockedEval: 'x',
      FailedTGAllocs: { a: { NodesEvaluated: 0 } },
    });
    api.play(`GET /v1/evaluation/${EVAL}/allocations`, []);
    api.play(
      `GET /v1/deployment/${DEPLOYMENT}`,
      { ...deployment, Status: 'running' },
      { ...deployment, Status: 'successful' },
    );
    const { code, out } = await api.run(['job', 'run', await file({ ID: 'web' })]);
    expect(out).toContain('but failed to place all allocations:');
    expect(code).toBe(0);
  });

  it('CL-1103: plan -diff=false, and of an unchanged periodic job whose dry run would place something: exit 0', async () => {
    const placing = { DesiredTGUpdates: { a: { Place: 1 } } };
    api.play('PUT /v1/job/tick/plan', { Diff: { Type: 'None', ID: 'tick' }, Annotations: placing, JobModifyIndex: 7 });
    expect((await api.run(['job', 'plan', await file({ ID: 'tick' })])).code).toBe(0);
    const quiet = await api.run(['job', 'plan', '-diff=false', await file({ ID: 'tick' })]);
    expect([quiet.code, quiet.out.split('\n')[0]]).toEqual([0, 'Scheduler dry-run:']);
    expect(JSON.parse(api.seen.at(-1)?.body ?? '')).toMatchObject({ Diff: true });
    api.play('PUT /v1/job/tick/plan', {
      Diff: { Type: 'Edited', ID: 'tick' },
      Annotations: placing,
      JobModifyIndex: 7,
    });
    expect((await api.run(['job', 'plan', '-diff=false', await file({ ID: 'tick' })])).code).toBe(1);
  });

  it.each([
    ['1234-', '1234-'],
    ['6b4c1d2e-0', '6b4c1d2e-'],
    ['123', '12'],
    ['12', '12'],
  ])('CL-1105: the prefix %s is looked up as %s', async (given, prefix) => {
    api.play('GET /v1/evaluations', []);
    const { err } = await api.run(['eval', 'status', given]);
    expect(err).toBe(`No evaluation(s) with prefix or id "${given}" found\n`);
    expect(api.seen[0]?.query.get('prefix')).toBe(prefix);
  });

  it('CL-1105: one character is too short, and nothing is asked', async () => {
    for (const words of [
      ['eval', 'status', 'a'],
      ['alloc', 'status', 'a'],
      ['node', 'status', 'a'],
    ])
      expect((await api.run(words)).err).toBe('Identifier must contain at least two characters.\n');
    expect((await api.run(['alloc', 'stop', 'a'])).err).toBe('Alloc ID must contain at least two characters.\n');
    expect(api.seen).toEqual([]);
  });

  it('CL-1113: a job named over all namespaces is stopped in its own', async () => {
    api.play('GET /v1/jobs', [
      { ID: 'web', Namespace: 'dev' },
      { ID: 'web-2', Namespace: 'prod' },
    ]);
    api.play('GET /v1/job/web', { ID: 'web', Namespace: 'dev' });
    api.play('DELETE /v1/job/web', { EvalID: EVAL });
    expect(await api.run(['job', 'stop', '-detach', '-namespace=*', 'web'])).toMatchObject({
      code: 0,
      out: `${EVAL}\n`,
    });
    expect(api.seen.find(({ line }) => line === 'DELETE /v1/job/web')?.query.get('namespace')).toBe('dev');
  });

  it('CL-605: job promote and deployment promote differ only in how the deployment is found', async () => {
    api.play('GET /v1/jobs', [{ ID: 'web', Namespace: 'default' }]);
    api.play('GET /v1/job/web/deployment', { ...deployment, Status: 'running' });
    api.play('GET /v1/deployments', [{ ...deployment, Status: 'running' }]);
    api.play(`GET /v1/deployment/${DEPLOYMENT}`, { ...deployment, Status: 'running' });
    api.play(`PUT /v1/deployment/promote/${DEPLOYMENT}`, { EvalID: EVAL });
    const promotions = () =>
      api.seen.filter(({ line }) => line.startsWith('PUT')).map(({ line, body }) => [line, JSON.parse(body)]);
    for (const groups of [[], ['-group=a', '-group=b']]) {
      await api.run(['job', 'promote', '-detach', ...groups, 'web']);
      await api.run(['deployment', 'promote', '-detach', ...groups, 'a1b2']);
    }
    const [first, second, third, fourth] = promotions();
    expect(first).toEqual([`PUT /v1/deployment/promote/${DEPLOYMENT}`, expect.objectContaining({ All: true })]);
    expect(third?.[1]).toMatchObject({ Groups: ['a', 'b'] });
    expect([second, fourth]).toEqual([first, third]);
  });

  it('CL-622: eval status takes one argument; -monitor ends with the code of what it watched', async () => {
    expect((await api.run(['eval', 'status'])).err).toMatch(/^This command takes one argument\n/);
    api.play('GET /v1/evaluations', [{ ID: EVAL, Status: 'complete' }]);
    api.play(`GET /v1/evaluation/${EVAL}/allocations`, []);
    api.play(`GET /v1/evaluation/${EVAL}`, { ID: EVAL, JobID: 'web', Status: 'complete', FailedTGAllocs: { a: {} } });
    expect((await api.run(['eval', 'status', '-monitor', '6b4c'])).code).toBe(2);
    api.play(`GET /v1/evaluation/${EVAL}`, { ID: EVAL, JobID: 'web', Status: 'canceled' });
    expect((await api.run(['eval', 'status', '-monitor', '6b4c'])).code).toBe(0);
  });

  describe('the log', () => {
    const record = {
      Index: 9,
      Time: 1_772_359_200_000_000_000,
      Name: 'JobRegister',
      Actor: { Kind: 'token', ID: 'x', Name: 'ci' },
      RequestID: '51d0',
      Reason: 'ticket 7',
      TraceID: 'ab'.repeat(16),
      SpanID: 'cd'.repeat(8),
      Role: 'broker',
      Epoch: 7,
      Verdict: 'accepted',
      Error: '',
      Objects: [{ Kind: 'job', Namespace: 'default', ID: 'web', Op: 'create', Change: 'created' }],
    };

    it('CL-1024: -verbose says why, by which request, in which trace, and in which term', async () => {
      api.play('GET /v1/waybill/log', [record]);
      const [, row, ...details] = (await api.run(['log', '-verbose', 'job', 'web'])).out.trimEnd().split('\n');
      expect(row).toContain('ab'.repeat(16));
      expect(details).toEqual([
        '    reason: ticket 7',
        '    request: 51d0',
        `    trace: ${'ab'.repeat(16)} span ${'cd'.repeat(8)}`,
        '    role: broker, epoch 7',
      ]);
    });

    it('CL-1027: what is no longer kept is said once the last page was reached; -at below it is an error', async () => {
      const page =
        (next: string) => (response: { writeHead: (s: number, h: object) => void; end: (t: string) => void }) => {
          response.writeHead(200, { 'X-Waybill-Log-Floor': '8', 'X-Nomad-NextToken': next });
          response.end(JSON.stringify([record]));
        };
      api.play('GET /v1/waybill/log', page('7'), page(''));
      expect((await api.run(['log', '-n', '1', 'job', 'web'])).err).toBe('');
      expect((await api.run(['log', '-n', '1', 'job', 'web'])).err).toBe('History before index 8 is no longer kept\n');
      api.play('GET /v1/waybill/state/job/web', [410, 'index 3 is no longer kept (oldest: 8)']);
      expect(await api.run(['log', '-at', '3', 'job', 'web'])).toMatchObject({
        code: 1,
        err: expect.stringContaining('index 3 is no longer kept (oldest: 8)'),
      });
    });
  });
});
