import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Stack } from '@waybill/embedded';
import { connect, ensureStreams, Journal, type NatsLink } from '@waybill/journal';
import { BatchWriter, openPool } from '@waybill/projection';
import {
  draftTxn,
  fixtures,
  serviceActor,
  StateMachine,
  type Applied,
  type Fence,
  type TxnPayloads,
  type TxnType,
} from '@waybill/state';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startMigratedStack } from '../support/begun-databases.js';

const MAIN = fileURLToPath(new URL('../../apps/verify/dist/main.js', import.meta.url));
const NODE = fixtures.uuid(0xa0de);
const FENCE: Fence = { role: 'broker', epoch: 1 };

let stack: Stack;
let link: NatsLink;
let journal: Journal;
let requests = 0;
/** The projector of this test. */
const machine = new StateMachine();
const applied: Applied[] = [];

beforeAll(async () => {
  stack = await startMigratedStack();
  link = await connect({ url: stack.natsUrl, name: 'test' });
  await ensureStreams(link, { replicas: 1 });
  journal = new Journal(link);
});
afterAll(async () => {
  journal?.close();
  await link?.close();
  await stack?.stop();
});

async function write<T extends TxnType>(type: T, payload: TxnPayloads[T], fence?: Fence): Promise<void> {
  const requestId = `request-${++requests}`;
  const actor = serviceActor('test');
  const draft = draftTxn(type, payload, { timeNs: fixtures.timeNs, requestId, actor, fence });
  const { index } = await journal.publish(draft);
  applied.push(machine.apply({ ...draft, index } as Applied['txn']));
}

async function project(): Promise<void> {
  const pool = openPool(stack.databaseUrl, { size: 1 });
  try {
    await new BatchWriter(pool).write(applied.splice(0));
  } finally {
    await pool.end();
  }
}

async function inPostgres(statement: string): Promise<void> {
  const pool = openPool(stack.databaseUrl, { size: 1 });
  try {
    await pool.query(statement);
  } finally {
    await pool.end();
  }
}

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The command, as `npm run verify --` runs it. */
function verify(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ended> {
  const servers = { WAYBILL_NATS_URL: stack.natsUrl, WAYBILL_DATABASE_URL: stack.databaseUrl };
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [MAIN, ...args],
      { env: { PATH: process.env['PATH'], ...servers, ...env } },
      (error, stdout, stderr) => resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr }),
    );
  });
}

it('says what it can do, and refuses what it cannot', async () => {
  expect(await verify(['--help'])).toMatchObject({ code: 0, stdout: expect.stringContaining('npm run verify -- log') });
  expect(await verify(['events'])).toMatchObject({ code: 2, stderr: expect.stringContaining('no "events" to verify') });
  const none = await verify(['log', '--data-dir', '/nonexistent'], { WAYBILL_NATS_URL: '' });
  expect(none).toMatchObject({ code: 2, stderr: expect.stringContaining('holds no log') });
});

it('is content with an empty log', async () => {
  expect(await verify(['log'])).toMatchObject({ code: 0, stdout: expect.stringContaining('The log is empty') });
});

it('is content with a good run, and lists what is open', async () => {
  await write('Initialise', {});
  await write('LeaseAcquired', { Role: 'broker', Epoch: 1, Holder: 'test' });
  await write('NodeRegister', { Node: fixtures.aNode({ ID: NODE }), CreateNodePool: false });
  const job = fixtures.aJob();
  await write('JobRegister', fixtures.aRegistration(job, { Eval: fixtures.anEval({ ID: fixtures.uuid(7) }) }));
  const { code, stdout } = await verify(['log']);
  expect(stdout).toContain('1 open');
  expect(stdout).toContain(`${fixtures.uuid(7)} of job default/web, pending, job-register`);
  expect(stdout).toContain('All invariants hold.');
  expect(code).toBe(0);
});

it('OP-49: finds a projection made anew equal to the running one in every table, then what somebody changed', async () => {
  await project();
  const equal = await verify(['state', '--rebuild', '--json']);
  const tables = (JSON.parse(equal.stdout) as { tables: { table: string; rows: number; equal: boolean }[] }).tables;
  expect(tables.filter((one) => !one.equal)).toEqual([]);
  expect(equal.code).toBe(0);
  const names = tables.filter(({ rows }) => rows > 0).map(({ table }) => table);
  expect(names).toEqual(expect.arrayContaining(['jobs', 'txn', 'txn_object', 'table_index']));
  await inPostgres(`update txn_object set change = 'nothing' where index = (select max(index) from txn_object)`);
  const changed = await verify(['state', '--rebuild']);
  expect(changed.code).toBe(1);
  expect(changed.stdout).toMatch(/^txn_object .* DIFFERENT/m);
});

it('OP-49: finds Postgres equal to the log, then what somebody changed in it', async () => {
  const equal = await verify(['state']);
  expect(equal).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Equal: [0-9a-f]{64}$/m) });

  await inPostgres(`update jobs set body = jsonb_set(body::jsonb, '{Priority}', '51')::json`);
  await inPostgres(`delete from evals`);
  const { code, stdout } = await verify(['state']);
  expect(code).toBe(1);
  expect(stdout).toMatch(/^jobs +1 rows +1 DIFFERENT$/m);
  expect(stdout).toContain('different default/web: Priority');
  expect(stdout).toContain(`missing ${fixtures.uuid(7)}`);
  const report = JSON.parse((await verify(['state', '--json'])).stdout) as { ok: boolean; index: number };
  expect(report).toMatchObject({ ok: false, index: 4 });
});

it('fails on a log that was broken on purpose, with the index of the break', async () => {
  const Job = machine.tables.jobs.get('default/web')!;
  const plan = () =>
    fixtures.aPlanResult({
      Job,
      EvalID: fixtures.uuid(7),
      AllocsUpdated: [{ ...fixtures.anAlloc({ Job, NodeID: NODE }), Job: null }],
    });
  await write('ApplyPlanResults', plan(), FENCE);
  expect((await verify(['log'])).code).toBe(0);
  await write('ApplyPlanResults', plan(), FENCE);
  const { code, stdout } = await verify(['log']);
  expect(code).toBe(1);
  expect(stdout).toMatch(/^BROKEN no-double-placement at index 6: job default\/web web\.web\[0\] runs twice/m);
  const report = JSON.parse((await verify(['log', '--json', '--ended'])).stdout) as {
    ok: boolean;
    violations: { invariant: string }[];
  };
  expect(report.ok).toBe(false);
  expect(report.violations.map((v) => v.invariant)).toEqual(['no-double-placement', 'eval-end']);
});
