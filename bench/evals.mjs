// Evaluations that change nothing, through real processes: log → broker → worker over NATS → log → ack.
import { commitEvaluations, EvaluationCount, registerNoopJobs } from './evaluation-load.mjs';
import { ServiceProcesses } from './processes.mjs';

export const describe = 'no-op evaluations from commit to committed complete: broker, schedulers and NATS as processes';

/** Each evaluation has a job of its own: one job's are worked on one after another. */
const EVALUATIONS = 10_000;
const WORKERS = 64;

/** @param {import('./harness.mjs').Bench} ctx */
export async function run(ctx) {
  const processes = await ServiceProcesses.start(ctx);
  ctx.log(`registering ${EVALUATIONS} jobs`);
  await registerNoopJobs(processes.journal, EVALUATIONS);
  await processes.add('broker');
  await processes.add('scheduler', 'scheduler', { WAYBILL_SCHEDULER_WORKERS: String(WORKERS) });
  const count = new EvaluationCount();
  await count.start(processes.journal);
  ctx.onEnd(() => count.stop());

  /** @type {Record<string, number>} */
  const cpuMicros = { broker: 0, scheduler: 0 };
  let counted = 0;
  let written = 0;
  const work = async (/** @type {boolean} */ traced) => {
    const until = count.ended + EVALUATIONS;
    const ms = await ctx.time(async () => {
      await commitEvaluations(processes.journal, EVALUATIONS, traced);
      await count.when(() => count.ended >= until);
    });
    return (EVALUATIONS / ms) * 1_000;
  };
  await ctx.measure('evalsPerSecond', { unit: '1/s', goal: { atLeast: 5_000 } }, async (run) => {
    const before = cpuOf(processes, cpuMicros);
    const { last: from } = await processes.journal.bounds();
    const perSecond = await work(false);
    const { last: to } = await processes.journal.bounds();
    const after = cpuOf(processes, cpuMicros);
    if (run >= 0) {
      counted += EVALUATIONS;
      written += to - from;
      for (const name of Object.keys(cpuMicros))
        cpuMicros[name] = (cpuMicros[name] ?? 0) + ((after[name] ?? 0) - (before[name] ?? 0)) * 1e6;
    }
    return perSecond;
  });
  for (const [name, micros] of Object.entries(cpuMicros))
    ctx.metric(`${name}CpuMicros`, micros / counted, { unit: 'us per evaluation' });
  ctx.metric('transactionsPerEval', written / counted, { unit: 'the one that asks for it included' });
  await ctx.measure('tracedPerSecond', { unit: '1/s', runs: 3 }, () => work(true));
  ctx.metric('brokerScrapeMs', await processes.scrapeMs('broker'), { unit: 'ms' });
  ctx.note(
    `${EVALUATIONS} evaluations of as many jobs, one transaction each; one scheduler process with ${WORKERS} workers`,
  );
  ctx.note(
    'the ends of what one cause made are written together; tracedPerSecond: each evaluation has a trace, and so an end, of its own',
  );
  ctx.note('broker, scheduler, nats-server and this program share the cores; there is no projector');
  ctx.note(
    'brokerScrapeMs: one answer of /metrics after that many jobs; nothing else is done meanwhile, leases included',
  );
}

/** @param {ServiceProcesses} processes @param {Record<string, number>} names @returns {Record<string, number>} */
function cpuOf(processes, names) {
  return Object.fromEntries(Object.keys(names).map((name) => [name, processes.cpuSeconds(name)]));
}
