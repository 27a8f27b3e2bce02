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
  migrate,
  openPool,
  ProjectionFeed,
  ReadModel,
  subscribeToAnnouncements,
} from '@waybill/projection';
import { NatsAnnouncer, NatsEventStream, PostgresStore, Projector } from '@waybill/projector';
import { draftTxn, fixtures, serviceActor, StateMachine } from '@waybill/state';
import { silentLogger } from '@waybill/telemetry';

export const describe = 'changed rows written to Postgres per second; lag from transaction to readable';

/** Rows of one run, as transactions of ROWS_PER_TXN evaluations and allocations each. */
const ROWS = 60_000;
const ROWS_PER_TXN = 10;
/** Transactions per second and seconds of the lag run. */
const LAG_RATE = 1_000;
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
  await pool.query('truncate evals, allocs, nodes, txn, table_index');
  await pool.query('update projection set applied = 0');
  await lag(ctx, link, pool);
  ctx.note(
    'fsync and synchronous_commit on; evaluations of 0.7 KB with their indexes, half of them updates; client and servers share the machine',
  );
}

/**
 * Batches as the projector makes them, of inserts and updates in equal parts.
 *
 * @param {import('./harness.mjs').Bench} ctx
 * @param {import('pg').Pool} pool
 */
async function rowsPerSecond(ctx, pool) {
  const machine = new StateMachine();
  const writer = new BatchWriter(pool);
  /** @type {import('@waybill/model').Evaluation[]} */
  let known = [];
  await ctx.measure('rowsPerSecond', { unit: 'rows/s', goal: { atLeast: 20_000 } }, async () => {
    /** @type {import('@waybill/state').Applied[]} */
    const applied = [];
    let rows = 0;
    const ripe = known; // of the run before: no row is changed twice in one batch
    known = [];
    while (rows < ROWS) {
      const fresh = Array.from({ length: ROWS_PER_TXN / 2 }, () =>
        fixtures.anEval({ ID: randomUUID(), Status: 'blocked', ClassEligibility: { a: true } }),
      );
      const again = ripe.splice(0, ROWS_PER_TXN / 2).map((one) => ({ ...one, StatusDescription: 'changed' }));
      known.push(...fresh);
      const one = fixtures.apply(
        machine,
        'EvalUpdate',
        { Evals: [...fresh, ...again] },
        { requestId: randomUUID(), timeNs: Date.now() * 1e6 },
      );
      rows += one.changes.length;
      applied.push(one);
    }
    const ms = await ctx.time(async () => {
      for (let at = 0; at < applied.length; at += 200) await writer.write(applied.slice(at, at + 200));
    });
    return (rows / ms) * 1000;
  });
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
  });
  projector.start({ role: 'projector', epoch: 1, fence: { role: 'projector', epoch: 1 }, isCurrent: () => true });
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
