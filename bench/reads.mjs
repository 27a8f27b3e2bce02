// Small reads, as dashboards, scripts and CI ask them all day: one object or one job's allocations, quiet and beside writes.
import { randomUUID } from 'node:crypto';
import { freePort } from '@waybill/embedded';
import { fixtures } from '@waybill/state';
import { inFlight, publisher } from './evaluation-load.mjs';
import { percentile } from './harness.mjs';
import { Client } from './http-client.mjs';
import { ServiceProcesses, until } from './processes.mjs';

export const describe = 'small reads of the HTTP API: 1 and 20 readers, quiet and beside 100 writes a second';

const JOBS = 50;
/** Allocations of the job that is asked for, and of each other one. */
const ALLOCS = 1_000;
const ALLOCS_OF_OTHERS = 20;
const READERS = 20;
/** How long each route is read, ms. */
const READ_MS = Number(process.env.BENCH_READ_MS ?? 1_500);
const WRITES_PER_SECOND = 100;

/** @param {import('./harness.mjs').Bench} ctx */
export async function run(ctx) {
  const processes = await ServiceProcesses.start(ctx);
  const port = await freePort();
  await processes.add('projector');
  await processes.add('api', 'api', { WAYBILL_HTTP_PORT: String(port), WAYBILL_HTTP_MAX_CONNS_PER_CLIENT: '0' });
  const client = new Client(port);
  ctx.onEnd(() => client.stop());
  ctx.log(`${JOBS} jobs`);
  const placed = await jobsWithAllocations(processes);
  const [first = ''] = placed[0]?.allocs ?? [];
  await until('they are projected', async () => {
    const last = placed.at(-1)?.allocs.at(-1);
    return JSON.parse((await client.ask(`/v1/allocation/${last}`)).toString()).ID === last;
  });

  /** The routes by the name of their figure. */
  const routes = {
    Get: `/v1/allocation/${first}`,
    Job: '/v1/job/job-0',
    Eval: `/v1/evaluation/${placed[0]?.evalId}`,
    Jobs: '/v1/jobs',
    JobAllocs: '/v1/job/job-0/allocations',
    Evals: '/v1/evaluations',
  };
  await readAll(ctx, { client, processes, routes, beside: '' });
  const writes = steadyWrites(processes, placed.at(-1)?.allocs ?? []);
  await readAll(ctx, { client, processes, routes, beside: 'Changing' });
  ctx.log(`${await writes.stop()} writes beside the last reads`);

  ctx.note(`${JOBS} jobs; job-0 has ${ALLOCS} allocations, each other one ${ALLOCS_OF_OTHERS}`);
  ctx.note('Changing: beside 100 writes a second to an allocation of another job; each is one transaction');
  ctx.note('…CpuUs: CPU of the API and of PostgreSQL per read, with 20 readers');
}

/**
 * @param {import('./harness.mjs').Bench} ctx
 * @param {{ client: Client, processes: ServiceProcesses, routes: Record<string, string>, beside: string }} load
 */
async function readAll(ctx, { client, processes, routes, beside }) {
  for (const [name, path] of Object.entries(routes)) {
    await readFor(client, path, 1, READ_MS / 3); // warm
    const alone = await readFor(client, path, 1, READ_MS);
    ctx.metric(`read${beside}${name}P50Ms`, percentile(alone, 50), { unit: 'ms' });
    const cpu = processes.cpuSeconds('api') + processes.cpuSeconds('postgres');
    const began = performance.now();
    const together = await readFor(client, path, READERS, READ_MS);
    const seconds = (performance.now() - began) / 1000;
    const used = processes.cpuSeconds('api') + processes.cpuSeconds('postgres') - cpu;
    ctx.metric(`read${beside}${name}PerSecond`, together.length / seconds, { unit: '/s' });
    ctx.metric(`read${beside}${name}CpuUs`, (used * 1e6) / together.length, { unit: 'us' });
  }
}

/** Milliseconds of each read. @param {Client} client @param {string} path @param {number} readers @param {number} forMs */
async function readFor(client, path, readers, forMs) {
  /** @type {number[]} */
  const times = [];
  const until = performance.now() + forMs;
  const read = async () => {
    while (performance.now() < until) times.push((await client.drained(path)).ms);
  };
  await Promise.all(Array.from({ length: readers }, read));
  return times;
}

/** Changes one allocation after the other, WRITES_PER_SECOND times a second. @param {ServiceProcesses} processes @param {string[]} ids */
function steadyWrites({ journal }, ids) {
  const publish = publisher(journal);
  let count = 0;
  /** @type {Promise<unknown>[]} */
  const sent = [];
  const timer = setInterval(() => {
    const ID = ids[count % ids.length] ?? '';
    count += 1;
    sent.push(
      publish('AllocUpdateDesiredTransition', {
        Transitions: { [ID]: { NoShutdownDelay: count % 2 === 0 } },
        Evals: [],
      }),
    );
  }, 1_000 / WRITES_PER_SECOND);
  return {
    stop: async () => {
      clearInterval(timer);
      await Promise.all(sent);
      return count;
    },
  };
}

/**
 * JOBS registered jobs with running allocations, through the log.
 * @param {ServiceProcesses} processes
 */
async function jobsWithAllocations({ journal }) {
  const publish = publisher(journal);
  const jobs = Array.from({ length: JOBS }, (_, n) => ({
    id: `job-${n}`,
    evalId: randomUUID(),
    allocs: Array.from({ length: n === 0 ? ALLOCS : ALLOCS_OF_OTHERS }, () => randomUUID()),
  }));
  await inFlight(jobs, async ({ id, evalId, allocs }) => {
    const job = fixtures.aJob({ ID: id });
    const Eval = fixtures.anEval({ ID: evalId, JobID: id });
    const { index } = await publish('JobRegister', { ...fixtures.aRegistration(job), Eval });
    const stored = { ...job, CreateIndex: index, ModifyIndex: index, JobModifyIndex: index };
    for (let at = 0; at < allocs.length; at += 250)
      await publish(
        'ApplyPlanResults',
        fixtures.aPlanResult({
          Job: stored,
          EvalID: evalId,
          AllocsUpdated: allocs.slice(at, at + 250).map((ID) =>
            fixtures.anAlloc({
              ID,
              JobID: id,
              EvalID: evalId,
              Job: stored,
              NodeID: randomUUID(),
              ClientStatus: 'running',
            }),
          ),
        }),
      );
  });
  return jobs;
}
