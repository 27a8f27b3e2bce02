// How long a service takes from its start to being caught up when Postgres holds many allocations, and what they cost it.
import { randomUUID } from 'node:crypto';
import { openPool } from '@waybill/projection';
import { draftTxn, fixtures, serviceActor } from '@waybill/state';
import { ServiceProcesses, until } from './processes.mjs';

export const describe = 'start of a service on a state with many allocations: time until caught up, memory';

/** A million take PostgreSQL a minute to make and 4.5 GB of disk: BENCH_ALLOCS=100000 for a tenth, which the goals are not for. */
const ALLOCS = Number(process.env.BENCH_ALLOCS ?? 1_000_000);
const JOBS = 1_000;
const NODES = 5_000;

/** @param {import('./harness.mjs').Bench} ctx */
export async function run(ctx) {
  const processes = await ServiceProcesses.start(ctx);
  await processes.add('projector');
  await processes.add('scheduler', 'empty');
  const emptyBytes = processes.residentBytes('empty');
  await processes.end('empty', 'SIGTERM');
  await writeFirst(processes);
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
  let cpuSeconds = 0;
  await ctx.measure('caughtUpSeconds', { unit: 's', runs: 3, warmups: 0, goal: { below: 20 } }, async () => {
    const ms = await ctx.time(() => processes.add('scheduler'));
    bytes = processes.residentBytes('scheduler');
    cpuSeconds = processes.cpuSeconds('scheduler');
    await processes.end('scheduler', 'SIGTERM');
    return ms / 1000;
  });
  ctx.metric('caughtUpCpuSeconds', cpuSeconds, { unit: 's' });
  ctx.metric('bytesPerAlloc', (bytes - emptyBytes) / ALLOCS, { unit: 'B', goal: { below: 1_024 } });
  ctx.note(
    `${ALLOCS} pending allocations of ${JOBS} jobs on ${NODES} nodes, all in Postgres; from the start of a scheduler process until ` +
      '/readyz says ready, the start of node included; memory as resident set right then, garbage included, less that of one ' +
      'with no allocation',
  );
}

/** The jobs, with one allocation each, through the log. @param {ServiceProcesses} processes */
async function writeFirst({ journal }) {
  const context = () => ({
    timeNs: Date.now() * 1e6,
    requestId: randomUUID(),
    actor: serviceActor('bench'),
    namespace: 'default',
  });
  for (let n = 0; n < JOBS; n++) {
    const job = fixtures.aJob({ ID: `web-${n}` });
    const Eval = fixtures.anEval({ ID: randomUUID(), JobID: job.ID });
    await journal.publish(draftTxn('JobRegister', fixtures.aRegistration(job, { Eval }), context()));
    const ids = { ID: randomUUID(), EvalID: Eval.ID, NodeID: randomUUID() };
    const AllocsUpdated = [fixtures.anAlloc({ ...ids, JobID: job.ID, Job: job })];
    const plan = fixtures.aPlanResult({ Job: job, EvalID: Eval.ID, AllocsUpdated });
    await journal.publish(draftTxn('ApplyPlanResults', plan, context()));
  }
}

/**
 * Copies of the allocations with other ids, names and nodes, in the order in which plans would have placed them.
 *
 * @param {import('pg').Pool} pool
 */
async function multiply(pool) {
  const { rows } = await pool.query(
    `select column_name as name from information_schema.columns
     where table_schema = 'public' and table_name = 'allocs' and column_name not in ('id', 'node_id', 'body') order by 1`,
  );
  const same = rows.map((/** @type {{ name: string }} */ { name }) => name).join(', ');
  const body = [
    ['a.id', 'new.id'],
    ['a.node_id', 'new.node_id'],
    ["'[0]'", "'[' || new.n || ']'"],
  ].reduce((text, [from, to]) => `replace(${text}, ${from}, ${to})`, 'a.body');
  await pool.query(
    `insert into allocs (id, node_id, body, ${same})
     select new.id, new.node_id, ${body}, ${same.replaceAll(/(\w+)/g, 'a.$1')}
     from (select * from allocs order by create_index) a, lateral (
       select n, gen_random_uuid()::text as id, md5('node' || (a.create_index + n * 7919) % $2)::uuid::text as node_id
       from generate_series(1, $1) n) new`,
    [ALLOCS / JOBS - 1, NODES],
  );
  await pool.query('analyze allocs');
}
