import { execFile } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { fileURLToPath } from 'node:url';
import { connect, type NatsLink, StreamRetention } from '@waybill/journal';
import { embeddedDataPaths } from '@waybill/embedded';
import { openPool } from '@waybill/projection';
import type { Pool } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shellJob } from '../support/api-client.js';
import { runCli } from '../support/cli.js';
import { eventually } from '../support/wait.js';
import { CONTROL_PLANE, WaybillProcesses } from '../support/waybill-processes.js';

const TEST_MS = 240_000;
const PAGE_BYTES = 8_192;
/** Behind the head of a page, in its rows: they are written from its end. */
const IN_A_ROW = PAGE_BYTES - 40;
const VERIFY = fileURLToPath(new URL('../../apps/verify/dist/main.js', import.meta.url));
const run = promisify(execFile);

let waybill: WaybillProcesses;
let pool: Pool;
let link: NatsLink;
let scratch: string;

beforeAll(async () => {
  scratch = mkdtempSync(path.join(tmpdir(), 'waybill-damage-'));
  waybill = await WaybillProcesses.startTogether({}, CONTROL_PLANE, ['api', 'projector']);
  pool = openPool(waybill.stack.databaseUrl);
  link = await connect({ url: waybill.stack.natsUrl, name: 'test' });
  for (let i = 0; i < 20; i++) await waybill.api.register(shellJob(`kept-${i}`, 'true'));
}, TEST_MS);
afterAll(async () => {
  await link?.close();
  await pool?.end();
  await waybill?.stop();
  rmSync(scratch, { recursive: true, force: true });
});

const rebuild = (...words: string[]) =>
  runCli(waybill.api.url, ['operator', 'projection', 'rebuild', '-yes', ...words]);

const statusOf = async (job: string): Promise<number> => (await waybill.api.raw(`/v1/job/${job}`)).status;

/** A byte in the first page of a table's file, as the disk changes it: below a PostgreSQL that was killed and comes back. */
async function damage(table: string): Promise<void> {
  const { rows } = await pool.query<{ at: string }>('select pg_relation_filepath($1) as at', [table]);
  await pool.query('checkpoint');
  const file = path.join(embeddedDataPaths(path.join(waybill.dir, 'stack')).postgresHome, 'data', String(rows[0]?.at));
  const { pid } = waybill.stack.postgres;
  process.kill(pid, 'SIGKILL');
  const page = readFileSync(file);
  const open = openSync(file, 'r+');
  writeSync(open, Buffer.from([(page[IN_A_ROW] ?? 0) ^ 1]), 0, 1, IN_A_ROW);
  closeSync(open);
  await eventually(
    'PostgreSQL is back',
    async () => waybill.stack.postgres.pid !== pid && (await pool.query('select 1')),
  );
}

async function damagedStatements(service: string): Promise<number> {
  const text = await (await fetch(`${waybill.opsUrl(service)}/metrics`)).text();
  return Number(/^waybill_database_damaged\S* (\d+)$/m.exec(text)?.[1]);
}

const linesOf = (service: string): string[] =>
  readFileSync(path.join(waybill.dir, `${service}.log`), 'utf8')
    .split('\n')
    .filter((line) => line.includes('the files of PostgreSQL are damaged'));

async function verified(): Promise<unknown> {
  const env = {
    ...process.env,
    WAYBILL_NATS_URL: waybill.stack.natsUrl,
    WAYBILL_DATABASE_URL: waybill.stack.databaseUrl,
  };
  return JSON.parse((await run(process.execPath, [VERIFY, 'state', '--json'], { env })).stdout);
}

describe('a page of PostgreSQL that fails its checksum', () => {
  it.each([
    ['jobs', '/v1/jobs'],
    ['txn', '/v1/operator/log/status'],
    ['projection', '/v1/operator/projection'],
  ])(
    '(%s) is named in one line and counted, and filled anew from the log by one command',
    async (table, readBy) => {
      const linesBefore = linesOf('api').length;
      await damage(table);
      const failed = await eventually('a read fails', async () => {
        const answer = await waybill.api.raw(readBy);
        const text = await answer.text();
        if (answer.status !== 500) throw new Error(`${answer.status} ${text}`);
        return text;
      });
      expect(failed).toMatch(
        /^the files of PostgreSQL are damaged.*operator projection rebuild.*invalid page in block 0/,
      );
      expect(await damagedStatements('api')).toBeGreaterThan(0);
      // One for all, however many statements meet it.
      expect(linesOf('api')).toHaveLength(Math.max(1, linesBefore));

      const rebuilt = await rebuild();
      expect([rebuilt.err, rebuilt.code]).toEqual(['', 0]);
      expect(rebuilt.out).toMatch(/^The database is filled anew, up to index \d+; its history begins with index 1\.$/m);
      expect(await statusOf('kept-7')).toBe(200);
      await waybill.api.register(shellJob(`after-${table}`, 'true'));
      expect(await statusOf(`after-${table}`)).toBe(200);
      expect(await verified()).toMatchObject({ ok: true });
    },
    TEST_MS,
  );

  it(
    'a log whose beginning was trimmed needs an archive, and what is behind it comes from the log',
    async () => {
      const file = path.join(scratch, 'state.snap');
      expect((await runCli(waybill.api.url, ['operator', 'snapshot', 'save', file])).code).toBe(0);
      const { JobModifyIndex } = await waybill.api.register(shellJob('behind', 'true'));
      const { rows } = await pool.query<{ applied: string }>('select applied from projection');
      expect(Number(rows[0]?.applied)).toBeGreaterThanOrEqual(JobModifyIndex);
      await new StreamRetention(link).trimLog(20);
      await damage('jobs');
      expect((await rebuild()).err).toMatch(/the log begins at index 20.*rebuild FILE/);
      const rebuilt = await rebuild(file);
      expect([rebuilt.err, rebuilt.code]).toEqual(['', 0]);
      for (const job of ['kept-7', 'behind']) expect([job, await statusOf(job)]).toEqual([job, 200]);
      await waybill.api.register(shellJob('last', 'true'));
      expect(await statusOf('last')).toBe(200);
    },
    TEST_MS,
  );
});
