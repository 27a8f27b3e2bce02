// The HTTP API over real servers: lists, single objects, registrations and blocking queries, as clients see them.
import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { freePort } from '@waybill/embedded';
import { fixtures } from '@waybill/state';
import { inFlight, publisher } from './evaluation-load.mjs';
import { percentile } from './harness.mjs';
import { Client } from './http-client.mjs';
import { ServiceProcesses, until } from './processes.mjs';

export const describe = 'the HTTP API: lists of 10,000 allocations, single reads, registrations, 2,000 waiting queries';

const ALLOCS = 10_000;
const ALLOCS_PER_PLAN = 250;
const LIST = '/v1/allocations';
const READERS = 8;
const LISTS = 40;
const CONCURRENT_LISTS = 400;
const GETS = 2_000;
const REGISTRATIONS = 200;
const BLOCKED = 2_000;
/** How long the waiting queries are watched doing nothing, ms. */
const IDLE_MS = 3_000;

/** @param {import('./harness.mjs').Bench} ctx */
export async function run(ctx) {
  const processes = await ServiceProcesses.start(ctx);
  const port = await freePort();
  await processes.add('projector');
  await processes.add('api', 'api', {
    WAYBILL_HTTP_PORT: String(port),
    WAYBILL_HTTP_MAX_CONNS_PER_CLIENT: '0',
  });
  const client = new Client(port);
  ctx.onEnd(() => client.stop());
  ctx.log(`${ALLOCS} allocations`);
  const ids = await placed(processes);
  await until('they are projected', async () => {
    const stubs = JSON.parse((await client.ask('/v1/allocations?per_page=1&reverse=true')).toString());
    return stubs[0] !== undefined && JSON.parse((await client.ask('/v1/allocations')).toString()).length === ALLOCS;
  });

  await lists(ctx, client);
  await changingLists(ctx, client, processes, ids);
  /** @type {number[]} */
  const gets = [];
  for (let n = 0; n < GETS; n++) gets.push(await client.timeOf(`/v1/allocation/${ids[n % ids.length]}`));
  ctx.metric('getP50Ms', percentile(gets, 50), { unit: 'ms', goal: { below: 2 } });
  /** @type {number[]} */
  const registrations = [];
  for (let n = 0; n < REGISTRATIONS; n++) registrations.push(await registered(client, n));
  ctx.metric('registerP50Ms', percentile(registrations, 50), { unit: 'ms', goal: { below: 15 } });
  await blocked(ctx, client, processes);
  ctx.note(
    `the list of all ${ALLOCS} allocations, p50 of one reader, p99 of ${READERS} at once; changingList: while allocations change one after the other`,
  );
  ctx.note('the API, the projector, nats-server, PostgreSQL and this program share the cores');
  ctx.note(
    `bytesPerBlocked: growth of the resident set with ${BLOCKED} queries waiting, each on a connection of its own`,
  );
}

/** @param {import('./harness.mjs').Bench} ctx @param {Client} client */
async function lists(ctx, client) {
  const whole = (await client.ask(LIST)).length;
  for (let n = 0; n < 5; n++) await client.timeOf(LIST);
  /** @type {number[]} */
  const alone = [];
  for (let n = 0; n < LISTS; n++) alone.push(await client.timeOf(LIST));
  ctx.metric('listP50Ms', percentile(alone, 50), { unit: 'ms', goal: { below: 40 } });
  const together = await byReaders(async () => {
    const { ms, bytes } = await client.drained(LIST);
    if (bytes !== whole) throw new Error(`a list of ${bytes} bytes instead of ${whole}`);
    return ms;
  });
  ctx.metric('listP99Ms', percentile(together, 99), { unit: 'ms', goal: { below: 120 } });
  const packed = await byReaders(async () => (await client.drained(LIST, { 'Accept-Encoding': 'gzip' })).ms);
  ctx.metric('listGzipP99Ms', percentile(packed, 99), { unit: 'ms' });
}

/** CONCURRENT_LISTS times, by READERS at once. @param {() => Promise<number>} read */
async function byReaders(read) {
  /** @type {number[]} */
  const times = [];
  await Promise.all(
    Array.from({ length: READERS }, async () => {
      while (times.length < CONCURRENT_LISTS) times.push(await read());
    }),
  );
  return times;
}

/**
 * READERS while allocations change all the time, so that no answer is good for the next reader.
 * @param {import('./harness.mjs').Bench} ctx @param {Client} client @param {ServiceProcesses} processes @param {string[]} ids
 */
async function changingLists(ctx, client, processes, ids) {
  const publish = publisher(processes.journal);
  let changing = true;
  const writer = (async () => {
    for (let n = 0; changing; n++) {
      const ID = ids[n % ids.length];
      await publish('AllocUpdateDesiredTransition', {
        Transitions: { [ID]: { NoShutdownDelay: n % 2 === 0 } },
        Evals: [],
      });
    }
  })();
  const cpu = processes.cpuSeconds('api');
  const times = await byReaders(async () => (await client.drained(LIST)).ms);
  changing = false;
  await writer;
  ctx.metric('changingListP50Ms', percentile(times, 50), { unit: 'ms' });
  ctx.metric('changingListCpuMs', ((processes.cpuSeconds('api') - cpu) * 1000) / times.length, { unit: 'ms' });
}

/** Committed and projected. @param {Client} client @param {number} n */
async function registered(client, n) {
  const TaskGroups = [fixtures.aGroup({ Count: 0 })];
  const body = JSON.stringify({ Job: fixtures.aJob({ ID: `registered-${n}`, TaskGroups }) });
  const began = performance.now();
  await client.ask('/v1/jobs', { method: 'PUT', body });
  return performance.now() - began;
}

/** @param {import('./harness.mjs').Bench} ctx @param {Client} client @param {ServiceProcesses} processes */
async function blocked(ctx, client, processes) {
  const gone = new AbortController();
  setMaxListeners(0, gone.signal);
  const before = processes.residentBytes('api');
  const waiting = Array.from({ length: BLOCKED }, () =>
    client.ask('/v1/job/web?index=1000000000&wait=120s', { signal: gone.signal }).catch(() => undefined),
  );
  await new Promise((resolve) => setTimeout(resolve, IDLE_MS)); // all are asked, and what that took is settled
  ctx.metric('bytesPerBlocked', (processes.residentBytes('api') - before) / BLOCKED, {
    unit: 'B',
    goal: { below: 20 * 1024 },
  });
  const cpu = processes.cpuSeconds('api');
  await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
  ctx.metric('blockedCpuPercent', ((processes.cpuSeconds('api') - cpu) / (IDLE_MS / 1000)) * 100, { unit: '%' });
  gone.abort();
  await Promise.all(waiting);
}

/** One job with ALLOCS running allocations, through the log. @param {ServiceProcesses} processes */
async function placed({ journal }) {
  const publish = publisher(journal);
  const job = fixtures.aJob({ ID: 'web' });
  const Eval = fixtures.anEval({ ID: randomUUID(), JobID: 'web' });
  const { index } = await publish('JobRegister', { ...fixtures.aRegistration(job), Eval });
  const stored = { ...job, CreateIndex: index, ModifyIndex: index, JobModifyIndex: index };
  const ids = Array.from({ length: ALLOCS }, () => randomUUID());
  const plans = Array.from({ length: ALLOCS / ALLOCS_PER_PLAN }, (_, n) =>
    ids.slice(n * ALLOCS_PER_PLAN, (n + 1) * ALLOCS_PER_PLAN),
  );
  await inFlight(plans, (some) =>
    publish(
      'ApplyPlanResults',
      fixtures.aPlanResult({
        Job: stored,
        EvalID: Eval.ID,
        AllocsUpdated: some.map((ID) =>
          fixtures.anAlloc({
            ID,
            JobID: 'web',
            EvalID: Eval.ID,
            Job: stored,
            NodeID: randomUUID(),
            ClientStatus: 'running',
          }),
        ),
      }),
    ),
  );
  return ids;
}
