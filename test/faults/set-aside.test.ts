import { openPool } from '@waybill/projection';
import type { Pool } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { shellJob } from '../support/api-client.js';
import { runCli } from '../support/cli.js';
import { eventually } from '../support/wait.js';
import { CONTROL_PLANE, WaybillProcesses } from '../support/waybill-processes.js';

/** What a database refuses must not stop a cluster: whole processes, with a constraint that nobody of Waybill made. */

let waybill: WaybillProcesses;
let pool: Pool;

beforeAll(async () => {
  waybill = await WaybillProcesses.startTogether({}, [...CONTROL_PLANE, 'agent'], ['projector', 'broker']);
  pool = openPool(waybill.stack.databaseUrl);
  await pool.query(`alter table jobs add constraint poison check (id <> 'poison')`);
});
afterAll(async () => {
  await pool?.end();
  await waybill?.stop();
});

const statusesOf = async (job: string): Promise<string[]> =>
  (await waybill.api.get<{ ClientStatus: string }[]>(`/v1/job/${job}/allocations`)).map((alloc) => alloc.ClientStatus);
const runs = (job: string): Promise<unknown> =>
  eventually(`${job} runs`, async () => (await statusesOf(job)).join() === 'running', 60_000);
const gauge = async (): Promise<string | undefined> => {
  const text = await (await fetch(`${waybill.opsUrl('projector')}/metrics`)).text();
  return /^waybill_projection_set_aside\S* (\d+)$/m.exec(text)?.[1];
};
const operator = (verb: string): Promise<{ code: number; out: string; err: string }> =>
  runCli(waybill.api.url, ['operator', 'projection', verb]);

it('a job whose row PostgreSQL refuses runs; nobody else waits, services start anew, and a retry stores it', async () => {
  const { Index } = await waybill.api.register(shellJob('poison', 'sleep 600'));
  await waybill.api.register(shellJob('fine', 'sleep 600'));
  await Promise.all([runs('poison'), runs('fine')]);

  const ids = async () => (await waybill.api.get<{ ID: string }[]>('/v1/jobs')).map(({ ID }) => ID);
  expect(await ids()).toEqual(['fine']);
  const refused = await waybill.api.raw('/v1/job/poison');
  expect([refused.status, await refused.text()]).toEqual([
    500,
    expect.stringMatching(
      /^jobs default\/poison cannot be shown: .*violates check constraint "poison".*projection retry/,
    ),
  ]);
  expect((await waybill.api.raw('/v1/job/nobody')).status).toBe(404);
  expect(await gauge()).toBe('1');

  for (const service of ['broker', 'projector'] as const) {
    await waybill.kill(service);
    await waybill.startService(service);
  }
  await waybill.api.register(shellJob('later', 'sleep 600'));
  await runs('later');
  expect(await statusesOf('poison')).toEqual(['running']);
  await eventually('the new projector knows', async () => (await gauge()) === '1');

  expect(await operator('status')).toMatchObject({
    code: 0,
    out: expect.stringMatching(/Set aside {2}= 1\n[^]*default\/poison/),
  });
  expect(await operator('retry')).toMatchObject({
    code: 1,
    out: expect.stringMatching(/^0 stored, 1 still set aside\n/),
  });
  await pool.query('alter table jobs drop constraint poison');
  expect(await operator('retry')).toMatchObject({ code: 0, out: '1 stored, 0 still set aside\n' });
  expect(await waybill.api.get('/v1/job/poison')).toMatchObject({
    ID: 'poison',
    Status: 'running',
    CreateIndex: expect.any(Number),
  });
  expect(await waybill.api.get<{ CreateIndex: number }>('/v1/job/poison')).toMatchObject({ JobModifyIndex: Index });
  await waybill.api.stop('poison', true);
  await eventually('the gauge is down', async () => (await gauge()) === '0');
  expect((await waybill.api.raw('/v1/job/poison')).status).toBe(404);
});
