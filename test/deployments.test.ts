import { runProgram } from '@waybill/cli';
import type { Deployment, Evaluation, Job } from '@waybill/model';
import type { Replica } from '@waybill/replica';
import { Infrastructure, newUuid, readSettings, systemClock } from '@waybill/service';
import { draftTxn, fixtures, isRejected, serviceActor, type TxnPayloads, type TxnType } from '@waybill/state';
import { silentLogger } from '@waybill/telemetry';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from './support/wait.js';
import { WaybillProcesses } from './support/waybill-processes.js';

const { aClientUpdate, aDeployment, aDeploymentState, anAlloc, aPlanResult } = fixtures;

let waybill: WaybillProcesses;
let infrastructure: Infrastructure;
let state: Replica;

/** The test is the scheduler and the machines: it writes their transactions itself. */
beforeAll(async () => {
  waybill = await WaybillProcesses.start({}, ['projector', 'deployments', 'api']);
  const settings = readSettings({ WAYBILL_NATS_URL: waybill.stack.natsUrl, WAYBILL_LOG_LEVEL: 'silent' }, []);
  infrastructure = new Infrastructure('test', settings, silentLogger, (error) => {
    throw error;
  });
  state = await infrastructure.replica();
});
afterAll(async () => {
  await infrastructure?.close();
  await waybill?.stop();
});

const nowNs = () => systemClock.nowMs() * 1e6;

async function write<T extends TxnType>(type: T, payload: TxnPayloads[T]): Promise<void> {
  const context = { timeNs: nowNs(), requestId: newUuid(), actor: serviceActor('test'), namespace: 'default' };
  const { verdict } = await state.propose(draftTxn(type, payload, context));
  if (isRejected(verdict)) throw new Error(`${type}: ${verdict.error}`);
}

const job = (id: string, priority: number) => ({
  ID: id,
  Type: 'service',
  Priority: priority,
  Datacenters: ['*'],
  Update: { MaxParallel: 1, Canary: 1, AutoRevert: true, ProgressDeadline: 0, MinHealthyTime: 1e9 },
  TaskGroups: [
    { Name: 'web', Count: 3, Tasks: [{ Name: 'web', Driver: 'raw_exec', Config: { command: '/bin/true' } }] },
  ],
});

/** Version 0 stable, version 1 with a deployment and its first allocation, a canary. */
async function rollout(id: string) {
  await waybill.api.register(job(id, 40));
  expect(await put(`/v1/job/${id}/stable`, { JobID: id, JobVersion: 0, Stable: true })).toMatchObject({ status: 200 });
  const { EvalID } = await waybill.api.register(job(id, 60));
  const stored = await eventually('the job is here', () => {
    const row = state.tables.jobs.get(`default/${id}`);
    return row?.Version === 1 && row;
  });
  const deployment = aDeployment({
    ID: newUuid(),
    JobID: id,
    JobVersion: 1,
    JobCreateIndex: stored.CreateIndex,
    StatusDescription: 'Deployment is running but requires manual promotion',
    TaskGroups: {
      web: aDeploymentState({ DesiredTotal: 3, DesiredCanaries: 1, AutoRevert: true, ProgressDeadline: 0 }),
    },
  });
  const canary = anAlloc({
    ID: newUuid(),
    EvalID,
    Job: stored,
    DeploymentID: deployment.ID,
    DeploymentStatus: { Healthy: null, Timestamp: null, Canary: true, ModifyIndex: 0 },
  });
  await write(
    'ApplyPlanResults',
    aPlanResult({ EvalID, Job: stored, Deployment: deployment, AllocsUpdated: [canary], UpdatedAt: nowNs() }),
  );
  const evaluation = state.tables.evals.get(EvalID)!;
  const SnapshotIndex = state.appliedIndex;
  await write('EvalUpdate', { Evals: [{ ...evaluation, Status: 'complete', SnapshotIndex }] });
  const report = (Healthy: boolean) =>
    write('AllocClientUpdate', {
      Allocs: [
        aClientUpdate(canary, {
          ModifyTime: nowNs(),
          DeploymentStatus: { Healthy, Timestamp: new Date().toISOString() },
        }),
      ],
      Evals: [],
    });
  const evaluations = async () =>
    (await waybill.api.get<Evaluation[]>(`/v1/job/${id}/evaluations`)).filter(
      (e) => e.TriggeredBy === 'deployment-watcher',
    );
  const read = () => waybill.api.get<Deployment>(`/v1/deployment/${deployment.ID}`);
  return { id: deployment.ID, canary, report, evaluations, read };
}

async function put(path: string, body?: object) {
  const answer = await waybill.api.raw(path, { method: 'PUT', ...(body && { body: JSON.stringify(body) }) });
  const text = await answer.text();
  return { status: answer.status, text, index: Number(answer.headers.get('X-Nomad-Index') ?? 0) };
}

async function cli(...words: string[]) {
  let [out, err] = ['', ''];
  const sink = (take: (text: string) => void) => ({
    isTTY: false,
    write: (text: string | Uint8Array) => {
      take(String(text));
      return true;
    },
    once: () => undefined,
  });
  const code = await runProgram('waybill', words, {
    env: { WAYBILL_ADDR: waybill.api.url },
    stdout: sink((text) => (out += text)),
    stderr: sink((text) => (err += text)),
    interrupt: new AbortController().signal,
  });
  return { code, out, err };
}

describe('deployments over HTTP', () => {
  it('section 5, API-212, API-214, DP-1206: a canary becomes healthy, is promoted, and each step can be read', async () => {
    const { id, canary, report, evaluations, read } = await rollout('web');
    const body = { DeploymentID: id, All: true };
    expect(await put(`/v1/deployment/promote/${id}`, body)).toMatchObject({
      status: 500,
      text: '1 error occurred:\n\t* Task group "web" has 0/1 healthy allocations\n\n',
    });
    await report(true);
    await eventually('the watcher asks for an evaluation', async () => (await evaluations()).length === 1);

    const promoted = await put(`/v1/deployment/promote/${id}`, body);
    expect(promoted.status).toBe(200);
    const answer = JSON.parse(promoted.text) as Record<string, unknown>;
    expect(answer).toMatchObject({
      EvalCreateIndex: promoted.index,
      DeploymentModifyIndex: promoted.index,
      Index: promoted.index,
      RevertedJobVersion: null,
    });
    expect(await read()).toMatchObject({
      Status: 'running',
      StatusDescription: 'Deployment is running',
      TaskGroups: { web: { Promoted: true, HealthyAllocs: 1 } },
    });
    expect((await evaluations()).map((e) => e.ID)).toContain(answer['EvalID']);
    const alloc = await waybill.api.get<{ DeploymentStatus: object }>(`/v1/allocation/${canary.ID}`);
    expect(alloc.DeploymentStatus).toMatchObject({ Healthy: true, Canary: false });
  });

  it('API-210, API-211, DP-1201, DP-1202: what is refused, and with which words', async () => {
    const { id, read } = await rollout('refusing');
    for (const action of ['pause', 'promote', 'allocation-health', 'unblock']) {
      const at = `/v1/deployment/${action}/${id}`;
      expect(await put(at)).toMatchObject({ status: 400 });
      expect(await put(at, {})).toMatchObject({ status: 400, text: 'DeploymentID must be specified' });
      expect(await put(at, { DeploymentID: 'other' })).toMatchObject({
        status: 400,
        text: 'Deployment ID does not match',
      });
    }
    expect(await put(`/v1/deployment/allocation-health/${id}`, { DeploymentID: id })).toMatchObject({
      status: 500,
      text: 'must specify at least one healthy/unhealthy allocation ID',
    });
    expect(await put('/v1/deployment/run/x')).toMatchObject({ status: 405, text: 'Invalid method' });
    const gone = newUuid();
    expect(await put(`/v1/deployment/fail/${gone}`)).toMatchObject({ status: 500, text: 'deployment not found' });
    expect(await put(`/v1/deployment/unblock/${id}`, { DeploymentID: id })).toMatchObject({
      status: 500,
      text: "can't unblock running deployment",
    });
    const paused = await put(`/v1/deployment/pause/${id}`, { DeploymentID: id, Pause: true });
    expect(JSON.parse(paused.text)).toMatchObject({ EvalID: '', EvalCreateIndex: 0, Index: paused.index });
    expect(await read()).toMatchObject({ Status: 'paused', ModifyIndex: paused.index });
    const failed = await put(`/v1/deployment/fail/${id}`);
    expect(JSON.parse(failed.text)).toMatchObject({ RevertedJobVersion: 0 });
    expect(await read()).toMatchObject({
      StatusDescription: 'Deployment marked as failed - rolling back to job version 0',
    });
    expect(await put(`/v1/deployment/fail/${id}`)).toMatchObject({
      status: 500,
      text: "can't fail terminal deployment",
    });
  });

  it('DP-604, DP-701, DP-805, API-163: the holder is killed; its successor fails the rollout and goes back; a user reverts that', async () => {
    const { report, read } = await rollout('killed');
    await waybill.kill('deployments');
    await report(false);
    await waybill.startService('deployments');
    const failed = await eventually('it is failed', async () => {
      const deployment = await read();
      return deployment.Status === 'failed' && deployment;
    });
    expect(failed.StatusDescription).toBe('Failed due to unhealthy allocations - rolling back to job version 0');
    expect(await waybill.api.get<Job>('/v1/job/killed')).toMatchObject({ Version: 2, Priority: 40, Stable: true });

    const revert = (more: object) => put('/v1/job/killed/revert', { JobID: 'killed', ...more });
    expect(await revert({ JobVersion: 2 })).toMatchObject({ status: 500, text: "can't revert to current version" });
    expect(await revert({ JobVersion: 9 })).toMatchObject({
      status: 500,
      text: 'job "killed" in namespace "default" at version 9 not found',
    });
    expect(await revert({ JobVersion: 1, EnforcePriorVersion: 0 })).toMatchObject({
      status: 500,
      text: 'Current job has version 2; enforcing version 0',
    });
    expect(await revert({ JobVersion: 1, EnforcePriorVersion: 2 })).toMatchObject({ status: 200 });
    expect(await waybill.api.get<Job>('/v1/job/killed')).toMatchObject({ Version: 3, Priority: 60, Stable: false });
  });

  it('CL-601 to CL-604, CL-339, CL-351: the same from the command line', async () => {
    const { id, report } = await rollout('typed');
    const short = id.slice(0, 8);
    expect((await cli('deployment', 'list')).out).toMatch(new RegExp(`${short} +typed +1 +running`));
    expect(await cli('deployment', 'pause', short)).toEqual({ code: 0, out: `Deployment "${id}" paused\n`, err: '' });
    expect((await cli('deployment', 'resume', '-detach', id)).out).toMatch(
      new RegExp(`^Deployment "${id}" resumed\nEvaluation ID: [0-9a-f-]{36}\n$`),
    );
    const early = await cli('job', 'promote', '-detach', 'typed');
    expect(early.code).toBe(1);
    expect(early.err).toContain(`Error promoting deployment "${id}" for job "typed": Unexpected response code: 500`);
    await report(true);
    expect((await cli('deployment', 'promote', '-group=web', '-detach', id)).out).toMatch(/^Evaluation ID: /);
    const status = await cli('deployment', 'status', short);
    expect(status.out).toMatch(/Status += running/);
    expect(status.out).toMatch(/web +true +true +3 +1 +1 +1 +0/);
    expect((await cli('deployment', 'fail', '-detach', id)).out).toContain(
      `Deployment "${id}" failed. Auto-reverted to job version 0.\n`,
    );
    const history = (await cli('job', 'history', 'typed')).out;
    expect(history.match(/^Version +=.*$/gm)).toEqual(
      ['Version', 'Version', 'Version'].map((w, i) => `${w}     = ${2 - i}`),
    );
    expect((await cli('job', 'revert', '-detach', 'typed', '1')).out).toMatch(/^Evaluation ID: /);
    expect((await cli('deployment', 'status', 'zz')).code).toBe(1);
    expect(await cli('deployment', 'status', '-monitor', id)).toMatchObject({ code: 0 });
  });
});
