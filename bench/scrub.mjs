// The log is read again in the background: what that costs evaluations that are worked off meanwhile.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { migrate } from '@waybill/projection';
import { fixtures } from '@waybill/state';
import { commitEvaluations, EvaluationCount, inFlight, publisher, registerNoopJobs } from './evaluation-load.mjs';
import { median } from './harness.mjs';
import { ServiceProcesses } from './processes.mjs';

export const describe = 'scrubbing a log of a million transactions beside a broker at work';

/** BENCH_SCRUB_TXNS=50000: a shorter one. */
const LOG_TXNS = Number(process.env.BENCH_SCRUB_TXNS ?? 1_000_000);
const EVALUATIONS = 5_000;
const WORKERS = 64;
/** Each is a run without and a run with the scrubber, one behind the other, so that a slow minute hits both. */
const PAIRS = 7;
/** MB/s: the default, and one at which a pass is over soon. */
const RATES = [1, 20];
const UNPACED = 1_000_000;

/** @param {import('./harness.mjs').Bench} ctx */
export async function run(ctx) {
  const processes = await ServiceProcesses.start(ctx);
  await migrate(processes.stack.databaseUrl);
  await registerNoopJobs(processes.journal, EVALUATIONS);
  await processes.add('broker');
  await processes.add('scheduler', 'scheduler', { WAYBILL_SCHEDULER_WORKERS: String(WORKERS) });
  ctx.log(`filling the log with ${LOG_TXNS} transactions`);
  await fill(processes.journal);
  const count = new EvaluationCount();
  await count.start(processes.journal);
  ctx.onEnd(() => count.stop());

  const perSecond = async () => {
    const until = count.ended + EVALUATIONS;
    const ms = await ctx.time(async () => {
      await commitEvaluations(processes.journal, EVALUATIONS);
      await count.when(() => count.ended >= until);
    });
    return (EVALUATIONS / ms) * 1_000;
  };
  await perSecond();
  for (const rate of RATES) {
    /** @type {{ alone: number, beside: number }[]} */
    const pairs = [];
    for (let pair = 0; pair < PAIRS; pair++) {
      const alone = await perSecond();
      const scrubber = await Scrubbing.start(processes, rate);
      const beside = await perSecond();
      await scrubber.stop();
      ctx.log(`${rate} MB/s: ${Math.round(alone)} evaluations/s alone, ${Math.round(beside)} beside`);
      pairs.push({ alone, beside });
    }
    ctx.metric(`evalsPerSecondAlone${rate}`, median(pairs.map(({ alone }) => alone)), { unit: '1/s' });
    ctx.metric(`evalsPerSecondBeside${rate}`, median(pairs.map(({ beside }) => beside)), { unit: '1/s' });
    ctx.metric(`ratioAt${rate}`, median(pairs.map(({ alone, beside }) => beside / alone)), {
      unit: `beside / alone, at ${rate} MB/s; median of ${PAIRS} pairs`,
    });
  }

  const { first, last } = await processes.journal.bounds();
  const pass = await Scrubbing.start(processes, UNPACED);
  const began = process.hrtime.bigint();
  await pass.ended;
  const seconds = Number(process.hrtime.bigint() - began) / 1e9;
  ctx.metric('passTxnsPerSecond', (last - first + 1) / seconds, { unit: '1/s, without a pause' });
  ctx.metric('passSeconds', seconds, { unit: `s for ${last - first + 1} transactions, without a pause` });
  ctx.note(
    `the log had ${LOG_TXNS} transactions when it began; a scrubber as the projector has it, in a process of its own`,
  );
}

/** Evaluations that are over, of few ids: a long log of a small state. @param {import('@waybill/journal').Journal} journal */
async function fill(journal) {
  const publish = publisher(journal);
  const evaluations = Array.from({ length: 100 }, () => fixtures.anEval({ Status: 'complete' }));
  await inFlight(
    Array.from({ length: LOG_TXNS }, (_, n) => n),
    (n) => publish('EvalUpdate', { Evals: [evaluations[n % evaluations.length]] }),
  );
}

/** A scrubber at work. */
class Scrubbing {
  /** @param {import('node:child_process').ChildProcess} child @param {Promise<unknown>} ended */
  constructor(child, ended) {
    this.child = child;
    /** Its pass, or what was asked of it. */
    this.ended = ended;
  }

  /** @param {ServiceProcesses} processes @param {number} rate MB/s */
  static async start({ stack }, rate) {
    const program = fileURLToPath(new URL('scrubbing.mjs', import.meta.url));
    const args = [program, stack.natsUrl, stack.databaseUrl, String(rate)];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    const ended = once(child, 'exit');
    await once(child.stdout, 'data'); // it reads
    return new Scrubbing(child, ended);
  }

  async stop() {
    this.child.kill('SIGTERM');
    await this.ended;
  }
}
