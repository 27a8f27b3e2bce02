import type { Allocation, AllocListStub, Evaluation } from '@waybill/model';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ApiClient, shellJob } from '../support/api-client.js';
import { eventually } from '../support/wait.js';
import { WaybillProcesses } from '../support/waybill-processes.js';

const NOBODY = '00000000-0000-4000-8000-000000000000';

let waybill: WaybillProcesses;
let api: ApiClient;

beforeAll(async () => {
  waybill = await WaybillProcesses.startTogether();
  api = waybill.api;
});
afterAll(() => waybill?.stop());

async function put(path: string, body?: object) {
  const answer = await api.raw(path, { method: 'PUT', ...(body && { body: JSON.stringify(body) }) });
  const index = Number(answer.headers.get('X-Nomad-Index') ?? 0);
  return { status: answer.status, text: await answer.text(), index };
}

const read = (id: string) => api.get<Allocation>(`/v1/allocation/${id}`);
const list = (job: string) => api.get<AllocListStub[]>(`/v1/job/${job}/allocations?all=true`);

/** The first allocation of a job that runs. */
async function runs(job: object & { ID?: string }): Promise<AllocListStub> {
  await api.register(job);
  return eventually(`${job.ID} runs`, async () =>
    (await list(job.ID ?? '')).find((alloc) => alloc.ClientStatus === 'running'),
  );
}

describe('what job restart needs of the servers: restart', () => {
  it('section 2.9: other methods and paths; an ID in the body counts for nothing', async () => {
    const alloc = await runs(shellJob('methods', 'exec sleep 1000'));
    for (const method of ['GET', 'DELETE'])
      expect((await api.raw(`/v1/client/allocation/${alloc.ID}/restart`, { method })).status).toBe(405);
    expect((await put(`/v1/client/allocation/${alloc.ID}/nonsense`)).status).toBe(404);
    const body = { AllocID: NOBODY, TaskName: '', AllTasks: false };
    expect((await put(`/v1/client/allocation/${alloc.ID}/restart`, body)).status).toBe(200);
  });

  it('JR-954: what is refused', async () => {
    const alloc = await runs(shellJob('refusing', 'exec sleep 1000'));
    expect(await put(`/v1/client/allocation/${NOBODY}/restart`)).toMatchObject({
      status: 404,
      text: `Unknown allocation "${NOBODY}"`,
    });
    const both = { TaskName: 'task', AllTasks: true };
    expect(await put(`/v1/client/allocation/${alloc.ID}/restart`, both)).toMatchObject({
      status: 400,
      text: 'task name cannot be set when restarting all tasks',
    });
  });

  it('section 2.9: what does not run is passed over, and an allocation that is to be stopped is refused', async () => {
    const job = shellJob('passing', 'exec sleep 1000') as { ID: string; TaskGroups: { Tasks: object[] }[] };
    const [group] = job.TaskGroups;
    const prepare = { Name: 'prepare', Lifecycle: { Hook: 'prestart' }, Config: { command: '/bin/true' } };
    group?.Tasks.unshift({ ...group.Tasks[0], ...prepare });
    const { ID } = await runs(job);
    await eventually('the main task runs', async () => (await read(ID)).TaskStates?.['task']?.State === 'running');
    expect((await put(`/v1/client/allocation/${ID}/restart`)).status).toBe(200);
    const states = await eventually('the main task has restarted', async () => {
      const { TaskStates } = await read(ID);
      return TaskStates?.['task']?.Restarts === 1 && TaskStates;
    });
    expect(states['prepare']).toMatchObject({ State: 'dead', Restarts: 0 });
    await api.stop('passing');
    await eventually('it has ended', async () => (await read(ID)).ClientStatus === 'complete');
    for (const AllTasks of [false, true])
      expect(await put(`/v1/client/allocation/${ID}/restart`, { AllTasks })).toMatchObject({
        status: 409,
        text: 'restart of an alloc that should not run',
      });
  });
});

describe('what job restart needs of the servers: stop and evaluate', () => {
  it('JR-961, JR-962, JR-963: the stop', async () => {
    const { ID } = await runs(shellJob('stopping', 'exec sleep 1000'));
    const path = `/v1/allocation/${ID}/stop`;
    expect(await put(`${path}?no_shutdown_delay=maybe`)).toMatchObject({
      status: 400,
      text: expect.stringContaining('Failed to parse value of "no_shutdown_delay" (maybe) as a bool: ') as string,
    });
    expect((await api.raw(path, { method: 'DELETE' })).status).toBe(405);
    expect(await put(`/v1/allocation/${NOBODY}/stop`)).toMatchObject({ status: 404, text: 'allocation not found' });
    const { status, text, index } = await put(path);
    const { EvalID, Index } = JSON.parse(text) as { EvalID: string; Index: number };
    expect([status, Index]).toEqual([200, index]);
    expect(await read(ID)).toMatchObject({
      DesiredTransition: { Migrate: true, NoShutdownDelay: false, Reschedule: false },
    });
    expect(await api.get<Evaluation>(`/v1/evaluation/${EvalID}`)).toMatchObject({
      TriggeredBy: 'alloc-stop',
      Type: 'service',
      Priority: 50,
      CreateIndex: index,
    });
    expect((await put(`${path}?no_shutdown_delay=true&reschedule=true`)).status).toBe(200);
    expect(await read(ID)).toMatchObject({ DesiredTransition: { NoShutdownDelay: true, Reschedule: true } });
  });

  it('JR-967: a sysbatch allocation that is stopped is not replaced', async () => {
    const { ID } = await runs(shellJob('sweeping', 'exec sleep 1000', { type: 'sysbatch' }));
    const stopped = JSON.parse((await put(`/v1/allocation/${ID}/stop`)).text) as { EvalID: string };
    await eventually('it has ended', async () => (await read(ID)).ClientStatus === 'complete');
    await eventually('its evaluation is complete', async () => {
      const { Status } = await api.get<Evaluation>(`/v1/evaluation/${stopped.EvalID}`);
      return Status === 'complete';
    });
    const again = JSON.parse((await put('/v1/job/sweeping/evaluate')).text) as { EvalID: string };
    await eventually('the job was looked at again', async () => {
      const { Status } = await api.get<Evaluation>(`/v1/evaluation/${again.EvalID}`);
      return Status === 'complete';
    });
    expect(await list('sweeping')).toHaveLength(1);
  });

  it('JR-971: evaluations of jobs, and of those that have none', async () => {
    await runs(shellJob('looked-at', 'exec sleep 1000'));
    const body = { JobID: 'looked-at', EvalOptions: { ForceReschedule: true } };
    const { status, text, index } = await put('/v1/job/looked-at/evaluate', body);
    const { EvalID } = JSON.parse(text) as { EvalID: string };
    expect(status).toBe(200);
    expect(await api.get<Evaluation>(`/v1/evaluation/${EvalID}`)).toMatchObject({
      TriggeredBy: 'job-register',
      Type: 'service',
      Priority: 50,
      CreateIndex: index,
    });
    await api.register({ ...shellJob('nightly', 'true', { type: 'batch' }), Periodic: { Spec: '0 0 1 1 *' } });
    await api.register({ ...shellJob('template', 'true', { type: 'batch' }), ParameterizedJob: {} });
    for (const [job, status, text] of [
      ['nobody', 404, 'job not found'],
      ['nightly', 400, "can't evaluate periodic job"],
      ['template', 400, "can't evaluate parameterized job"],
    ])
      expect(await put(`/v1/job/${job}/evaluate`)).toMatchObject({ status, text });
  });
});

describe('what job restart needs of the servers: lists', () => {
  it('JR-981, JR-982: type and version of the job, and states of the tasks unless they are not wanted', async () => {
    const { ID } = await runs(shellJob('listed', 'exec sleep 1000'));
    const [stub] = await list('listed');
    expect(stub).toMatchObject({ ID, JobType: 'service', JobVersion: 0, TaskStates: { task: { State: 'running' } } });
    const without = await api.get<AllocListStub[]>('/v1/allocations?task_states=false');
    expect(without.find((alloc) => alloc.ID === ID)?.TaskStates ?? null).toBeNull();
    // Beyond the versions that are kept (six) the stub still tells which one it was.
    for (let n = 1; n < 9; n++) await api.register(shellJob('listed', `exec sleep ${n + 2000}`));
    const { Versions } = await api.get<{ Versions: { Version: number }[] }>('/v1/job/listed/versions');
    expect(Versions.map(({ Version }) => Version)).not.toContain(0);
    const old = (await list('listed')).find((alloc) => alloc.ID === ID);
    expect(old).toMatchObject({ JobType: 'service', JobVersion: 0 });
  });
});
