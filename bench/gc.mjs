// A large collection while people read: real services as processes of their own.
import { randomUUID } from 'node:crypto';
import { Agent, request } from 'node:http';
import { freePort } from '@waybill/embedded';
import { draftTxn, fixtures, serviceActor } from '@waybill/state';
import { percentile } from './harness.mjs';
import { ServiceProcesses, until } from './processes.mjs';

export const describe = 'collecting 1,000,000 allocations and 100,000 evaluations while people read and write';

/** BENCH_GC_ALLOCS makes it smaller: a tenth of them are evaluations. */
const ALLOCS = Number(process.env.BENCH_GC_ALLOCS ?? 1_000_000);
const ALLOCS_PER_EVAL = 10;
/** With 400 allocations a transaction has half a megabyte. */
const EVALS_PER_TXN = 40;
const TXNS_IN_FLIGHT = 8;
/** What stays, and is read. */
const JOBS = 50;
const READS_PER_SECOND = 100;
const WARM_UP_SECONDS = 10;
const IDLE_SECONDS = 20;
const WRITES_PER_SECOND = 1;
/** What is written: made last of all that is loaded. */
const POOL = '/v1/node/pool/bench';
const aPool = (/** @type {string} */ Description) => ({ Name: 'bench', Description });
/** Evaluations whose disappearance is waited for. */
const WATCHED = 20;
const LOAD_DEADLINE_MS = 20 * 60_000;
const GC_DEADLINE_MS = 30 * 60_000;
const HEAP = { NODE_OPTIONS: '--max-old-space-size=6144' };
const TWO_DAYS_NS = 2 * 86_400e9;

/** @param {import('./harness.mjs').Bench} ctx */
export async function run(ctx) {
  const processes = await ServiceProcesses.start(ctx);
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  await processes.add('projector', 'projector', HEAP);
  await processes.add('api', 'api', {
    WAYBILL_HTTP_PORT: String(port),
    WAYBILL_HTTP_MAX_CONNS_PER_CLIENT: '0',
  });
  const client = new Agent({ keepAlive: true });
  ctx.onEnd(() => client.destroy());
  const ask = asker(url, client);

  ctx.log(`writing ${ALLOCS} allocations and their evaluations`);
  const began = performance.now();
  const evals = await write(processes.journal);
  await until('all is projected', async () => (await ask('GET', POOL)).status === 200, LOAD_DEADLINE_MS);
  const some = await ask('GET', `/v1/evaluation/${evals.at(-1)}/allocations`);
  if (JSON.parse(some.text).length !== ALLOCS_PER_EVAL) throw new Error('the allocations were not taken');
  ctx.log(`that took ${Math.round((performance.now() - began) / 1000)} s; starting broker and scheduler`);
  for (const name of ['broker', 'scheduler']) await processes.add(name, name, HEAP);
  await until('somebody holds the role', async () => (await processes.roleOf('broker')).startsWith('holder'));

  await reading(ask, sleep(WARM_UP_SECONDS * 1000));
  const idle = await reading(ask, sleep(IDLE_SECONDS * 1000));
  ctx.metric('idleReadP99Ms', percentile(idle.reads, 99), { unit: 'ms' });
  ctx.metric('idleWriteP50Ms', percentile(idle.writes, 50), { unit: 'ms' });

  ctx.log('collecting');
  const started = performance.now();
  await ask('PUT', '/v1/system/gc');
  const busy = await reading(ask, collected(ask, evals));
  const seconds = (performance.now() - started) / 1000;
  ctx.metric('gcReadP99Ms', percentile(busy.reads, 99), { unit: 'ms' });
  ctx.metric('gcWriteP50Ms', percentile(busy.writes, 50), { unit: 'ms' });
  ctx.metric('gcWriteMaxMs', Math.max(...busy.writes), { unit: 'ms' });
  ctx.metric('collectedPerSecond', (ALLOCS + evals.length) / seconds, { unit: 'rows/s' });
  ctx.ratio('readP99Ratio', 'gcReadP99Ms', 'idleReadP99Ms');
  ctx.note(
    `${ALLOCS} allocations of ${evals.length} evaluations of a job that runs, forced, in ${Math.round(seconds)} s; ` +
      `meanwhile ${READS_PER_SECOND} reads a second (a job, its allocations, pages of jobs and evaluations) and ` +
      `${WRITES_PER_SECOND} write; goal of readP99Ratio: below 2. Servers, services and readers share the machine`,
  );
}

/** @param {number} ms */
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * @param {import('@waybill/journal').Journal} journal
 * @returns {Promise<string[]>} ids of the evaluations that are over
 */
async function write(journal) {
  const old = Date.now() * 1e6 - TWO_DAYS_NS;
  /** @template {import('@waybill/state').TxnType} T @param {T} type @param {import('@waybill/state').TxnPayloads[T]} payload */
  const publish = (type, payload) => {
    const context = { timeNs: old, requestId: randomUUID(), actor: serviceActor('bench'), namespace: 'default' };
    return journal.publish(draftTxn(type, payload, context));
  };
  for (let n = 0; n < JOBS; n++) {
    const job = fixtures.aJob({ ID: `stays-${n}`, Name: `stays-${n}` });
    await publish('JobRegister', fixtures.aRegistration(job));
    await publish('EvalUpdate', { Evals: [fixtures.anEval({ ID: randomUUID(), JobID: job.ID, Status: 'blocked' })] });
  }
  /** @type {string[]} */
  const ids = [];
  /** @type {Set<Promise<unknown>>} */
  const inFlight = new Set();
  const Job = fixtures.aJob({ ID: 'busy', Name: 'busy' });
  await publish('JobRegister', fixtures.aRegistration(Job));
  for (let left = ALLOCS / ALLOCS_PER_EVAL; left > 0; left -= EVALS_PER_TXN) {
    const Evals = Array.from({ length: Math.min(left, EVALS_PER_TXN) }, () =>
      fixtures.anEval({ ID: randomUUID(), JobID: Job.ID, Status: 'complete', ModifyTime: old }),
    );
    ids.push(...Evals.map(({ ID }) => ID));
    const AllocsUpdated = Evals.flatMap(({ ID: EvalID }) =>
      Array.from({ length: ALLOCS_PER_EVAL }, () =>
        fixtures.anAlloc({ ID: randomUUID(), EvalID, JobID: Job.ID, Job: null, ClientStatus: 'complete' }),
      ),
    );
    const writing = publish('EvalUpdate', { Evals }).then(() =>
      publish('ApplyPlanResults', fixtures.aPlanResult({ Job, EvalID: Evals[0]?.ID, AllocsUpdated, UpdatedAt: old })),
    );
    inFlight.add(writing);
    void writing.finally(() => inFlight.delete(writing));
    if (inFlight.size >= TXNS_IN_FLIGHT) await Promise.race(inFlight);
  }
  await Promise.all(inFlight);
  const pool = { ...aPool(''), Meta: null, SchedulerConfiguration: null, NodeIdentityTTL: 0 };
  await publish('NodePoolUpsert', { NodePools: [pool] });
  return ids;
}

/** @typedef {(method: string, path: string, body?: object) => Promise<{ status: number, text: string, ms: number }>} Ask */

/** @param {string} url @param {Agent} agent @returns {Ask} */
const asker = (url, agent) => (method, path, body) =>
  new Promise((resolve, reject) => {
    const began = performance.now();
    const asking = request(`${url}${path}`, { method, agent }, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (chunk) => (text += chunk));
      answer.once('error', reject);
      answer.once('end', () => {
        resolve({ status: answer.statusCode ?? 0, text, ms: performance.now() - began });
      });
    });
    asking.once('error', reject);
    asking.end(body && JSON.stringify(body));
  });

/**
 * Reads and writes at a steady pace, whatever the answers take, until `over`.
 *
 * @param {Ask} ask
 * @param {Promise<unknown>} over
 */
async function reading(ask, over) {
  /** @type {{ reads: number[], writes: number[] }} */
  const took = { reads: [], writes: [] };
  /** @type {string[]} */
  const failures = [];
  /** @type {Set<Promise<unknown>>} */
  const open = new Set();
  const keep = (/** @type {number[]} */ into, /** @type {ReturnType<Ask>} */ asking) => {
    const done = asking
      .then(({ status, text, ms }) => (status === 200 ? into.push(ms) : failures.push(`${status} ${text}`)))
      .catch((/** @type {unknown} */ error) => failures.push(String(error)))
      .finally(() => open.delete(done));
    open.add(done);
  };
  let reads = 0;
  let writes = 0;
  const began = performance.now();
  const timer = setInterval(() => {
    const due = (performance.now() - began) / 1000;
    for (; reads < due * READS_PER_SECOND; reads++) keep(took.reads, ask('GET', pathOf(reads)));
    for (; writes < due * WRITES_PER_SECOND; writes++) keep(took.writes, ask('PUT', POOL, aPool(`${writes}`)));
  }, 5);
  try {
    await over;
  } finally {
    clearInterval(timer);
  }
  await Promise.all(open);
  if (failures.length > 0) throw new Error(`${failures.length} requests failed, the last: ${failures.at(-1)}`);
  return took;
}

/** @param {number} n */
function pathOf(n) {
  const job = `/v1/job/stays-${n % JOBS}`;
  return [job, `${job}/allocations`, '/v1/jobs?per_page=20', '/v1/evaluations?per_page=20'][n % 4] ?? job;
}

/** @param {Ask} ask @param {readonly string[]} evals */
async function collected(ask, evals) {
  const step = Math.max(1, Math.floor(evals.length / WATCHED));
  const watched = evals.filter((_, n) => n % step === 0 || n === evals.length - 1);
  for (const id of watched)
    await until(
      'all is collected',
      async () => {
        await sleep(200);
        return (await ask('GET', `/v1/evaluation/${id}`)).status === 404;
      },
      GC_DEADLINE_MS,
    );
}
