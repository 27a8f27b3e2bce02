import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ApiClient, shellJob } from '../support/api-client.js';
import { eventually } from '../support/wait.js';
import { WaybillProcesses } from '../support/waybill-processes.js';

interface Evaluation {
  ID: string;
  Status: string;
  JobID: string;
  TriggeredBy: string;
  CreateIndex: number;
  ModifyIndex: number;
}
interface Allocation {
  ID: string;
  EvalID: string;
  ClientStatus: string;
  CreateIndex: number;
  ModifyIndex: number;
}

const NOBODY = '00000000-0000-4000-8000-000000000000';

let waybill: WaybillProcesses;
let api: ApiClient;
let evalId: string;

beforeAll(async () => {
  waybill = await WaybillProcesses.startTogether();
  api = waybill.api;
  ({ EvalID: evalId } = await api.register(shellJob('web', 'exec sleep 600')));
  await eventually('it runs', async () =>
    (await api.get<Allocation[]>('/v1/job/web/allocations')).some((a) => a.ClientStatus === 'running'),
  );
});
afterAll(() => waybill?.stop());

const indexOf = (answer: Response): number => Number(answer.headers.get('x-nomad-index'));

/** The last transaction of a subject, as it is in the log. */
async function committedText(subject: string): Promise<string> {
  const nc = await connect({ servers: waybill.stack.natsUrl });
  try {
    const manager = await jetstreamManager(nc);
    return (await manager.streams.getMessage('TXN', { last_by_subj: subject }))?.string() ?? '';
  } finally {
    await nc.close();
  }
}

describe('one evaluation', () => {
  it('EB-299: with its own index; a missing one is 404, with the index of the last change to any', async () => {
    const answer = await api.raw(`/v1/evaluation/${evalId}`);
    const evaluation = (await answer.json()) as Evaluation;
    expect(evaluation).toMatchObject({ ID: evalId, JobID: 'web', TriggeredBy: 'job-register' });
    expect(indexOf(answer)).toBe(evaluation.ModifyIndex);
    const missing = await api.raw(`/v1/evaluation/${NOBODY}`);
    expect([missing.status, await missing.text()]).toEqual([404, 'eval not found']);
    const last = Math.max(...(await api.get<Evaluation[]>('/v1/evaluations')).map((e) => e.ModifyIndex));
    expect(indexOf(missing)).toBeGreaterThanOrEqual(last);
  });

  it('EB-301: its allocations as stubs, none for an unknown one, with the index of the last change to any', async () => {
    const answer = await api.raw(`/v1/evaluation/${evalId}/allocations`);
    const allocs = (await answer.json()) as Allocation[];
    expect(allocs).toHaveLength(1);
    expect(allocs[0]).toMatchObject({ EvalID: evalId });
    expect(allocs[0]).not.toHaveProperty('Job');
    const all = await api.raw('/v1/allocations');
    expect(indexOf(answer)).toBe(indexOf(all));
    const none = await api.raw(`/v1/evaluation/${NOBODY}/allocations`);
    expect([none.status, await none.json()]).toEqual([200, []]);
    expect(indexOf(none)).toBe(indexOf(all));
  });

  it('EB-3: its times come back digit by digit as they were committed', async () => {
    const text = await (await api.raw(`/v1/evaluation/${evalId}`)).text();
    const created = /"CreateTime":(\d+)/.exec(text)?.[1];
    expect(created).toMatch(/^\d{13}000000$/);
    const committed = await committedText('TXN.job.default.web');
    expect(committed).toContain(`"ID":"${evalId}"`);
    expect(committed).toContain(`"CreateTime":${created}`);
    expect(Number(created)).toBeGreaterThan(Number.MAX_SAFE_INTEGER);
  });
});

describe('lists and configuration', () => {
  it('EB-294: a star is every namespace, an unknown one is empty', async () => {
    const ids = async (namespace: string) =>
      (await api.get<Evaluation[]>(`/v1/evaluations?namespace=${namespace}`)).map((e) => e.ID);
    expect(await ids('*')).toContain(evalId);
    expect(await ids('default')).toContain(evalId);
    expect(await ids('elsewhere')).toEqual([]);
  });

  it('EB-308: the configuration with its index', async () => {
    const answer = await api.raw('/v1/operator/scheduler/configuration');
    const body = (await answer.json()) as { SchedulerConfig: { ModifyIndex: number }; Index: number };
    expect(body).toMatchObject({
      LastContact: 0,
      KnownLeader: true,
      SchedulerConfig: { SchedulerAlgorithm: 'binpack' },
    });
    expect(body.Index).toBe(body.SchedulerConfig.ModifyIndex);
  });
});

describe('periodic jobs', () => {
  const periodic = () => ({
    ...shellJob('backup', 'true', { type: 'batch' }),
    Periodic: { Enabled: true, SpecType: 'cron', Spec: '0 3 1 1 *', TimeZone: 'UTC' },
  });
  const force = (id: string, method = 'PUT') => api.raw(`/v1/job/${id}/periodic/force`, { method });

  it('force launches now: a child with its evaluation, that runs', async () => {
    await api.register(periodic());
    const answer = await force('backup');
    expect(answer.status).toBe(200);
    const { EvalID, EvalCreateIndex } = (await answer.json()) as { EvalID: string; EvalCreateIndex: number };
    expect(indexOf(answer)).toBe(EvalCreateIndex);
    const evaluation = await api.get<Evaluation>(`/v1/evaluation/${EvalID}`);
    expect(evaluation).toMatchObject({ TriggeredBy: 'periodic-job', CreateIndex: EvalCreateIndex });
    expect(evaluation.JobID).toMatch(/^backup\/periodic-\d{10}$/);
    const child = `/v1/job/${encodeURIComponent(evaluation.JobID)}`;
    expect(await api.get(child)).toMatchObject({ ParentID: 'backup', Periodic: null });
    await eventually('it has run', async () =>
      (await api.get<Allocation[]>(`${child}/allocations`)).some((a) => a.ClientStatus === 'complete'),
    );
    expect((await force('backup', 'POST')).status).toBe(200);
  });

  it('force refuses what is not there, and what is not periodic', async () => {
    const missing = await force('nothing');
    expect([missing.status, await missing.text()]).toEqual([404, 'job not found']);
    const other = await force('web');
    expect([other.status, await other.text()]).toEqual([400, "can't force launch non-periodic job"]);
  });
});

describe('collection on demand', () => {
  it('EB-147, API-234, API-235: is accepted by PUT only, and removes what has ended', async () => {
    expect((await api.raw('/v1/system/gc', { method: 'POST' })).status).toBe(405);
    const { EvalID: last } = await api.register(shellJob('over', 'true', { type: 'batch' }));
    const { EvalID: purge } = await api.stop('over', true);
    for (const id of [last, purge])
      await eventually(
        'it has ended',
        async () => (await api.get<Evaluation>(`/v1/evaluation/${id}`)).Status === 'complete',
      );
    const answer = await api.raw('/v1/system/gc', { method: 'PUT' });
    expect([answer.status, await answer.text()]).toEqual([200, '']);
    for (const id of [last, purge])
      await eventually('it is forgotten', async () => (await api.raw(`/v1/evaluation/${id}`)).status === 404);
    expect((await api.raw(`/v1/evaluation/${evalId}`)).status).toBe(200); // what it placed still runs
  });
});
