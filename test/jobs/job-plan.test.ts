import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ApiClient, shellJob } from '../support/api-client.js';
import { runCli } from '../support/cli.js';
import { eventually } from '../support/wait.js';
import { WaybillProcesses } from '../support/waybill-processes.js';

interface Planned {
  Annotations: { DesiredTGUpdates: Record<string, Record<string, number>>; PreemptedAllocs: unknown };
  FailedTGAllocs: Record<string, { ConstraintFiltered: Record<string, number> }>;
  JobModifyIndex: number;
  Diff: { Type: string; TaskGroups: { Updates: Record<string, number> }[] } | null;
  Warnings: string;
  Index: number;
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

async function plan(id: string, body: object, method = 'PUT') {
  const answer = await api.raw(`/v1/job/${encodeURIComponent(id)}/plan`, { method, body: JSON.stringify(body) });
  const text = await answer.text();
  return { status: answer.status, index: Number(answer.headers.get('X-Nomad-Index')), text };
}

async function planned(id: string, Job: object, method = 'PUT'): Promise<Planned & { header: number }> {
  const { status, index, text } = await plan(id, { Job, Diff: true }, method);
  expect(status, text).toBe(200);
  return { ...(JSON.parse(text) as Planned), header: index };
}

const statusOf = (id: string) => api.raw(`/v1/job/${id}`).then(({ status }) => status);

describe('dry runs over HTTP', () => {
  it('API-141 API-142 API-623: a plan says what would happen, and nothing happens', async () => {
    const gone = new AbortController();
    const stream = await api.raw('/v1/event/stream', { signal: gone.signal });
    let events = '';
    const read = (async () => {
      for await (const chunk of stream.body!) events += Buffer.from(chunk).toString();
    })().catch(() => {});
    const before = await api.get<unknown[]>('/v1/evaluations');
    const answer = await planned('new/job', shellJob('new/job', 'exec sleep 600', { count: 2 }), 'POST');
    expect(answer).toMatchObject({ JobModifyIndex: 0, FailedTGAllocs: {}, Warnings: '', NextPeriodicLaunch: null });
    expect(answer.Annotations.DesiredTGUpdates['group']).toMatchObject({ Place: 2 });
    expect(answer.Diff).toMatchObject({ Type: 'Added', TaskGroups: [{ Updates: { create: 2 } }] });
    expect(answer.header).toBe(answer.Index);
    expect(await statusOf('new%2Fjob')).toBe(404);
    expect(await api.get<unknown[]>('/v1/evaluations')).toEqual(before);
    // Whatever the plan had caused would stand before the event of this registration.
    await api.register(shellJob('marker', 'exec sleep 600'));
    await eventually('the marker is in the stream', () => events.includes('"marker"'));
    expect(events).not.toContain('new/job');
    gone.abort();
    await read;
  });

  it('API-142 API-144: against the stored job, as of the last registration', async () => {
    const job = shellJob('stored', 'exec sleep 600');
    const { JobModifyIndex } = await api.register(job);
    expect(await planned('stored', job)).toMatchObject({ JobModifyIndex, Diff: { Type: 'None' } });
    const other = await planned('stored', shellJob('stored', 'exec sleep 700'));
    expect(other).toMatchObject({ JobModifyIndex, Diff: { Type: 'Edited' } });
    const withoutDiff = await plan('stored', { Job: job });
    expect(JSON.parse(withoutDiff.text)).toMatchObject({ Diff: null });
  });

  it('API-143: what finds no place, with its reasons', async () => {
    const Constraints = [{ LTarget: '${attr.kernel.name}', RTarget: 'plan9', Operand: '=' }];
    const { FailedTGAllocs } = await planned('nowhere', { ...shellJob('nowhere', 'true'), Constraints });
    expect(Object.keys(FailedTGAllocs['group']!.ConstraintFiltered)).toEqual(['${attr.kernel.name} = plan9']);
  });

  it('API-143: when a periodic job would be launched next', async () => {
    const Periodic = { Spec: '0 0 1 1 *', TimeZone: 'UTC' };
    const answer = await planned('yearly', { ...shellJob('yearly', 'true', { type: 'batch' }), Periodic });
    const next = `${new Date().getUTCFullYear() + 1}-01-01T00:00:00`;
    expect(answer).toMatchObject({ NextPeriodicLaunch: expect.stringContaining(next) as string });
    const off = { ...shellJob('yearly', 'true', { type: 'batch' }), Periodic: { ...Periodic, Enabled: false } };
    expect(await planned('yearly', off)).toMatchObject({ NextPeriodicLaunch: null });
  });

  it('API-140 API-141: what is refused', async () => {
    const job = shellJob('web', 'true');
    expect(await plan('other', { Job: job })).toMatchObject({ status: 400, text: 'Job ID does not match' });
    expect(await plan('web', {})).toMatchObject({ status: 400, text: 'Job must be specified' });
    expect(await plan('web', { Job: {} })).toMatchObject({ status: 400, text: 'Job must have a valid ID' });
    const invalid = await plan('web', { Job: { ...job, Priority: 1000 } });
    expect(invalid.status).toBe(400);
    expect(invalid.text).toContain('priority must be between');
    expect(await plan('web', { Job: { ...job, NodePool: 'none' } })).toMatchObject({
      status: 400,
      text: '1 error occurred:\n\t* job "web" is in nonexistent node pool "none"\n\n',
    });
  });

  it('API-114 API-141: neither a paused broker nor refused registrations stop a plan', async () => {
    const { SchedulerConfig } = await api.get<{ SchedulerConfig: object }>('/v1/operator/scheduler/configuration');
    const set = (over: object) =>
      api.raw('/v1/operator/scheduler/configuration', {
        method: 'PUT',
        body: JSON.stringify({ ...SchedulerConfig, ...over }),
      });
    expect((await set({ PauseEvalBroker: true, RejectJobRegistration: true })).status).toBe(200);
    expect(await planned('calm', shellJob('calm', 'true'))).toMatchObject({ Diff: { Type: 'Added' } });
    expect((await set({})).status).toBe(200);
  });

  it('API-101: validating takes the namespace of the job', async () => {
    const body = JSON.stringify({ Job: { ...shellJob('valid', 'true'), Namespace: 'other' } });
    const answer = await api.raw('/v1/validate/job?namespace=default', { method: 'POST', body });
    const problem = 'job "valid" is in nonexistent namespace "other"';
    expect(await answer.json()).toMatchObject({
      DriverConfigValidated: true,
      ValidationErrors: [problem],
      Error: `1 error occurred:\n\t* ${problem}\n\n`,
    });
  });
});

describe('waybill job plan', () => {
  let directory: string;
  beforeAll(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'waybill-plan-'));
  });
  afterAll(() => rm(directory, { recursive: true, force: true }));

  async function cli(words: string[], job: object) {
    const file = path.join(directory, 'job.json');
    await writeFile(file, JSON.stringify(job));
    return { ...(await runCli(api.url, [...words, file])), file };
  }

  it('CL-321 CL-322 CL-328: a new job exits 1, and says how to run it; the same again exits 0', async () => {
    const job = shellJob('planned', 'exec sleep 600');
    const { code, out, err, file } = await cli(['job', 'plan'], job);
    expect([code, err]).toEqual([1, '']);
    expect(out).toContain('+ Job: "planned"\n+ Task Group: "group" (1 create)\n  + Task: "task" (forces create)\n\n');
    expect(out).toContain('Scheduler dry-run:\n- All tasks successfully allocated.\n\nJob Modify Index: 0\n');
    expect(out).toContain(`\n\nwaybill job run -check-index 0 ${file}\n\n`);
    expect((await cli(['job', 'run', '-detach', '-check-index', '0'], job)).code).toBe(0);
    await eventually('it is placed', async () =>
      (await cli(['plan', '-diff=false'], job)).out.includes('successfully'),
    );
    const same = await cli(['plan'], job);
    expect([same.code, same.out.split('\n')[0]]).toEqual([0, 'Job: "planned"']);
    const without = await cli(['plan', '-diff=false'], job);
    expect([without.code, without.out.split('\n')[0]]).toEqual([0, 'Scheduler dry-run:']);
  });

  it('CL-323: -json-output is the answer of the API, with the same exit code', async () => {
    const { code, out } = await cli(['plan', '-json-output'], shellJob('json', 'true'));
    expect(code).toBe(1);
    expect(JSON.parse(out)).toMatchObject({ JobModifyIndex: 0, Diff: { Type: 'Added' } });
  });

  it('CL-322: every failure exits 255', async () => {
    const refused = await cli(['plan'], { ...(shellJob('bad', 'true') as object), Priority: 1000 });
    expect([refused.code, refused.out]).toEqual([255, '']);
    expect(refused.err).toMatch(/^Error during plan: Unexpected response code: 400 \(/);
    expect((await runCli(api.url, ['plan', '-nonsense', 'x'])).code).toBe(255);
    expect((await runCli(api.url, ['plan'])).code).toBe(255);
    expect((await runCli(api.url, ['plan', '/nowhere/job.json'])).code).toBe(255);
  });
});
