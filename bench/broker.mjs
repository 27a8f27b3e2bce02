// The evaluation broker alone, in memory: what one evaluation costs it, in time and in bytes, and that a disabled one holds nothing.
import { randomUUID } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { BlockedEvals, EvalBroker } from '@waybill/broker';
import { newEvaluation } from '@waybill/model';
import { systemClock, systemTimers } from '@waybill/service';

export const describe =
  'the evaluation broker: enqueue, dequeue, ack; bytes per waiting evaluation; memory while disabled';

const WAITING = 100_000;
const EVALS_PER_JOB = 10;
const PRIORITIES = [20, 50, 70, 90];
const TYPES = ['service', 'batch', 'system', 'sysbatch'];
/** Cycles timed in one go; between two of them the backlog is filled up again, untimed. */
const CYCLES_PER_ROUND = 1_000;
const CYCLES = 50_000;
const ARRIVALS_WHILE_DISABLED = 1_000_000;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc');

/** @param {import('./harness.mjs').Bench} ctx */
export async function run(ctx) {
  await ctx.measure('cyclesPerSecond', { unit: '1/s', goal: { atLeast: 200_000 } }, async () => {
    return 1e6 / (await microsecondsPerCycle(WAITING, CYCLES));
  });
  for (const [name, waiting] of /** @type {[string, number][]} */ ([
    ['cycleMicrosAt1000', 1_000],
    ['cycleMicrosAt1000000', 1_000_000],
  ]))
    await ctx.measure(name, { unit: 'us', runs: 3 }, () => microsecondsPerCycle(waiting, CYCLES));
  ctx.ratio('growth1000To1000000', 'cycleMicrosAt1000000', 'cycleMicrosAt1000');

  await ctx.measure('bytesPerWaiting', { unit: 'B', runs: 3, goal: { below: 1_025 } }, () => bytesPerWaiting());
  ctx.metric('disabledGrowthBytes', disabledGrowth(), { unit: 'B', goal: { below: 1_000_000 } });
  ctx.note(
    `${WAITING} evaluations over ${WAITING / EVALS_PER_JOB} jobs, ${PRIORITIES.length} priorities, ${TYPES.length} types; ` +
      'a cycle enqueues one, delivers one (token, nack timer, wait index) and acks it, which supersedes the rest of its job',
  );
  ctx.note('times are CPU time of the whole process, garbage collection included: the machine may have other work');
  ctx.note(
    `bytes without the evaluations themselves, which are rows of the state; disabled: ${ARRIVALS_WHILE_DISABLED} arrive`,
  );
}

/** A broker over rows of its own, and a way to add to its backlog. */
class Backlog {
  rows = new Map();
  index = 0;

  constructor(waiting) {
    this.jobs = Math.max(1, Math.floor(waiting / EVALS_PER_JOB));
    this.broker = new EvalBroker({
      clock: systemClock,
      timers: systemTimers,
      newId: randomUUID,
      random: Math.random,
      rows: { evaluation: (id) => this.rows.get(id), highestEvalIndex: () => this.index },
    });
    this.broker.setEnabled(true);
  }

  /** @param {number} job */
  evaluationOf(job) {
    this.index += 1;
    const evaluation = anEvaluation(job, this.index);
    this.rows.set(evaluation.ID, evaluation);
    return evaluation;
  }

  /** One that has ended comes as a new one, so that no garbage of the benchmark is collected at the broker's expense. */
  again(evaluation) {
    this.index += 1;
    evaluation.CreateIndex = this.index;
    evaluation.ModifyIndex = this.index;
    return evaluation;
  }

  fill(waiting) {
    for (let i = 0; i < waiting; i += 1) this.broker.enqueue(this.evaluationOf(i % this.jobs));
  }
}

function anEvaluation(job, index, more = {}) {
  return newEvaluation({
    ID: randomUUID(),
    Namespace: 'default',
    JobID: `job-${job}`,
    Type: TYPES[job % TYPES.length],
    Priority: PRIORITIES[(job >> 2) % PRIORITIES.length],
    TriggeredBy: 'job-register',
    CreateTime: 1_767_225_600e9,
    CreateIndex: index,
    ModifyIndex: index,
    ...more,
  });
}

async function microsecondsPerCycle(waiting, cycles) {
  const backlog = new Backlog(waiting);
  const { broker } = backlog;
  backlog.fill(waiting);
  collectGarbage();
  const perRound = Math.min(CYCLES_PER_ROUND, backlog.jobs);
  let micros = 0;
  let done = 0;
  let arriving = Array.from({ length: perRound }, (_, i) => backlog.evaluationOf((i * 7919) % backlog.jobs));
  while (done < cycles) {
    const ended = [];
    const before = process.cpuUsage();
    for (const evaluation of arriving) {
      broker.enqueue(evaluation);
      const { evaluation: delivered, token } = await broker.dequeue(TYPES, 500);
      broker.ack(delivered.ID, token);
      ended.push(delivered);
    }
    const { user, system } = process.cpuUsage(before);
    micros += user + system;
    done += perRound;
    // What was superseded is canceled, and as many new ones arrive for the same jobs.
    const canceled = broker.superseded.take(Infinity);
    broker.superseded.forget(canceled.map((e) => e.ID));
    for (const evaluation of canceled) broker.enqueue(backlog.again(evaluation));
    arriving = ended.map((evaluation) => backlog.again(evaluation));
  }
  const { totalReady, totalPending } = broker.stats();
  if (Math.abs(totalReady + totalPending - waiting) > perRound * EVALS_PER_JOB) throw new Error('the backlog changed');
  broker.setEnabled(false);
  return micros / done;
}

function bytesPerWaiting() {
  const backlog = new Backlog(WAITING);
  const evaluations = Array.from({ length: WAITING }, (_, i) => backlog.evaluationOf(i % backlog.jobs));
  const before = heapUsed();
  backlog.broker.enqueueAll(evaluations.map((evaluation) => ({ evaluation, token: '' })));
  const bytes = heapUsed() - before;
  if (backlog.broker.stats().totalPending + backlog.broker.stats().totalReady !== WAITING)
    throw new Error('not all wait');
  backlog.broker.setEnabled(false);
  return bytes / WAITING;
}

/** Bytes a disabled broker and a disabled tracker hold after a million evaluations of every kind came. */
function disabledGrowth() {
  const { broker } = new Backlog(WAITING);
  broker.setEnabled(false);
  const blocked = new BlockedEvals({
    clock: systemClock,
    timers: systemTimers,
    enqueue: () => {},
    onDuplicate: () => {},
  });
  const until = new Date(Date.now() + 3_600_000).toISOString();
  const before = heapUsed();
  for (let i = 0; i < ARRIVALS_WHILE_DISABLED; i += 1) {
    const kind = [{}, { Wait: 60e9 }, { WaitUntil: until }, { Status: 'blocked' }][i % 4];
    const evaluation = anEvaluation(i, i + 1, kind);
    if (evaluation.Status === 'blocked') blocked.block(evaluation);
    else broker.enqueue(evaluation);
  }
  return Math.max(0, heapUsed() - before);
}

function heapUsed() {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}
