// The real path: jobs over HTTP, until the log has all their allocations and the ends of their evaluations. Every service is a process of its own.
import { freePort } from '@waybill/embedded';
import pg from 'pg';
import { inFlight, publisher } from './evaluation-load.mjs';
import { ServiceProcesses, until } from './processes.mjs';
import { nodesOf } from './scheduling-load.mjs';

export const describe = 'placements through API, log, broker, workers and applier: 50,000 from 50 jobs on 5,000 nodes';

const NODES = 5_000;
const JOBS = 50;
const PER_JOB = 1_000;
const WORKERS = 4;
const SERVICES = ['projector', 'api', 'broker', 'scheduler'];
/** Whose CPU is told. */
const PROCESSES = [...SERVICES, 'postgres', 'nats', 'bench'];
/** Longer than that and something stands still. */
const PROJECTED_WITHIN_MS = 300_000;

/** @param {import('./harness.mjs').Bench} ctx */
export async function run(ctx) {
  const processes = await ServiceProcesses.start(ctx);
  ctx.log(`registering ${NODES} nodes`);
  const publish = publisher(processes.journal);
  await inFlight(nodesOf(NODES, 50), (Node) => publish('NodeRegister', { Node, CreateNodePool: true }));
  const port = String(await freePort());
  const env = { WAYBILL_HTTP_PORT: port, WAYBILL_SCHEDULER_WORKERS: String(WORKERS) };
  for (const service of SERVICES) await processes.add(service, service, env);
  await until('the broker holds its role', async () => (await processes.roleOf('broker')).startsWith('holder'));
  const database = new pg.Pool({ connectionString: processes.stack.databaseUrl, max: 1 });
  ctx.onEnd(() => database.end());
  const applied = async () => Number((await database.query('select applied as n from projection')).rows[0].n);

  const placed = new PlacementCount();
  await placed.start(processes.journal);
  ctx.onEnd(() => placed.stop());
  /** @type {Record<string, number>} */
  const cpuSeconds = Object.fromEntries(PROCESSES.map((name) => [name, 0]));
  let counted = 0;
  let projectedMs = 0;
  await ctx.measure(
    'placementsPerSecond',
    { unit: 'placements/s', runs: 3, goal: { atLeast: 8_000 } },
    async (round) => {
      const before = PROCESSES.map((name) => processes.cpuSeconds(name));
      const from = placed.allocations;
      const began = performance.now();
      const answered = Promise.all(Array.from({ length: JOBS }, (_, n) => register(port, `place-${round}-${n}`)));
      await Promise.race([placed.reach(from + JOBS * PER_JOB), answered.then(() => new Promise(() => {}))]);
      const ms = performance.now() - began;
      // The next run begins with a projector that has nothing to do, and all of its work counts for this one.
      await answered;
      const { last } = await processes.journal.bounds();
      await until('Postgres has the last', async () => (await applied()) >= last, PROJECTED_WITHIN_MS);
      if (round >= 0) {
        projectedMs += performance.now() - began;
        counted += JOBS * PER_JOB;
        for (const [i, name] of PROCESSES.entries())
          cpuSeconds[name] = (cpuSeconds[name] ?? 0) + processes.cpuSeconds(name) - (before[i] ?? 0);
      }
      return (JOBS * PER_JOB * 1_000) / ms;
    },
  );
  let total = 0;
  for (const name of PROCESSES) {
    const micros = ((cpuSeconds[name] ?? 0) * 1e6) / counted;
    ctx.metric(`${name}CpuMicros`, micros, { unit: 'us per placement' });
    if (name !== 'bench') total += micros;
  }
  ctx.metric('cpuMicros', total, { unit: 'us per placement, without this program' });
  ctx.metric('projectedPerSecond', (counted * 1_000) / projectedMs, { unit: 'placements/s, also in Postgres' });
  ctx.note(
    `${JOBS} service jobs of ${PER_JOB} registered at once over HTTP; from the first request until the log has the end of the last evaluation`,
  );
  ctx.note(
    'nodes are written to the log, no agent runs; CPU is what each process used until Postgres had it all. ' +
      'All of them, this program too, share the cores',
  );
}

/** A service of small tasks, as a client would send it. @param {string} port @param {string} ID */
async function register(port, ID) {
  const task = { Name: 'web', Driver: 'mock_driver', Config: { run_for: '1h' }, Resources: { CPU: 100, MemoryMB: 64 } };
  const Job = {
    ID,
    Name: ID,
    Type: 'service',
    Datacenters: ['*'],
    TaskGroups: [{ Name: 'web', Count: PER_JOB, Tasks: [task] }],
  };
  const answer = await fetch(`http://127.0.0.1:${port}/v1/jobs`, { method: 'PUT', body: JSON.stringify({ Job }) });
  if (!answer.ok) throw new Error(`job ${ID} was answered ${answer.status}: ${await answer.text()}`);
}

/**
 * Reads the log along and counts what is placed by the ends of evaluations: an evaluation ends behind its last plan, and
 * to decode the plans too would take the services a tenth of the processor.
 */
class PlacementCount {
  allocations = 0;
  #wanted = Infinity;
  /** @type {() => void} */
  #reached = () => {};
  /** @type {import('@waybill/journal').Follower | undefined} */
  #follower;

  /** @param {import('@waybill/journal').Journal} journal */
  async start(journal) {
    const { last } = await journal.bounds();
    this.#follower = await journal.follow({
      from: last + 1,
      types: new Set(['EvalUpdate']),
      onTxns: (batch) => {
        for (const txn of batch) if (txn.type === 'EvalUpdate') this.#count(txn.payload.Evals);
        if (this.allocations >= this.#wanted) this.#reached();
      },
      onError: (error) => {
        throw error;
      },
    });
  }

  /** @param {readonly import('@waybill/model').Evaluation[]} evaluations */
  #count(evaluations) {
    for (const { ID, Status, BlockedEval } of evaluations) {
      if (Status !== 'complete' || BlockedEval !== '') throw new Error(`evaluation ${ID} has not placed all`);
      this.allocations += PER_JOB;
    }
  }

  /** @param {number} allocations @returns {Promise<void>} */
  reach(allocations) {
    return new Promise((resolve) => {
      this.#wanted = allocations;
      this.#reached = resolve;
      if (this.allocations >= allocations) resolve();
    });
  }

  async stop() {
    await this.#follower?.stop();
  }
}
