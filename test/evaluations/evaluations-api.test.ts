import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ApiClient, shellJob } from '../support/api-client.js';
import { eventually } from '../support/wait.js';
import { WaybillProcesses } from '../support/waybill-processes.js';

interface Configuration {
  SchedulerAlgorithm: string;
  PreemptionConfig: Record<string, boolean>;
  MemoryOversubscriptionEnabled: boolean;
  RejectJobRegistration: boolean;
  PauseEvalBroker: boolean;
  NodeLimitForFeasibilityChecks: number;
  CreateIndex: number;
  ModifyIndex: number;
}
interface Evaluation {
  ID: string;
  Status: string;
  JobID: string;
  TriggeredBy: string;
  CreateIndex: number;
  ModifyIndex: number;
  RelatedEvals?: { ID: string; WaitUntil: null }[];
}

const CLI = fileURLToPath(new URL('../../apps/cli/bin/waybill.js', import.meta.url));
const PATH = '/v1/operator/scheduler/configuration';
const NOT_PAUSED = 'eval broker is enabled; eval broker must be paused to delete evals';

let waybill: WaybillProcesses;
let api: ApiClient;

beforeAll(async () => {
  waybill = await WaybillProcesses.startTogether({}, undefined, ['broker']);
  api = waybill.api;
  await eventually('the node is ready', async () =>
    (await api.get<{ Status: string }[]>('/v1/nodes')).some((node) => node.Status === 'ready'),
  );
  await eventually('there is a configuration', async () => (await api.raw(PATH)).ok);
});
afterAll(() => waybill?.stop());

const read = async (): Promise<Configuration> =>
  (await api.get<{ SchedulerConfig: Configuration }>(PATH)).SchedulerConfig;
const send = (method: string, path: string, body: unknown): Promise<Response> =>
  api.raw(path, { method, body: typeof body === 'string' ? body : JSON.stringify(body) });
const textOf = async (answer: Response): Promise<[number, string]> => [answer.status, await answer.text()];
const set = async (change: Partial<Configuration>): Promise<{ Updated: boolean; Index: number }> => {
  const answer = await send('PUT', PATH, { ...(await read()), ...change });
  expect(answer.status).toBe(200);
  return (await answer.json()) as { Updated: boolean; Index: number };
};
const pause = () => set({ PauseEvalBroker: true });
const unpause = () => set({ PauseEvalBroker: false });
const evalOf = (id: string) => api.get<Evaluation>(`/v1/evaluation/${id}`);
const filtered = (path: string, filter: string) => `${path}?filter=${encodeURIComponent(filter)}`;
const running = (id: string, count: number) =>
  eventually(`${count} of ${id} run`, async () => {
    const allocs = await api.get<{ ClientStatus: string; DesiredStatus: string }[]>(`/v1/job/${id}/allocations`);
    return allocs.filter((a) => a.ClientStatus === 'running' && a.DesiredStatus === 'run').length === count;
  });
/** All that the broker's process counts of evaluations in its memory. */
const inMemory = async (): Promise<number[]> => {
  const text = await (await fetch(`${waybill.opsUrl('broker')}/metrics`)).text();
  const found = text.matchAll(/^\w*broker_total_(?:ready|unacked|pending|waiting|blocked)(?:\{[^}]*\})? (\S+)/gm);
  return [...found].map(([, value]) => Number(value));
};

describe('scheduler configuration', () => {
  it('API-630, OP-10, OP-11, OP-12, OP-16, EB-309, EB-312, API-232: PUT and POST replace the whole object, and all members come back', async () => {
    const whole = await api.get<{ SchedulerConfig: Configuration; Index: number }>(PATH); // EB-308
    const before = whole.SchedulerConfig;
    expect(whole).toMatchObject({ Index: before.ModifyIndex, LastContact: 0, KnownLeader: true, NextToken: '' });
    const answer = await send('POST', PATH, { SchedulerAlgorithm: 'spread', memoryoversubscriptionenabled: true });
    expect(answer.status).toBe(200);
    const { Updated, Index } = (await answer.json()) as { Updated: boolean; Index: number };
    expect(Updated).toBe(true);
    expect(answer.headers.get('x-nomad-index')).toBe(String(Index));
    expect(await read()).toEqual({
      SchedulerAlgorithm: 'spread',
      PreemptionConfig: {
        SystemSchedulerEnabled: false,
        SysBatchSchedulerEnabled: false,
        BatchSchedulerEnabled: false,
        ServiceSchedulerEnabled: false,
      },
      MemoryOversubscriptionEnabled: true,
      RejectJobRegistration: false,
      PauseEvalBroker: false,
      NodeLimitForFeasibilityChecks: 0,
      CreateIndex: before.CreateIndex, // OP-16
      ModifyIndex: Index,
    });
    await send('PUT', PATH, { CreateIndex: 7, ModifyIndex: 7 });
    expect(await read()).toMatchObject({ SchedulerAlgorithm: 'binpack', CreateIndex: before.CreateIndex });
  });

  it('OP-250, API-629, OP-14, OP-15, EB-310, API-231: a check-and-set that loses changes nothing and says so', async () => {
    const { ModifyIndex } = await read();
    for (const cas of [0, ModifyIndex - 1, ModifyIndex + 1]) {
      const lost = await send('PUT', `${PATH}?cas=${cas}`, { SchedulerAlgorithm: 'spread' });
      expect(lost.status).toBe(200);
      const answer = (await lost.json()) as { Updated: boolean; Index: number };
      expect(answer.Updated).toBe(false);
      expect(answer.Index).toBeGreaterThan(0);
    }
    expect(await read()).toMatchObject({ SchedulerAlgorithm: 'binpack', ModifyIndex });
    const both = await Promise.all(
      [1, 2].map(async (limit) => {
        const answer = await send('PUT', `${PATH}?cas=${ModifyIndex}`, { NodeLimitForFeasibilityChecks: limit });
        return ((await answer.json()) as { Updated: boolean }).Updated;
      }),
    );
    expect(both.filter(Boolean), 'of two at once one wins').toHaveLength(1);
  });

  it('OP-11, OP-13, EB-311, API-230: a malformed configuration is refused with its text and changes nothing', async () => {
    const before = await read();
    const refused = async (body: unknown, path = PATH) => {
      const [status, text] = await textOf(await send('PUT', path, body));
      expect(status).toBe(400);
      return text;
    };
    expect(await refused({ SchedulerAlgorithm: 'best' })).toBe('invalid scheduler algorithm: best');
    expect(await refused('')).toBe('Error parsing scheduler config: Request body is empty');
    for (const body of [
      '{',
      '[]',
      'null',
      '7',
      { PauseEvalBroker: 'yes' },
      { NodeLimitForFeasibilityChecks: -1 },
      { NodeLimitForFeasibilityChecks: 1.5 },
      { SchedulerAlgorithm: 7 },
      { PreemptionConfig: [] },
      { PreemptionConfig: { SystemSchedulerEnabled: 1 } },
    ])
      expect(await refused(body), JSON.stringify(body)).toContain('Error parsing scheduler config: ');
    for (const cas of ['x', '', '-1', '1.5'])
      expect(await refused({}, `${PATH}?cas=${cas}`), cas).toContain('Error parsing cas value: ');
    expect(await read()).toEqual(before);
    expect(await textOf(await send('DELETE', PATH, ''))).toEqual([405, 'Invalid method']); // OP-11
  });

  it('OP-20: no registration while it is rejected', async () => {
    await set({ RejectJobRegistration: true });
    const [status, text] = await textOf(await send('PUT', '/v1/jobs', { Job: shellJob('shed', 'true') }));
    expect([status, text]).toEqual([
      403,
      'Job registration, dispatch, and scale are disabled by the scheduler configuration',
    ]);
    await set({ RejectJobRegistration: false });
  });
});

describe('evaluations', () => {
  it('EB-291, EB-295, API-190: listed in full, filtered by job, status or expression', async () => {
    const { EvalID } = await api.register(shellJob('listed', 'exec sleep 600'));
    await running('listed', 1);
    await eventually('it is complete', async () => (await evalOf(EvalID)).Status === 'complete');
    const ids = async (path: string) => (await api.get<Evaluation[]>(path)).map((e) => e.ID);
    expect(await ids('/v1/evaluations?job=listed')).toEqual([EvalID]);
    expect(await ids('/v1/evaluations?job=listed&status=blocked')).toEqual([]);
    expect(await ids(filtered('/v1/evaluations', 'JobID == listed and Status == complete'))).toEqual([EvalID]);
    expect(await ids(filtered('/v1/evaluations', `ID contains "${EvalID.slice(0, 5)}"`))).toEqual([EvalID]);
  });

  it('API-72: filter and another filter parameter exclude each other', async () => {
    for (const other of ['job=x', 'status=pending'])
      expect(await textOf(await api.raw(`${filtered('/v1/evaluations', 'Status == x')}&${other}`))).toEqual([
        400,
        'Filter expression cannot be used with other filter parameters',
      ]);
  });

  it('EB-292, EB-293, EB-297, API-609: pages in order, full after filtering, both ways and by prefix', async () => {
    for (let i = 0; i < 7; i++) await api.register(shellJob(`paged-${i % 2}`, `exec sleep ${700 + i}`));
    const filter = encodeURIComponent('JobID == "paged-1"');
    const pages = async (query: string): Promise<{ ids: string[]; tokens: string[]; sizes: number[] }> => {
      const [ids, tokens, sizes]: [string[], string[], number[]] = [[], [], []];
      for (let token = ''; ;) {
        const answer = await api.raw(`/v1/evaluations?per_page=2&${query}&next_token=${token}`);
        const rows = (await answer.json()) as Evaluation[];
        ids.push(...rows.map((e) => e.ID));
        sizes.push(rows.length);
        token = answer.headers.get('x-nomad-nexttoken') ?? '';
        if (token === '') return { ids, tokens, sizes };
        tokens.push(token);
      }
    };
    const all = await api.get<Evaluation[]>(`/v1/evaluations?filter=${filter}`);
    expect(all.length).toBeGreaterThanOrEqual(3);
    expect(all.map((e) => e.CreateIndex)).toEqual(all.map((e) => e.CreateIndex).toSorted((a, b) => a - b));
    const there = await pages(`filter=${filter}`);
    expect(there.ids).toEqual(all.map((e) => e.ID));
    expect(there.sizes.slice(0, -1).every((size) => size === 2)).toBe(true);
    expect(there.tokens[0]).toBe(`${all[2]!.CreateIndex}.${all[2]!.ID}`);
    expect((await pages(`filter=${filter}&reverse=true`)).ids).toEqual(all.map((e) => e.ID).toReversed());
    const byPrefix = await pages(`prefix=${all[0]!.ID.slice(0, 2)}`);
    expect(byPrefix.ids).toContain(all[0]!.ID);
    expect(byPrefix.ids).toEqual(byPrefix.ids.toSorted((a, b) => (a < b ? -1 : 1)));
    for (const job of ['paged-0', 'paged-1']) await api.stop(job);
  });

  it('API-67: on every list, on the objects as they are stored', async () => {
    const names = async (path: string, filter: string) =>
      (await api.get<{ ID?: string; Name?: string }[]>(filtered(path, filter))).map((row) => row.ID ?? row.Name);
    expect(await names('/v1/jobs', 'ID == listed and TaskGroups is not empty and ParameterizedJob is nil')).toEqual([
      'listed',
    ]);
    expect(await names('/v1/jobs', 'any TaskGroups as g { any g.Tasks as t { t.Driver == docker } }')).toEqual([]);
    expect(await names('/v1/nodes', 'Attributes["kernel.name"] == linux and Status == ready')).toHaveLength(1);
    expect(await names('/v1/allocations', 'ClientStatus == running and JobID matches "^lis"')).toHaveLength(1);
    expect(await names('/v1/deployments', 'Status == nothing')).toEqual([]);
    expect(await names('/v1/namespaces', 'Name == default')).toEqual(['default']);
    const [status, text] = await textOf(await api.raw(filtered('/v1/nodes', 'SecretID matches "^a"')));
    expect([status, text]).toEqual([400, expect.stringContaining('failed to read result page') as string]);
  });

  it('API-71, EB-296: an expression that cannot be read, or not be decided', async () => {
    for (const path of ['/v1/evaluations', '/v1/jobs', '/v1/nodes', '/v1/allocations']) {
      const [status, text] = await textOf(await api.raw(filtered(path, 'Status ==')));
      expect([status, text]).toEqual([
        400,
        expect.stringContaining('failed to create result paginator: failed to read filter expression') as string,
      ]);
    }
    const [status, text] = await textOf(await api.raw(filtered('/v1/evaluations', 'NoSuch == 1')));
    expect(status).toBe(400);
    expect(text).toContain('failed to read result page');
    expect(text).toContain('error finding value in datum');
  });

  it('API-150: evaluating a job anew', async () => {
    const answer = await send('POST', '/v1/job/listed/evaluate', '');
    expect(answer.status).toBe(200);
    const { EvalID, Index } = (await answer.json()) as { EvalID: string; Index: number };
    expect(await evalOf(EvalID)).toMatchObject({ JobID: 'listed', TriggeredBy: 'job-register', CreateIndex: Index });
    const refused = async (path: string, body: unknown) => textOf(await send('PUT', path, body));
    expect(await refused('/v1/job/none/evaluate', '')).toEqual([404, 'job not found']);
    expect(await refused('/v1/job/listed/evaluate', {})).toEqual([400, 'Job ID must be specified']);
    expect(await refused('/v1/job/listed/evaluate', { JobID: 'x' })).toEqual([400, 'JobID not same as job name']);
    expect((await refused('/v1/job/listed/evaluate', { JobID: 7 }))[0]).toBe(400);
  });

  it('API-150: ForceReschedule marks the failed allocations', async () => {
    const job = shellJob('unlucky', 'exit 1', { restart: { Attempts: 0, Interval: 60e9, Delay: 1e9, Mode: 'fail' } });
    Object.assign((job as { TaskGroups: object[] }).TaskGroups[0]!, {
      ReschedulePolicy: {
        Attempts: 0,
        Interval: 0,
        Delay: 3600e9,
        DelayFunction: 'constant',
        MaxDelay: 0,
        Unlimited: true,
      },
    });
    await api.register(job);
    const allocs = () =>
      api.get<{ ID: string; ClientStatus: string; NextAllocation?: string }[]>('/v1/job/unlucky/allocations');
    const failed = await eventually('it has failed', async () =>
      (await allocs()).find((a) => a.ClientStatus === 'failed'),
    );
    expect(await allocs()).toHaveLength(1);
    await send('PUT', '/v1/job/unlucky/evaluate', { JobID: 'unlucky', EvalOptions: { ForceReschedule: true } });
    const marked = await api.get<{ DesiredTransition: object }>(`/v1/allocation/${failed.ID}`);
    expect(marked.DesiredTransition).toMatchObject({ ForceReschedule: true });
    await api.stop('unlucky', true);
  });

  it('EB-300, API-190: related=true fills the stubs, and nothing else does', async () => {
    const job = shellJob('stuck', 'true') as { TaskGroups: { Tasks: { Driver: string }[] }[] };
    job.TaskGroups[0]!.Tasks[0]!.Driver = 'warp';
    const { EvalID } = await api.register(job);
    const done = await eventually('it is complete', async () => {
      const e = await api.get<Evaluation & { BlockedEval?: string }>(`/v1/evaluation/${EvalID}?related=true`);
      return e.Status === 'complete' && e;
    });
    expect(done.RelatedEvals).toMatchObject([
      { ID: done.BlockedEval, JobID: 'stuck', Status: 'blocked', WaitUntil: null },
    ]);
    expect(await evalOf(EvalID)).not.toHaveProperty('RelatedEvals');
    expect(await api.get(`/v1/evaluation/${EvalID}?related=1`)).not.toHaveProperty('RelatedEvals');
    await api.stop('stuck', true);
  });
});

describe('pausing the broker', () => {
  it('API-233, API-628, OP-19, OP-22, OP-24, OP-25, OP-252, EB-133: what is registered stays pending, over a broker killed meanwhile, and runs afterwards', async () => {
    await pause();
    const { EvalID } = await api.register(shellJob('late', 'exec sleep 600'));
    const stopped = await api.stop('listed');
    const crowd = Array.from({ length: 100 }, (_, i) => `crowd-${i}`);
    const each = async (work: (id: string) => Promise<unknown>): Promise<void> => {
      for (let from = 0; from < crowd.length; from += 20) await Promise.all(crowd.slice(from, from + 20).map(work));
    };
    await each((id) => api.register({ ...shellJob(id, 'true', { type: 'batch' }), Datacenters: ['nowhere'] }));
    expect((await evalOf(EvalID)).Status).toBe('pending');
    await waybill.kill('broker');
    await waybill.startService('broker');
    // A second configuration write that leaves the flag alone is applied by the new holder, which stays paused (EB-128).
    await set({ NodeLimitForFeasibilityChecks: 5 });
    const { EvalID: second } = await api.register(shellJob('later', 'exec sleep 600'));
    await eventually('the new broker holds the role', async () => {
      const answer = await send('DELETE', '/v1/evaluations', { EvalIDs: ['00000000-0000-4000-8000-000000000000'] });
      return (await answer.text()) === 'eval not found';
    });
    for (const id of [EvalID, stopped.EvalID, second]) expect((await evalOf(id)).Status).toBe('pending');
    for (const name of ['late', 'later']) expect(await api.get(`/v1/job/${name}/allocations`)).toEqual([]);
    const ofCrowd = () => api.get<Evaluation[]>(filtered('/v1/evaluations', 'JobID matches "^crowd-"'));
    expect((await ofCrowd()).map(({ Status }) => Status)).toEqual(crowd.map(() => 'pending'));
    await unpause();
    await Promise.all([running('late', 1), running('later', 1), running('listed', 0)]);
    await eventually('all have been scheduled', async () =>
      (await ofCrowd()).every(({ Status }) => Status !== 'pending'),
    );
    // One that was scheduled twice would have left a second blocked evaluation, or a cancelled one.
    const statuses = (await ofCrowd()).map(({ Status, JobID }) => `${JobID} ${Status}`);
    const once = crowd.flatMap((id) => [`${id} blocked`, `${id} complete`]);
    expect(statuses.toSorted()).toEqual(once.toSorted());
    await each((id) => api.stop(id, true));
  }, 60_000);

  it('OP-27, OP-21: a pause that no broker was there to obey is stored, says so, and the next one obeys', async () => {
    await waybill.kill('broker');
    const [status, text] = await textOf(await send('PUT', PATH, { ...(await read()), PauseEvalBroker: true }));
    const { PauseEvalBroker, ModifyIndex } = await read();
    expect(PauseEvalBroker).toBe(true);
    expect([status, text]).toEqual([503, expect.stringContaining(`written as index ${ModifyIndex}`) as string]);
    const { EvalID } = await api.register(shellJob('patient', 'exec sleep 600'));
    await waybill.startService('broker');
    await eventually('the new broker holds the role', async () => {
      const answer = await send('DELETE', '/v1/evaluations', { EvalIDs: ['00000000-0000-4000-8000-000000000000'] });
      return (await answer.text()) === 'eval not found';
    });
    expect((await evalOf(EvalID)).Status).toBe('pending');
    await unpause();
    await running('patient', 1);
  }, 60_000);

  it('OP-29: other singletons go on, and their evaluations wait', async () => {
    await pause();
    const often = { Spec: '* * * * * * *', SpecType: 'cron', Enabled: true };
    await api.register({ ...shellJob('often', 'true', { type: 'batch' }), Periodic: often });
    const [child] = await eventually('it was launched', async () => {
      const evals = await api.get<Evaluation[]>(filtered('/v1/evaluations', 'JobID matches "^often/"'));
      return evals.length > 0 && evals;
    });
    expect(child).toMatchObject({ Status: 'pending', TriggeredBy: 'periodic-job' });
    await api.stop('often', true);
    await unpause();
  });

  it('OP-21, OP-23: the answer comes when the broker obeys; paused it keeps nothing in memory', async () => {
    await pause();
    for (let i = 0; i < 5; i++) await api.register(shellJob(`quiet-${i}`, 'true', { type: 'batch' }));
    const counts = await inMemory();
    expect(counts.length).toBeGreaterThanOrEqual(4);
    expect(counts.every((n) => n === 0)).toBe(true);
    const pending = await api.get<Evaluation[]>(
      filtered('/v1/evaluations', 'Status == pending and JobID matches "^quiet"'),
    );
    expect(pending).toHaveLength(5);
    await unpause();
    await eventually(
      'they have run',
      async () => (await api.get<Evaluation[]>('/v1/evaluations?status=pending')).length === 0,
    );
  });
});

describe('deleting evaluations', () => {
  const remove = (body: unknown): Promise<Response> => send('DELETE', '/v1/evaluations', body);
  const count = async (filter: string): Promise<number> =>
    (await api.get<{ Count: number }>(filtered('/v1/evaluations/count', filter))).Count;

  it('OP-28, EB-302, API-191: what is asked wrongly', async () => {
    const id = '00000000-0000-4000-8000-000000000000';
    expect(await textOf(await remove({ EvalIDs: [id], Filter: 'Status == x' }))).toEqual([
      400,
      'evals cannot be deleted by both ID and filter',
    ]);
    expect(await textOf(await remove({}))).toEqual([400, 'evals must be deleted by either ID or filter']);
    expect(await textOf(await remove({ EvalIDs: Array.from({ length: 7_282 }, () => id) }))).toEqual([
      400,
      'request includes 7282 evaluation IDs, must be 7281 or fewer',
    ]);
    expect((await remove({ EvalIDs: 'x' })).status).toBe(400);
    expect((await remove('{')).status).toBe(400);
  });

  it('EB-303, OP-28: not while the broker hands them out', async () => {
    const [first] = await api.get<Evaluation[]>('/v1/evaluations?per_page=1');
    expect(await textOf(await remove({ EvalIDs: [first!.ID] }))).toEqual([409, NOT_PAUSED]);
    expect(await textOf(await remove({ Filter: 'Status is not empty' }))).toEqual([409, NOT_PAUSED]);
    expect((await evalOf(first!.ID)).ID).toBe(first!.ID);
  });

  it('EB-304: by id all or nothing, and only what is safe', async () => {
    await pause();
    const { EvalID: one } = await api.register(shellJob('doomed', 'true', { type: 'batch' }));
    const { EvalID: two } = await api.register(shellJob('doomed', 'true', { type: 'batch', count: 2 }));
    const [kept] = await api.get<Evaluation[]>('/v1/evaluations?job=late');
    const unknown = '00000000-0000-4000-8000-000000000000';
    expect(await textOf(await remove({ EvalIDs: [one, unknown] }))).toEqual([404, 'eval not found']);
    expect(await textOf(await remove({ EvalIDs: [one, kept!.ID] }))).toEqual([
      409,
      `eval ${kept!.ID} is not safe to delete`,
    ]);
    expect((await evalOf(one)).Status).toBe('pending');
    const answer = await remove({ EvalIDs: [one, two, one] });
    expect(await answer.json()).toEqual({ Count: 2, Index: Number(answer.headers.get('x-nomad-index')) });
    expect((await api.raw(`/v1/evaluation/${one}`)).status).toBe(404);
    await unpause();
  });

  it('EB-305, EB-298, OP-255, ST-98: by filter, in several transactions, while others come; what is not safe stays', async () => {
    await pause();
    await remove({ Filter: 'JobID == many' }); // of an attempt before this one
    const job = shellJob('many', 'true', { type: 'batch' });
    await api.register(job);
    for (let i = 0; i < 30; i++)
      await Promise.all(Array.from({ length: 25 }, () => send('PUT', '/v1/job/many/evaluate', '')));
    expect(await count('JobID == many')).toBe(751);
    expect(await count('NoSuchField == 1'), 'undecided counts as no').toBe(0);
    expect((await api.raw(filtered('/v1/evaluations/count', 'JobID =='))).status).toBe(400);
    const [running] = await api.get<{ EvalID: string }[]>('/v1/job/late/allocations');
    const ofLate = `ID == "${running!.EvalID}"`; // others of this job may come: its rollout is not over
    expect(await count(ofLate)).toBe(1);
    const before = await api.get<Evaluation[]>(filtered('/v1/evaluations', 'JobID == many'));
    const removing = remove({ Filter: `JobID == many or ${ofLate}` });
    const come = 20;
    for (let i = 0; i < come; i++) await send('PUT', '/v1/job/many/evaluate', '');
    const answer = await removing;
    expect(answer.status).toBe(200);
    const { Count, Index } = (await answer.json()) as { Count: number; Index: number };
    const left = await api.get<Evaluation[]>(filtered('/v1/evaluations', 'JobID == many'));
    expect(Count).toBe(751 + come - left.length);
    expect(Index).toBeGreaterThan(0);
    const known = new Set(before.map(({ ID }) => ID));
    expect(left.filter(({ ID }) => known.has(ID))).toEqual([]);
    await remove({ Filter: 'JobID == many' });
    expect(await count(ofLate), 'its allocation runs').toBe(1);
    expect((await api.raw(`/v1/evaluation/${running!.EvalID}`)).status).toBe(200);
    expect(await (await remove({ Filter: 'JobID == many' })).json()).toEqual({ Count: 0, Index: 0 });
    expect(await textOf(await remove({ Filter: 'JobID ==' }))).toEqual([
      400,
      expect.stringContaining('failed to read filter expression') as string,
    ]);
    await unpause();
  }, 60_000);
});

describe('the command line', () => {
  /** The real program; what it is asked at the terminal is answered with `input`. */
  const cli = (words: string, input = '', address = api.url): Promise<{ code: number; out: string; err: string }> =>
    new Promise((resolve) => {
      const env = { PATH: process.env['PATH'], WAYBILL_ADDR: address };
      const child = execFile(process.execPath, [CLI, ...words.split(/ +/)], { env }, (_, out, err) =>
        resolve({ code: child.exitCode ?? -1, out, err }),
      );
      child.stdin?.end(input);
    });

  it('OP-251, OP-18: an old client that knows of no pause ends it, this one does not; what waited is scheduled as is set by then', async () => {
    await pause();
    const job = shellJob('roomy', 'exec sleep 600') as { TaskGroups: { Tasks: { Resources: object }[] }[] };
    job.TaskGroups[0]!.Tasks[0]!.Resources = { CPU: 20, MemoryMB: 16, MemoryMaxMB: 64 };
    await api.register(job);
    expect((await cli('operator scheduler set-config -memory-oversubscription=true')).code).toBe(0);
    const { PauseEvalBroker, ...known } = await read();
    expect([PauseEvalBroker, known.MemoryOversubscriptionEnabled]).toEqual([true, true]);
    expect((await send('PUT', PATH, known)).status).toBe(200);
    expect(await read()).toMatchObject({ PauseEvalBroker: false, MemoryOversubscriptionEnabled: true });
    await running('roomy', 1);
    const [{ ID }] = (await api.get<{ ID: string }[]>('/v1/job/roomy/allocations')) as [{ ID: string }];
    expect(await api.get(`/v1/allocation/${ID}`)).toMatchObject({
      AllocatedResources: { Tasks: { task: { Memory: { MemoryMB: 16, MemoryMaxMB: 64 } } } },
    });
    await set({ MemoryOversubscriptionEnabled: false });
    await api.stop('roomy', true);
  });

  it('OP-30, OP-31: get-config', async () => {
    const { ModifyIndex } = await read();
    expect(await cli('operator scheduler get-config')).toEqual({
      code: 0,
      err: '',
      out: [
        'Scheduler Algorithm               = binpack',
        'Memory Oversubscription           = false',
        'Reject Job Registration           = false',
        'Pause Eval Broker                 = false',
        'Preemption System Scheduler       = false',
        'Preemption Service Scheduler      = false',
        'Preemption Batch Scheduler        = false',
        'Preemption SysBatch Scheduler     = false',
        'Node Limit For Feasibility Checks = 5',
        `Modify Index                      = ${ModifyIndex}`,
        '',
      ].join('\n'),
    });
    const { out } = await cli('operator scheduler get-config -json');
    expect(JSON.parse(out)).toEqual(await api.get(PATH));
  });

  it('OP-32, OP-33, OP-35, EB-313: set-config changes what is named and nothing else', async () => {
    const before = await read();
    const done = { code: 0, err: '', out: 'Scheduler configuration updated!\n' };
    expect(
      await cli(
        'operator scheduler set-config -scheduler-algorithm=spread -memory-oversubscription -preempt-batch-scheduler=true -node-limit-for-feasibility-checks=7',
      ),
    ).toEqual(done);
    const changed = await read();
    expect(changed).toEqual({
      ...before,
      SchedulerAlgorithm: 'spread',
      MemoryOversubscriptionEnabled: true,
      PreemptionConfig: { ...before.PreemptionConfig, BatchSchedulerEnabled: true },
      NodeLimitForFeasibilityChecks: 7,
      ModifyIndex: changed.ModifyIndex,
    });
    expect(await cli('operator scheduler set-config')).toEqual(done);
    const again = await read();
    expect(again).toEqual({ ...changed, ModifyIndex: again.ModifyIndex });
    expect(again.ModifyIndex).toBeGreaterThan(changed.ModifyIndex);
    for (const flag of [
      'preempt-service-scheduler',
      'preempt-sysbatch-scheduler',
      'preempt-system-scheduler',
      'reject-job-registration',
    ])
      expect(await cli(`operator scheduler set-config -${flag}`)).toEqual(done);
    expect(await read()).toMatchObject({
      RejectJobRegistration: true,
      PreemptionConfig: {
        SystemSchedulerEnabled: true,
        SysBatchSchedulerEnabled: true,
        BatchSchedulerEnabled: true,
        ServiceSchedulerEnabled: true,
      },
    });
    expect(
      await cli('operator scheduler set-config -reject-job-registration=false -scheduler-algorithm=binpack'),
    ).toEqual(done);
  });

  it('OP-34, OP-36: the check index, arguments, and what the server refuses', async () => {
    const { ModifyIndex } = await read();
    const change = (flags: string) => cli(`operator scheduler set-config ${flags}`);
    expect(await change(`-check-index=${ModifyIndex + 1}`)).toEqual({
      code: 1,
      out: '',
      err: `Error performing check index set: check-index ${ModifyIndex + 1} does not match does not match current state value ${ModifyIndex}\n`,
    });
    expect((await change('-check-index=x')).err).toContain('Error parsing check-index value "x": ');
    expect(await change('more')).toMatchObject({
      code: 1,
      err: expect.stringContaining('This command takes no arguments') as string,
    });
    expect(await change('-nothing')).toMatchObject({
      code: 1,
      err: expect.stringContaining('flag provided but not defined') as string,
    });
    expect((await change('-namespace=default')).err).toContain('flag provided but not defined: -namespace');
    expect(await change('-scheduler-algorithm=best')).toMatchObject({
      code: 1,
      err: expect.stringContaining('Error setting scheduler configuration: Unexpected response code: 400') as string,
    });
    expect((await read()).ModifyIndex).toBe(ModifyIndex);
    expect(await change(`-check-index=${ModifyIndex}`)).toMatchObject({ code: 0 });
  });

  it('CL-1112, OP-33: of two at once exactly one reports success', async () => {
    // Writes wait until both have come, so that both were made from the same configuration.
    const held: (() => void)[] = [];
    const between = createServer((request, response) => {
      void (async () => {
        const body = request.method === 'GET' ? null : Buffer.from(await buffer(request));
        if (request.method === 'PUT') {
          await new Promise<void>((go) => {
            held.push(go);
            if (held.length === 2) for (const each of held) each();
          });
        }
        const answer = await api.raw(request.url ?? '', { method: request.method ?? 'GET', body });
        response.writeHead(answer.status).end(await answer.text());
      })();
    }).listen(0, '127.0.0.1');
    await once(between, 'listening');
    const url = `http://127.0.0.1:${(between.address() as AddressInfo).port}`;
    const both = await Promise.all(
      [8, 9].map((n) => cli(`operator scheduler set-config -node-limit-for-feasibility-checks=${n}`, '', url)),
    );
    between.close();
    expect(both.filter(({ code }) => code === 0)).toEqual([
      { code: 0, err: '', out: 'Scheduler configuration updated!\n' },
    ]);
    expect(both.filter(({ code }) => code !== 0)).toEqual([
      { code: 1, err: '', out: 'Scheduler configuration could not be atomically updated, please try again\n' },
    ]);
  });

  it('CL-621: eval list', async () => {
    const { out } = await cli('eval list -job late');
    const [head, row] = out.split('\n');
    expect(head?.split(/ {2,}/)).toEqual([
      'ID',
      'Priority',
      'Triggered By',
      'Job ID',
      'Namespace',
      'Node ID',
      'Status',
      'Placement Failures',
    ]);
    expect(row?.split(/ {2,}/).slice(1)).toEqual([
      '50',
      'job-register',
      'late',
      'default',
      '<none>',
      'complete',
      'false',
    ]);
    expect((await cli('eval list -status blocked')).out).toBe('No evals found\n');
    const paged = await cli('eval list -per-page 1');
    expect(paged.out).toMatch(
      /To get the next page run:\n\n\S+ eval list -per-page 1 -page-token \d+\.[0-9a-f-]{36}\n$/,
    );
    const bad = await cli('eval list -filter Status');
    expect([bad.code, bad.err]).toEqual([
      1,
      expect.stringContaining('Error querying evaluations: Unexpected response code: 400') as string,
    ]);
  });

  it('CL-338: job eval', async () => {
    const detached = await cli('job eval -detach late');
    expect(detached.out).toMatch(/^Created eval ID: "[0-9a-f]{8}" \n$/);
    const watched = await cli('job eval -force-reschedule late');
    expect(watched.code).toBe(0);
    expect(watched.out).toContain('finished with status "complete"');
    expect(await cli('job eval nobody')).toMatchObject({ code: 1 });
  });

  it('CL-626, CL-627: eval delete, asked wrongly, and while the broker is not paused', async () => {
    const validating = 'Error validating command args and flags: ';
    expect(await cli('eval delete')).toMatchObject({
      code: 1,
      err: `${validating}evaluation ID or filter flag required\n`,
    });
    expect((await cli('eval delete -filter x a')).err).toBe(`${validating}evaluation ID or filter flag required\n`);
    expect((await cli('eval delete a b')).err).toBe(`${validating}expected 1 argument, got 2\n`);
    const { code, out, err } = await cli('eval delete -yes -filter=ID==x');
    expect([code, err]).toEqual([1, 'Eval broker is not paused\n']);
    expect(out.split('\n')).toEqual([
      expect.stringContaining('operator scheduler set-config -pause-eval-broker=true'),
      expect.stringContaining('operator scheduler set-config -pause-eval-broker=false'),
      '',
    ]);
  });

  it('CL-628: eval delete by id and by filter', async () => {
    expect((await cli('operator scheduler set-config -pause-eval-broker=true')).code).toBe(0);
    const batch = (id: string) => api.register(shellJob(id, 'true', { type: 'batch' }));
    const one = await batch('cli-one');
    await batch('cli-two');
    await batch('cli-three');
    expect(await cli(`eval delete ${one.EvalID}`)).toEqual({
      code: 0,
      err: '',
      out: 'Successfully deleted 1 evaluation\n',
    });
    const unknown = await cli('eval delete 00000000-0000-4000-8000-000000000000');
    expect(unknown).toMatchObject({
      code: 1,
      err: 'Error deleting evaluations: Unexpected response code: 404 (eval not found)\n',
    });
    const filter = 'JobID~matches~"^cli-"';
    const byFilter = (flags: string, input: string) =>
      cli(`eval delete ${flags} -filter=${filter}`.replaceAll('~', '\u0009'), input);
    const refused = await byFilter('', 'n\n');
    expect(refused.code).toBe(0);
    expect(refused.out).toContain('Are you sure you want to delete 2 evals? [y/N] ');
    expect(refused.out).toContain('Cancelling eval deletion\n\nNo evaluations were deleted\n');
    const done = await byFilter('', 'y\n');
    expect(done.code).toBe(0);
    expect(done.out).toMatch(/\nSuccessfully deleted 2 evaluations\n$/);
    expect(await byFilter('-yes', '')).toEqual({ code: 0, err: '', out: 'No evaluations were deleted\n' });
    expect((await cli('operator scheduler set-config -pause-eval-broker=false')).code).toBe(0);
  });
});
