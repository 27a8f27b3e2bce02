// How long a service takes from its start to being caught up when Postgres holds many allocations, and what they cost it.
import { randomUUID } from 'node:crypto';
import { openPool } from '@waybill/projection';
import { draftTxn, fixtures, serviceActor } from '@waybill/state';
import { ServiceProcesses, until } from './processes.mjs';

export const describe = 'start of a service on a state with many allocations: time until caught up, memory';

/** The goal is stated for 1,000,000; putting them into Postgres takes minutes. BENCH_ALLOCS=1000000 for all of them. */
const ALLOCS = Number(process.env.BENCH_ALLOCS ?? 100_000);
const GOAL_ALLOCS = 1_000_000;
const GOAL_SECONDS = 20;

/** @param {import('./harness.mjs').Bench} ctx */
export async function run(ctx) {
  const processes = await ServiceProcesses.start(ctx);
  await processes.add('projector');
  await processes.add('scheduler', 'empty');
  const emptyBytes = processes.residentBytes('empty');
  await processes.end('empty', 'SIGTERM');
  await writeOne(processes);
  const pool = openPool(processes.stack.databaseUrl, { size: 1 });
  ctx.onEnd(() => pool.end());
  const { last } = await processes.journal.bounds();
  await until('it is projected', async () => {
    const { rows } = await pool.query('select applied from projection');
    return Number(rows[0].applied) >= last;
  });
  await processes.end('projector', 'SIGTERM');
  ctx.log(`${ALLOCS} allocations into Postgres`);
  await multiply(pool);

  let bytes = 0;
  await ctx.measure(
    'caughtUpSeconds',
    { unit: 's', runs: 3, warmups: 0, goal: { below: (GOAL_SECONDS * ALLOCS) / GOAL_ALLOCS } },
    async () => {
      const ms = await ctx.time(() => processes.add('scheduler'));
      bytes = processes.residentBytes('scheduler');
      await processes.end('scheduler', 'SIGTERM');
      return ms / 1000;
    },
  );
  ctx.metric('bytesPerAlloc', (bytes - emptyBytes) / ALLOCS, { unit: 'B', goal: { below: 1_024 } });
  ctx.note(
    `${ALLOCS} allocations of one job; the goal is 20 s for 1,000,000, here in proportion; from the start of a scheduler ` +
      'process until /readyz says ready, the start of node included; memory as resident set less that of one with no allocation',
  );
}

/** A job with one allocation, through the log. @param {ServiceProcesses} processes */
async function writeOne({ journal }) {
  const context = () => ({
    timeNs: Date.now() * 1e6,
    requestId: randomUUID(),
    actor: serviceActor('bench'),
    namespace: 'default',
  });
  const Eval = fixtures.anEval({ ID: randomUUID(), JobID: 'web' });
  const job = fixtures.aJob({ ID: 'web' });
  await journal.publish(draftTxn('JobRegister', fixtures.aRegistration(job, { Eval }), context()));
  const alloc = fixtures.anAlloc({ ID: randomUUID(), JobID: 'web', EvalID: Eval.ID, Job: job, NodeID: randomUUID() });
  const plan = fixtures.aPlanResult({ Job: job, EvalID: Eval.ID, AllocsUpdated: [alloc] });
  await journal.publish(draftTxn('ApplyPlanResults', plan, context()));
}

/** Copies of the one allocation under other ids. @param {import('pg').Pool} pool */
async function multiply(pool) {
  const { rows } = await pool.query(
    `select column_name as name from information_schema.columns
     where table_schema = 'public' and table_name = 'allocs' and column_name not in ('id', 'body') order by 1`,
  );
  const columns = rows.map((/** @type {{ name: string }} */ { name }) => name).join(', ');
  await pool.query(
    `insert into allocs (id, body, ${columns})
     select n.id, replace(a.body::text, a.id, n.id)::json, ${columns.replaceAll(/(\w+)/g, 'a.$1')} from allocs a,
       (select gen_random_uuid()::text as id from generate_series(2, $1)) n`,
    [ALLOCS],
  );
  await pool.query('analyze allocs');
}
