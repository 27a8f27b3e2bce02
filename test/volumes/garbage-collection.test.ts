import { existsSync } from 'node:fs';
import path from 'node:path';
import { connect, Journal, type NatsLink } from '@waybill/journal';
import type { Allocation, Evaluation, JobSummary, Node } from '@waybill/model';
import { loadSnapshot, openPool } from '@waybill/projection';
import { newUuid } from '@waybill/service';
import { draftTxn, serviceActor, stateDigest, StateMachine } from '@waybill/state';
import type { Pool } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ApiClient, shellJob } from '../support/api-client.js';
import { runCli } from '../support/cli.js';
import { EventReader } from '../support/event-reader.js';
import { eventually } from '../support/wait.js';
import { WaybillProcesses } from '../support/waybill-processes.js';

/** Collection as users meet it: every service a process, an agent with real tasks, the command line. */

let waybill: WaybillProcesses;
let api: ApiClient;
let pool: Pool;
let link: NatsLink;
let journal: Journal;

beforeAll(async () => {
  waybill = await WaybillProcesses.startTogether();
  api = waybill.api;
  pool = openPool(waybill.stack.databaseUrl);
  link = await connect({ url: waybill.stack.natsUrl, name: 'test' });
  journal = new Journal(link);
});
afterAll(async () => {
  journal?.close();
  await link?.close();
  await pool?.end();
  await waybill?.stop();
});

const cli = (...words: string[]) => runCli(api.url, words);
const statusOf = async (url: string): Promise<number> => (await api.raw(url)).status;
const gone = (url: string) => eventually(`${url} is gone`, async () => (await statusOf(url)) === 404);
const allocsOf = (job: string) => api.get<Allocation[]>(`/v1/job/${job}/allocations`);

/** The one allocation of a job, once its client status is this. */
const allocIs = (job: string, status: Allocation['ClientStatus']): Promise<Allocation> =>
  eventually(`${job} is ${status}`, async () => {
    const [alloc] = await allocsOf(job);
    return alloc?.ClientStatus === status && alloc;
  });

/** Collects, and waits until something that was over is gone: the run has come to its end. */
async function collect(): Promise<void> {
  await api.register(shellJob('mark', 'true', { type: 'batch' }));
  await allocIs('mark', 'complete');
  await eventually('the mark is over', async () => {
    const evals = await api.get<Evaluation[]>('/v1/job/mark/evaluations');
    return (
      evals.every(({ Status }) => Status === 'complete') &&
      (await api.get<{ Status: string }>('/v1/job/mark')).Status === 'dead'
    );
  });
  expect(await cli('system', 'gc')).toEqual({ code: 0, out: '', err: '' });
  await gone('/v1/job/mark');
}

describe('what is over', () => {
  it('GC-42, GC-48, GC-108, GC-121, GC-123, race 1, CL-821: one job of each type goes with its files; what runs is not touched', async () => {
    const types = { web: 'service', sum: 'batch', tidy: 'sysbatch', watch: 'system' } as const;
    for (const [id, type] of Object.entries(types))
      await api.register(shellJob(id, type.endsWith('batch') ? 'true' : 'exec sleep 600', { type }));
    await api.register(shellJob('stays', 'exec sleep 600'));
    const stubborn = shellJob('stubborn', 'trap "" TERM INT; while :; do sleep 0.1; done') as {
      TaskGroups: { Tasks: { KillTimeout: number }[] }[];
    };
    stubborn.TaskGroups[0]!.Tasks[0]!.KillTimeout = 10e9;
    await api.register(stubborn);
    const allocs = new Map<string, Allocation>();
    for (const [id, type] of Object.entries(types))
      allocs.set(id, await allocIs(id, type.endsWith('batch') ? 'complete' : 'running'));
    const stays = await allocIs('stays', 'running');
    const slow = await allocIs('stubborn', 'running');
    for (const id of ['web', 'watch', 'stubborn']) await api.stop(id);
    for (const id of ['web', 'watch']) await allocIs(id, 'complete');

    await collect();
    for (const [id, { ID, EvalID }] of allocs) {
      await gone(`/v1/job/${id}`);
      for (const url of [`/v1/allocation/${ID}`, `/v1/evaluation/${EvalID}`])
        expect([url, await statusOf(url)]).toEqual([url, 404]);
      expect(await statusOf(`/v1/client/fs/logs/${ID}?task=task&type=stdout`)).toBe(404);
      await eventually(`${id}'s files are gone`, () => !existsSync(path.join(waybill.dir, 'agent', 'allocs', ID)));
    }
    expect(await allocIs('stubborn', 'running')).toMatchObject({ ID: slow.ID, DesiredStatus: 'stop' });
    expect(await statusOf(`/v1/evaluation/${slow.EvalID}`)).toBe(200);
    const [still] = await allocsOf('stays');
    expect(still).toMatchObject({ ID: stays.ID, ClientStatus: 'running', ModifyIndex: stays.ModifyIndex });

    await allocIs('stubborn', 'complete');
    await collect();
    await gone('/v1/job/stubborn');
    expect(await statusOf('/v1/job/stays')).toBe(200);
  }, 120_000);

  it('GC-124, GC-125: in public its jobs are told of as JobBatchDeregistered, and nothing else', async () => {
    const reader = await EventReader.open(`${api.url}/v1/event/stream?topic=*&index=1`);
    const isPurge = ({ Type, Key }: { Type: string; Key: string }): boolean =>
      Type === 'JobBatchDeregistered' && Key === 'stubborn';
    const lines = await reader.until((all) => all.some(({ Events }) => Events.some(isPurge)));
    reader.close();
    const purges = lines.filter(({ Events }) => Events.some(({ Type }) => Type === 'JobBatchDeregistered'));
    const events = purges.flatMap(({ Events }) => Events);
    expect(new Set(events.map(({ Topic, Type }) => `${Topic} ${Type}`))).toEqual(new Set(['Job JobBatchDeregistered']));
    expect(events.map(({ Key }) => Key)).toEqual(expect.arrayContaining(['web', 'sum', 'tidy', 'watch']));
    const web = events.find(({ Key }) => Key === 'web')!;
    expect(web.Payload).toMatchObject({ Deleted: true, Job: { ID: 'web', Stop: true, Status: 'dead' } });
  }, 30_000);

  it('the rows are gone from Postgres, what happened stays in the history', async () => {
    const rows = async (text: string): Promise<number> => {
      const { rows: found } = await pool.query<{ count: number }>(`select count(*)::int as count from ${text}`);
      return found[0]!.count;
    };
    for (const table of ['job_version', 'job_summary', 'job_submission', 'allocs', 'evals'])
      expect([table, await rows(`${table} where body::text like '%"web"%'`)]).toEqual([table, 0]);
    expect(await rows("txn where name = 'JobBatchDeregister' and role = 'broker'")).toBeGreaterThan(0);
    expect(await rows("txn_object where kind = 'job' and id = 'web' and op = 'delete'")).toBe(1);
    expect(await (await api.raw('/v1/waybill/log?kind=job&id=web')).text()).toContain('JobBatchDeregister');
  });
});

describe('summaries', () => {
  it('GC-109, GC-110, GC-114, CL-821: are counted anew, and can be read when the answer is there', async () => {
    await api.register({ ...shellJob('waits', 'true', { count: 3 }), Datacenters: ['nowhere'] });
    const queued = async () => (await api.get<JobSummary>('/v1/job/waits/summary')).Summary['group']!.Queued;
    await eventually('it waits', async () => (await queued()) === 3);
    const wrong = async (): Promise<void> => {
      const Queued = [{ Namespace: 'default', JobID: 'waits', Groups: { group: 99 } }];
      const context = { timeNs: Date.now() * 1e6, requestId: newUuid(), actor: serviceActor('test') };
      await journal.publish(draftTxn('ReconcileJobSummaries', { Queued }, context));
      await eventually('its summary is wrong', async () => (await queued()) === 99);
    };
    await wrong();
    expect((await api.raw('/v1/system/reconcile/summaries', { method: 'POST' })).status).toBe(405);
    const answer = await api.raw('/v1/system/reconcile/summaries', { method: 'PUT', body: '{}' });
    expect([answer.status, await answer.text(), await queued()]).toEqual([200, '', 3]);
    await wrong();
    expect(await cli('system', 'reconcile', 'summaries')).toEqual({ code: 0, out: '', err: '' });
    expect(await queued()).toBe(3);
    const none = await cli('system', 'reconcile', 'summaries', 'now');
    expect([none.code, none.err + none.out]).toEqual([1, expect.stringContaining('This command takes no arguments')]);
    const refused = await cli('system', 'gc', 'now');
    expect([refused.code, refused.err + refused.out]).toEqual([
      1,
      expect.stringContaining('This command takes no arguments'),
    ]);
  }, 60_000);
});

describe('nodes', () => {
  it('GC-56, GC-59, GC-61, GC-124: one that is down goes, system jobs hear of it, and its agent comes back as new', async () => {
    await api.register(shellJob('everywhere', 'exec sleep 600', { type: 'system' }));
    const dir = path.join(waybill.dir, 'agent-2');
    const env = { WAYBILL_AGENT_DIR: dir, WAYBILL_NODE_NAME: 'second' };
    await waybill.startService('agent', 'second', env);
    const second = async (status: Node['Status']): Promise<Node> =>
      eventually(
        `the second is ${status}`,
        async () => {
          const stub = (await api.get<Node[]>('/v1/nodes')).find(({ Name }) => Name === 'second');
          return stub?.Status === status && api.get<Node>(`/v1/node/${stub.ID}`);
        },
        60_000,
      );
    const node = await second('ready');
    await eventually(
      'its system job runs',
      async () => (await allocsOf('everywhere')).filter((a) => a.ClientStatus === 'running').length === 2,
    );
    await waybill.kill('second');
    await second('down');
    await eventually('its work is dealt with', async () =>
      (await api.get<Allocation[]>(`/v1/node/${node.ID}/allocations`)).every((a) => a.ClientStatus === 'lost'),
    );
    await collect();
    await gone(`/v1/node/${node.ID}`);
    const deleted = (await eventually('it is told', async () => {
      const { rows } = await pool.query<{ index: string }>(
        "select index from txn where name = 'NodeBatchDeregister' order by index desc limit 1",
      );
      return rows[0];
    })) as { index: string };
    const evaluation = await eventually('the system job is looked at', async () =>
      (await api.get<Evaluation[]>('/v1/job/everywhere/evaluations')).find(
        (e) => e.TriggeredBy === 'node-update' && e.NodeID === node.ID && e.NodeModifyIndex === Number(deleted.index),
      ),
    );
    expect(evaluation).toMatchObject({ Type: 'system' });
    await waybill.startService('agent', 'second', env);
    const back = await second('ready');
    expect(back.ID).toBe(node.ID);
    expect(back.CreateIndex).toBeGreaterThan(Number(deleted.index));
  }, 150_000);
});

describe('a copy of the state', () => {
  it('GC-133: is the same from the log as from Postgres, without what was deleted', async () => {
    const loaded = new StateMachine();
    const index = await loadSnapshot(pool, loaded);
    const machine = new StateMachine();
    const follower = await journal.follow({
      from: 1,
      // Agents go on writing.
      onTxns: (txns) => txns.filter((txn) => txn.index <= index).forEach((txn) => machine.apply(txn)),
      onError: (error) => expect.unreachable(error.message),
    });
    await eventually('the log was read as far', () => machine.appliedIndex === index);
    expect(stateDigest(loaded)).toBe(stateDigest(machine));
    await follower.stop();
  }, 60_000);
});
