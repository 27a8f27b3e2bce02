// What the log can take and give: publishing with every acknowledgement awaited, and replaying it through the state machine.
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startNats } from '@waybill/embedded';
import { connect, decodeTxn, encodeTxn, ensureStreams, Journal } from '@waybill/journal';
import { draftTxn, fixtures, StateMachine } from '@waybill/state';
import { median } from './harness.mjs';

export const describe = 'the log: publishing 1 KB transactions, 100 in flight; replay through the state machine';

const IN_FLIGHT = 100;
const BODY_BYTES = 1024;
const PUBLISH_COUNT = 50_000;
const REPLAY_COUNT = 200_000;
const DECODE_COUNT = 20_000;
/** Asking for CPU time costs as much as applying one transaction, and a batch has about 60. */
const BATCHES_PER_SAMPLE = 16;
const NODES = 200;
const JOBS = 50;
const ALLOCS_PER_JOB = 40;

/** @param {import('./harness.mjs').Bench} ctx */
export async function run(ctx) {
  await benchPublishing(ctx);
  await benchReplay(ctx);
}

/** A server of its own for each of the two, so that neither carries what the other left behind. */
async function emptyLog(ctx) {
  const dir = await mkdtemp(path.join(tmpdir(), 'waybill-bench-'));
  const nats = await startNats({ dir });
  const link = await connect({ url: nats.url, name: 'bench' });
  ctx.onEnd(async () => {
    await link.nc.close();
    await nats.stop();
    await rm(dir, { recursive: true, force: true });
  });
  await ensureStreams(link, { replicas: 1 });
  return new Journal(link);
}

const actor = { Kind: /** @type {const} */ ('node'), ID: randomUUID(), Name: 'node-1' };

/** @param {import('@waybill/state').TxnType} type @param {any} payload */
const draft = (type, payload) =>
  draftTxn(type, payload, { timeNs: Date.now() * 1e6, requestId: randomUUID(), actor, namespace: 'default' });

async function benchPublishing(ctx) {
  const journal = await emptyLog(ctx);
  const update = clientUpdate(fixtures.uuid(1), fixtures.uuid(2), 'running', 0);
  const pad = BODY_BYTES - encodeTxn(draft('AllocClientUpdate', { Allocs: [update], Evals: [] })).body.length;
  const payload = { Allocs: [{ ...update, ClientDescription: update.ClientDescription + 'x'.repeat(pad) }], Evals: [] };
  await ctx.measure('publishPerSecond', { unit: 'txn/s', goal: { atLeast: 30_000 } }, async () => {
    const drafts = repeat(PUBLISH_COUNT, () => draft('AllocClientUpdate', payload));
    const ms = await ctx.time(() => publishAll(journal, drafts, IN_FLIGHT));
    return (PUBLISH_COUNT / ms) * 1000;
  });
  ctx.note(`publish: ${BODY_BYTES} byte bodies with all headers, ${IN_FLIGHT} in flight, sync_interval 100ms`);
}

async function benchReplay(ctx) {
  const journal = await emptyLog(ctx);
  await publishAll(journal, setUp(draft), 1);
  const index = await publishAll(journal, traffic(draft, REPLAY_COUNT), IN_FLIGHT);
  const replays = [];
  await ctx.measure('replayPerSecond', { unit: 'txn/s', goal: { atLeast: 150_000 } }, async (nth) => {
    const replayed = await replay(ctx, journal, index);
    if (nth >= 0) replays.push(replayed);
    return (index / replayed.ms) * 1000;
  });
  await recordStages(
    ctx,
    replays,
    [...traffic(draft, DECODE_COUNT)].map((one) => encodeTxn(one)),
  );
  ctx.note(
    `replay: ${index} transactions (90% client updates of one allocation, 9% evaluations, 1% status of nodes) over ` +
      `${NODES} nodes and ${JOBS * ALLOCS_PER_JOB} allocations, read, decoded and applied in one process`,
  );
}

/**
 * Reads the whole log into a new state machine. CPU in microseconds per transaction: what a rate costs, whoever else
 * has the processors.
 */
async function replay(ctx, journal, index) {
  const machine = new StateMachine();
  let refused = 0;
  const applyAll = (batch) => {
    for (const txn of batch) if (machine.apply(txn).verdict.kind === 'refused') refused += 1;
  };
  const sample = { micros: 0, txns: 0 };
  let batches = 0;
  const started = cpuMicros();
  const ms = await ctx.time(async () => {
    const follower = await journal.follow({
      from: 1,
      onTxns: (batch) => {
        batches += 1;
        if (batches % BATCHES_PER_SAMPLE !== 0) return applyAll(batch);
        const before = cpuMicros();
        applyAll(batch);
        sample.micros += cpuMicros() - before;
        sample.txns += batch.length;
      },
      onError: (error) => ctx.log(`replay stopped: ${error.message}`),
    });
    await follower.caughtUp;
    await follower.stop();
  });
  const all = cpuMicros() - started;
  if (machine.appliedIndex !== index) throw new Error(`replay ended at ${machine.appliedIndex} of ${index}`);
  if (refused > 0) throw new Error(`${refused} transactions were refused`);
  return { ms, allMicros: all / index, applyMicros: sample.micros / sample.txns };
}

/** CPU per transaction of each stage of the replays; receiving is what decoding and applying leave. */
async function recordStages(ctx, replays, messages) {
  const unit = 'µs CPU/txn';
  const applyMicros = ctx.metric('applyMicros', median(replays.map((one) => one.applyMicros)), { unit });
  const decodeMicros = await ctx.measure('decodeMicros', { unit }, () => {
    const started = cpuMicros();
    messages.forEach(({ headers, body }, i) => decodeTxn(i + 1, headers, body.toString('utf8')));
    return (cpuMicros() - started) / messages.length;
  });
  const allMicros = median(replays.map((one) => one.allMicros));
  ctx.metric('consumeMicros', allMicros - applyMicros - decodeMicros, { unit });
  const bytes = messages.reduce((sum, { headers, body }) => sum + headers.length + body.length, 0);
  ctx.note(
    `replay: ${Math.round(bytes / messages.length)} bytes a message, headers included; CPU with garbage collection`,
  );
}

/** CPU time of this process so far. */
function cpuMicros() {
  const { user, system } = process.cpuUsage();
  return user + system;
}

/** @param {import('@waybill/journal').Journal} journal @param {Iterable<object>} drafts @param {number} inFlight */
async function publishAll(journal, drafts, inFlight) {
  const iterator = drafts[Symbol.iterator]();
  let last = 0;
  const writer = async () => {
    for (let next = iterator.next(); !next.done; next = iterator.next())
      last = Math.max(last, (await journal.publish(next.value)).index);
  };
  await Promise.all(Array.from({ length: inFlight }, writer));
  return last;
}

function* repeat(count, make) {
  for (let i = 0; i < count; i += 1) yield make();
}

const jobId = (j) => `job-${j}`;
const nodeId = (n) => fixtures.uuid(1_000_000 + n);
const allocId = (a) => fixtures.uuid(2_000_000 + a);
const evalId = (e) => fixtures.uuid(3_000_000 + e);

/** Nodes, jobs and their allocations. */
function* setUp(draft) {
  yield draft('Initialise', {});
  for (let n = 0; n < NODES; n += 1)
    yield draft('NodeRegister', { Node: fixtures.aNode({ ID: nodeId(n) }), CreateNodePool: false });
  for (let j = 0; j < JOBS; j += 1) {
    const job = fixtures.aJob({ ID: jobId(j) });
    const evaluation = fixtures.anEval({ ID: evalId(j), JobID: job.ID });
    yield draft('JobRegister', fixtures.aRegistration(job, { Eval: evaluation }));
    const allocs = Array.from({ length: ALLOCS_PER_JOB }, (_, i) => {
      const a = j * ALLOCS_PER_JOB + i;
      const NodeID = nodeId(a % NODES);
      return fixtures.anAlloc({ ID: allocId(a), JobID: job.ID, Job: null, EvalID: evaluation.ID, NodeID });
    });
    yield draft('ApplyPlanResults', fixtures.aPlanResult({ Job: job, AllocsUpdated: allocs, EvalID: evaluation.ID }));
  }
}

/** What a busy cluster writes most of. */
function* traffic(draft, count) {
  for (let i = 0; i < count; i += 1) {
    const a = i % (JOBS * ALLOCS_PER_JOB);
    if (i % 100 === 99) {
      const Status = 'ready';
      yield draft('NodeUpdateStatus', {
        NodeID: nodeId(i % NODES),
        Status,
        UpdatedAt: 1_767_225_600 + i,
        NodeEvent: null,
        IdentitySigningKeyID: '',
      });
    } else if (i % 11 === 10) {
      const j = i % JOBS;
      yield draft('EvalUpdate', {
        Evals: [fixtures.anEval({ ID: evalId(j), JobID: jobId(j), Status: 'complete', ModifyTime: i })],
      });
    } else {
      const status = i % 2 === 0 ? 'running' : 'pending';
      yield draft('AllocClientUpdate', { Allocs: [clientUpdate(allocId(a), nodeId(a % NODES), status, i)], Evals: [] });
    }
  }
}

/** What an agent reports of one allocation with one task and its last event. */
function clientUpdate(ID, NodeID, ClientStatus, i) {
  return fixtures.aClientUpdate(
    { ID, NodeID },
    {
      ClientStatus,
      ModifyTime: fixtures.timeNs + i * 1e6,
      TaskStates: {
        web: {
          State: ClientStatus,
          Failed: false,
          Restarts: 0,
          Paused: '',
          LastRestart: null,
          StartedAt: '2026-01-01T00:00:00Z',
          FinishedAt: null,
          Events: [
            /** @type {any} */ ({
              Type: 'Started',
              Time: fixtures.timeNs + i,
              DisplayMessage: 'Task started by client',
              Details: {},
              Message: '',
            }),
          ],
        },
      },
    },
  );
}
