// The evaluation broker alone, in memory: what one evaluation costs it, in time and in bytes, and that a disabled one holds nothing.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { BlockedEvals } from '@waybill/broker';
import { systemClock, systemTimers } from '@waybill/service';
import { anEvaluation, Backlog, EVALS_PER_JOB, heapUsed, PRIORITIES, TYPES } from './broker-backlog.mjs';

export const describe =
  'the evaluation broker: enqueue, dequeue, ack; bytes per waiting evaluation; memory while disabled';

const WAITING = 100_000;
const CYCLES = 50_000;
const ARRIVALS_WHILE_DISABLED = 1_000_000;
/** The goal is one core's: garbage is collected by the thread that makes it. The young generation is as services have it. */
const NODE_ARGS = ['--single-threaded-gc', '--max-semi-space-size=64'];

/** @param {import('./harness.mjs').Bench} ctx */
export async function run(ctx) {
  await ctx.measure('cyclesPerSecond', { unit: '1/s', goal: { atLeast: 200_000 } }, async () => {
    return 1e6 / (await microsecondsPerCycle(WAITING));
  });
  for (const [name, waiting] of /** @type {[string, number][]} */ ([
    ['cycleMicrosAt1000', 1_000],
    ['cycleMicrosAt1000000', 1_000_000],
  ]))
    await ctx.measure(name, { unit: 'us', runs: 3, warmups: 0 }, () => microsecondsPerCycle(waiting));
  ctx.ratio('growth1000To1000000', 'cycleMicrosAt1000000', 'cycleMicrosAt1000');

  await ctx.measure('bytesPerWaiting', { unit: 'B', runs: 3, goal: { below: 1_025 } }, () => bytesPerWaiting());
  ctx.metric('disabledGrowthBytes', disabledGrowth(), { unit: 'B', goal: { below: 1_000_000 } });
  ctx.note(
    `${WAITING} evaluations over ${WAITING / EVALS_PER_JOB} jobs, ${PRIORITIES.length} priorities, ${TYPES.length} types; ` +
      'a cycle enqueues one, delivers one (token, nack timer, wait index) and acks it, which supersedes the rest of its job',
  );
  ctx.note(
    'times are CPU time of a process that does nothing else and collects its garbage in its one thread: the machine may ' +
      'have other work, as long as its core is not shared',
  );
  ctx.note(
    `bytes without the evaluations themselves, which are rows of the state; disabled: ${ARRIVALS_WHILE_DISABLED} arrive`,
  );
}

/** @param {number} waiting */
async function microsecondsPerCycle(waiting) {
  const program = fileURLToPath(new URL('broker-backlog.mjs', import.meta.url));
  const args = [...NODE_ARGS, program, String(waiting), String(CYCLES)];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return Number(stdout);
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
    const kind = [{}, { Wait: 60e9 }, { WaitUntil: until }, { Status: /** @type {const} */ ('blocked') }][i % 4];
    const evaluation = anEvaluation(i, i + 1, kind);
    if (evaluation.Status === 'blocked') blocked.block(evaluation);
    else broker.enqueue(evaluation);
  }
  return Math.max(0, heapUsed() - before);
}
