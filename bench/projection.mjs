// How fast the projection is, and how long after its transaction a change can be read. Real Postgres and nats-server, the
// projector as it runs in production; the state machine and the events are part of the figure.
import { randomUUID } from 'node:crypto';
import { mkdtemp, chmod, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startNats, startPostgres } from '@waybill/embedded';
import { connect, ensureStreams, initialise, Journal } from '@waybill/journal';
import {
  BatchWriter,
  foldBatch,
  migrate,
  openPool,
  ProjectionFeed,
  ReadModel,
  subscribeToAnnouncements,
} from '@waybill/projection';
import { termOf } from '@waybill/roles';
import { newTaskEvent } from '@waybill/model';
import { BATCH_INTERVAL_MS, NatsAnnouncer, NatsEventStream, PostgresStore, Projector } from '@waybill/projector';
import { draftTxn, fixtures, serviceActor, StateMachine, TABLE_NAMES } from '@waybill/state';
import { silentLogger } from '@waybill/telemetry';
import { figure } from './harness.mjs';

export const describe = 'changed rows written to Postgres per second; lag from transaction to readable';

/** Service jobs of one run, and allocations of each. */
const JOBS = 480;
const ALLOCS_PER_JOB = 10;
/** Jobs that go through their steps side by side. */
const JOBS_PER_WAVE = 40;
/** Allocations of one update by an agent. */
const ALLOCS_PER_UPDATE = 5;
/** Transactions of one batch, as a projector that has fallen behind makes them. */
const TXNS_PER_BATCH = 200;
/** Rows of one run of evaluations alone, as transactions of EVALS_PER_TXN. */
const EVALS = 60_000;
const EVALS_PER_TXN = 10;
/** Transactions per second and seconds of the lag run. */
const LAG_RATE = 2_000;
const LAG_SECONDS = 10;

const clock = { nowMs: () => Date.now() };
const timers = {
  /** @param {number} ms @param {() => void} run */
  after: (ms, run) => {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};

/** @param {import('./harness.mjs').Bench} ctx */
export async function run(ctx) {
  const dir = await mkdtemp(path.join(tmpdir(), 'waybill-bench-'));
  await chmod(dir, 0o711);
  ctx.onEnd(() => rm(dir, { recursive: true, force: true }));
  // Durable, as production is: fsync and synchronous_commit on.
  const postgres = await startPostgres({ dir: path.join(dir, 'postgres') });
  ctx.onEnd(() => postgres.stop());
  const nats = await startNats({ dir: path.join(dir, 'nats') });
  ctx.onEnd(() => nats.stop());
  const link = await connect({ url: nats.url, name: 'bench' });
  ctx.onEnd(() => link.close());
  await ensureStreams(link, { replicas: 1 });
  await migrate(postgres.url);
  const pool = openPool(postgres.url);
  ctx.onEnd(() => pool.end());

  await rowsPerSecond(ctx, pool);
  await clear(pool);
  await evaluationsPerSecond(ctx, pool);
  await clear(pool);
  await lag(ctx, link, pool);
  ctx.note(
    'fsync and synchronous_commit on; rows as they are written, each once per batch, transactions and indexes not counted; client and servers share the machine',
  );
}

/** @param {import('pg').Pool} pool */
async function clear(pool) {
  await pool.query(`truncate ${TABLE_NAMES.join(', ')}, txn, txn_object, alloc_job, table_index`);
  await pool.query('update projection set applied = 0');
}

/**
 * Service jobs from their registration until all of their allocations run: the tables and sizes of daily life.
 *
 * @param {import('./harness.mjs').Bench} ctx
 * @param {import('pg').Pool} pool
 */
async function rowsPerSecond(ctx, pool) {
  const machine = fixtures.aMachine();
  const writer = new BatchWriter(pool);
  await writer.write([first(machine)]);
  /** @type {ReturnType<typeof madeOf> | undefined} */
  let made;
  await ctx.measure('rowsPerSecond', { unit: 'rows/s', goal: { atLeast: 20_000 } }, async () => {
    const applied = lives(machine, JOBS);
    made = madeOf(applied);
    const ms = await ctx.time(() => writeAll(writer, applied, TXNS_PER_BATCH));
    return (made.rows / ms) * 1000;
  });
  if (made) ctx.note(`rowsPerSecond: ${made.text}`);
}

/**
 * Rows of evaluations only, inserts and updates in equal parts.
 *
 * @param {import('./harness.mjs').Bench} ctx
 * @param {import('pg').Pool} pool
 */
async function evaluationsPerSecond(ctx, pool) {
  const machine = new StateMachine();
  const writer = new BatchWriter(pool);
  /** @type {import('@waybill/model').Evaluation[]} */
  let known = [];
  await ctx.measure('evaluationsPerSecond', { unit: 'rows/s' }, async () => {
    /** @type {import('@waybill/state').Applied[]} */
    const applied = [];
    let rows = 0;
    const ripe = known; // of the run before: no row is changed twice in one batch
    known = [];
    while (rows < EVALS) {
      const fresh = Array.from({ length: EVALS_PER_TXN / 2 }, () =>
        fixtures.anEval({ ID: randomUUID(), Status: 'blocked', ClassEligibility: { a: true } }),
      );
      const again = ripe.splice(0, EVALS_PER_TXN / 2).map((one) => ({ ...one, StatusDescription: 'changed' }));
      known.push(...fresh);
      const one = changed(machine, 'EvalUpdate', { Evals: [...fresh, ...again] });
      rows += one.changes.length;
      applied.push(one);
    }
    const ms = await ctx.time(() => writeAll(writer, applied, TXNS_PER_BATCH));
    return (rows / ms) * 1000;
  });
  ctx.note('evaluationsPerSecond: evaluations of 0.7 KB, half of them updates');
}

/** @param {BatchWriter} writer @param {import('@waybill/state').Applied[]} applied @param {number} txns */
async function writeAll(writer, applied, txns) {
  for (let at = 0; at < applied.length; at += txns) await writer.write(applied.slice(at, at + txns));
}

/** The transaction that fixtures.aMachine has applied. @param {StateMachine} machine */
function first(machine) {
  const fresh = new StateMachine();
  const applied = fixtures.apply(fresh, 'Initialise', {});
  if (fresh.appliedIndex !== machine.appliedIndex) throw new Error('the machine is not at its beginning');
  return applied;
}

/**
 * Applies a transaction that must be accepted.
 *
 * @template {import('@waybill/state').TxnType} T
 * @param {StateMachine} machine @param {T} type @param {import('@waybill/state').TxnPayloads[T]} payload
 */
function changed(machine, type, payload) {
  const applied = fixtures.apply(machine, type, payload, { requestId: randomUUID(), timeNs: Date.now() * 1e6 });
  if (applied.verdict.kind !== 'accepted') throw new Error(`${type}: ${JSON.stringify(applied.verdict)}`);
  return applied;
}

/**
 * Jobs in waves, one step of a wave's jobs after the other, several waves under way: what belongs to one job is rarely
 * in one batch, and a batch holds all steps.
 *
 * @param {StateMachine} machine @param {number} jobs
 * @returns {import('@waybill/state').Applied[]}
 */
export function lives(machine, jobs) {
  const waves = Array.from({ length: jobs / JOBS_PER_WAVE }, () =>
    Array.from({ length: JOBS_PER_WAVE }, () => life(machine)),
  );
  const applied = [];
  for (let tick = 0; tick < waves.length + STEPS - 1; tick++)
    for (const wave of waves.slice(Math.max(0, tick - STEPS + 1), tick + 1))
      for (const steps of wave) applied.push(.../** @type {any[]} */ (steps.next().value ?? []));
  return applied;
}

/** Steps of a life: registered, placed, running, healthy. */
const STEPS = 4;

/**
 * @param {StateMachine} machine
 * @returns {Generator<import('@waybill/state').Applied[], void>}
 */
function* life(machine) {
  const id = `web-${randomUUID().slice(0, 8)}`;
  const evaluation = fixtures.anEval({ ID: randomUUID(), JobID: id });
  const group = fixtures.aGroup({ Count: ALLOCS_PER_JOB });
  const spec = fixtures.aJob({ ID: id, TaskGroups: [group] });
  yield [changed(machine, 'JobRegister', fixtures.aRegistration(spec, { Eval: evaluation }))];

  const job = machine.tables.jobs.get(`default/${id}`);
  if (!job) throw new Error('the job is not registered');
  const deployment = fixtures.aDeployment({
    ID: randomUUID(),
    JobID: id,
    JobCreateIndex: job.CreateIndex,
    JobModifyIndex: job.ModifyIndex,
    JobSpecModifyIndex: job.JobModifyIndex,
    TaskGroups: { web: fixtures.aDeploymentState({ DesiredTotal: ALLOCS_PER_JOB }) },
  });
  const allocs = Array.from({ length: ALLOCS_PER_JOB }, (_, at) =>
    fixtures.anAlloc({
      ID: randomUUID(),
      EvalID: evaluation.ID,
      Job: job,
      Name: `${id}.web[${at}]`,
      NodeID: randomUUID(),
      DeploymentID: deployment.ID,
      Metrics: metrics(),
    }),
  );
  yield [
    changed(
      machine,
      'ApplyPlanResults',
      fixtures.aPlanResult({ Job: job, EvalID: evaluation.ID, AllocsUpdated: allocs, Deployment: deployment }),
    ),
    changed(machine, 'EvalUpdate', { Evals: [{ ...evaluation, Status: 'complete', QueuedAllocations: { web: 0 } }] }),
  ];
  yield reported(machine, allocs, { TaskStates: { web: running() } });
  yield reported(machine, allocs, {
    TaskStates: { web: running() },
    DeploymentStatus: { Healthy: true, Timestamp: new Date().toISOString() },
  });
}

/**
 * @param {StateMachine} machine @param {import('@waybill/model').Allocation[]} allocs
 * @param {Partial<import('@waybill/model').ClientAllocUpdate>} report
 */
function reported(machine, allocs, report) {
  const applied = [];
  for (let at = 0; at < allocs.length; at += ALLOCS_PER_UPDATE) {
    const Allocs = allocs
      .slice(at, at + ALLOCS_PER_UPDATE)
      .map((alloc) => fixtures.aClientUpdate(alloc, { ModifyTime: Date.now() * 1e6, ...report }));
    applied.push(changed(machine, 'AllocClientUpdate', { Allocs, Evals: [] }));
  }
  return applied;
}

/** What the scheduler says of a placement among three nodes. @returns {import('@waybill/model').AllocMetric} */
function metrics() {
  return {
    NodesEvaluated: 3,
    NodesFiltered: 0,
    NodesInPool: 3,
    NodePool: 'default',
    NodesAvailable: { dc1: 3 },
    ClassFiltered: null,
    ConstraintFiltered: null,
    NodesExhausted: 0,
    ClassExhausted: null,
    DimensionExhausted: null,
    QuotaExhausted: null,
    ResourcesExhausted: null,
    Scores: null,
    AllocationTime: 120_000,
    CoalescedFailures: 0,
    ScoreMetaData: [0.61, 0.52, 0.44].map((score) => ({
      NodeID: randomUUID(),
      Scores: { binpack: score, 'job-anti-affinity': 0 },
      NormScore: score,
    })),
  };
}

/** A task that was received, set up and started. @returns {import('@waybill/model').TaskState} */
function running() {
  const at = new Date().toISOString();
  return {
    State: 'running',
    Failed: false,
    Restarts: 0,
    LastRestart: null,
    StartedAt: at,
    FinishedAt: null,
    Events: [
      ['Received', 'Task received by client'],
      ['Task Setup', 'Building Task Directory'],
      ['Started', 'Task started by client'],
    ].map(([type = '', message = '']) => newTaskEvent(type, Date.now() * 1e6, { message })),
    Paused: '',
  };
}

/** How many rows a run comes to, of which tables, and how large. @param {import('@waybill/state').Applied[]} applied */
function madeOf(applied) {
  /** @type {Map<string, { rows: number, bytes: number }>} */
  const tables = new Map();
  let rows = 0;
  for (let at = 0; at < applied.length; at += TXNS_PER_BATCH) {
    for (const { table, inserts, updates } of foldBatch(applied.slice(at, at + TXNS_PER_BATCH)).tables) {
      const of = tables.get(table) ?? { rows: 0, bytes: 0 };
      tables.set(table, of);
      const written = [...inserts, ...updates];
      of.rows += written.length;
      rows += written.length;
      for (const row of written) of.bytes += JSON.stringify(row).length;
    }
  }
  const text = [...tables]
    .toSorted(([, a], [, b]) => b.rows - a.rows)
    .map(([name, of]) => `${Math.round((of.rows / rows) * 100)}% ${name} of ${figure(of.bytes / of.rows / 1000)} KB`)
    .join(', ');
  return { rows, text };
}
/**
 * A steady stream of transactions; every one is waited for as the API waits: published, announced, readable.
 *
 * @param {import('./harness.mjs').Bench} ctx
 * @param {import('@waybill/journal').NatsLink} link
 * @param {import('pg').Pool} pool
 */
async function lag(ctx, link, pool) {
  const journal = new Journal(link);
  ctx.onEnd(() => journal.close());
  await initialise(journal, { region: 'global', clock, newId: randomUUID });
  const feed = new ProjectionFeed({ record: new ReadModel(pool), clock, timers });
  const unsubscribe = subscribeToAnnouncements(link.nc, feed, silentLogger);
  const projector = new Projector({
    log: journal,
    events: new NatsEventStream(link),
    store: new PostgresStore(pool),
    announcer: new NatsAnnouncer(link),
    clock,
    timers,
    logger: silentLogger,
    onDiverged: () => {},
    batchIntervalMs: BATCH_INTERVAL_MS,
  });
  projector.start(termOf('projector', 1));
  ctx.onEnd(async () => {
    await projector.stop();
    feed.stop();
    unsubscribe();
  });
  await feed.waitFor(1, 10_000);

  await steadily(journal, feed, LAG_RATE, 2); // warm-up
  const samples = (await steadily(journal, feed, LAG_RATE, LAG_SECONDS)).toSorted((a, b) => a - b);
  ctx.metric('lagP50Ms', percentile(samples, 0.5), { unit: 'ms' });
  ctx.metric('lagP99Ms', percentile(samples, 0.99), { unit: 'ms', goal: { below: 50 } });
}

/**
 * @param {Journal} journal
 * @param {ProjectionFeed} feed
 * @param {number} rate transactions per second
 * @param {number} seconds
 * @returns {Promise<number[]>} milliseconds from the acknowledgement of the log until the read model had it
 */
async function steadily(journal, feed, rate, seconds) {
  /** @type {number[]} */
  const samples = [];
  /** @type {Promise<void>[]} */
  const pending = [];
  const begun = performance.now();
  for (let sent = 0; sent < rate * seconds;) {
    const due = Math.min(rate * seconds, Math.floor(((performance.now() - begun) / 1000) * rate));
    for (; sent < due; sent++) pending.push(one(journal, feed, samples));
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  await Promise.all(pending);
  return samples;
}

/** @param {Journal} journal @param {ProjectionFeed} feed @param {number[]} samples */
async function one(journal, feed, samples) {
  const draft = draftTxn(
    'EvalUpdate',
    {
      Evals: [
        fixtures.anEval({ ID: randomUUID(), Status: 'blocked' }),
        fixtures.anEval({ ID: randomUUID(), Status: 'blocked' }),
      ],
    },
    { timeNs: Date.now() * 1e6, requestId: randomUUID(), actor: serviceActor('bench'), namespace: 'default' },
  );
  const { index } = await journal.publish(draft);
  const acknowledged = performance.now();
  await feed.waitFor(index, 30_000);
  samples.push(performance.now() - acknowledged);
}

/** @param {readonly number[]} sorted @param {number} share */
const percentile = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
