// A holder dies by SIGKILL. First the lease alone, between two small processes; then the real broker, with work in its queue.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { LogReader, readLog } from '@waybill/verify';
import { commitEvaluations, EvaluationCount, registerNoopJobs } from './evaluation-load.mjs';
import { ServiceProcesses, until } from './processes.mjs';

export const describe = 'a singleton’s holder is killed: time until the successor acts, nothing lost';

const TTL_MS = 3_000;
const DEADLINE_MS = 30_000;
const CONTENDER = fileURLToPath(new URL('../test/log/lease-contender.mjs', import.meta.url));

const QUEUED = 10_000;
/** Evaluations that have ended when the broker is killed: work is in flight then. */
const ENDED_BEFORE = 500;
const WORKERS = 16;
/** What a worker held is handed out again after the nack timeout at the latest. */
const ALL_ENDED_DEADLINE_MS = 120_000;

/** @param {import('./harness.mjs').Bench} ctx */
export async function run(ctx) {
  await leaseAlone(ctx);
  await brokerWithQueue(ctx);
}

/** @param {import('./harness.mjs').Bench} ctx */
async function leaseAlone(ctx) {
  const { stack } = await ServiceProcesses.start(ctx);
  const running = new Set();
  ctx.onEnd(() => {
    for (const child of running) child.kill('SIGKILL');
  });
  let names = 0;
  const contend = async () => {
    names += 1;
    const child = spawn(process.execPath, [CONTENDER, stack.natsUrl, `contender-${names}`, String(TTL_MS)]);
    running.add(child);
    child.once('exit', () => running.delete(child));
    const lines = createInterface({ input: child.stdout });
    const contender = { child, started: heard(lines, 'start') };
    await heard(lines, 'ready');
    return contender;
  };

  let holder = await contend();
  await holder.started;
  await ctx.measure('leaseTakeoverMs', { unit: 'ms', runs: 5, warmups: 1, goal: { below: 4_000 } }, async () => {
    const successor = await contend();
    const killedAt = Date.now();
    holder.child.kill('SIGKILL');
    const { at } = await successor.started;
    holder = successor;
    return at - killedAt;
  });
  ctx.note(
    `leaseTakeoverMs: lease TTL ${TTL_MS} ms, nothing but the lease; acting = started for the new epoch after its own copy applied it`,
  );
}

/** @param {import('./harness.mjs').Bench} ctx */
async function brokerWithQueue(ctx) {
  const processes = await ServiceProcesses.start(ctx);
  const env = { WAYBILL_LEASE_TTL_MS: String(TTL_MS) };
  await registerNoopJobs(processes.journal, QUEUED + ENDED_BEFORE);
  await processes.add('broker', 'broker-0', env);
  await processes.add('scheduler', 'scheduler', { WAYBILL_SCHEDULER_WORKERS: String(WORKERS) });
  const count = new EvaluationCount();
  await count.start(processes.journal);
  ctx.onEnd(() => count.stop());

  let round = 0;
  let lost = 0;
  await ctx.measure('takeoverMs', { unit: 'ms', runs: 5, warmups: 0, goal: { below: 3_000 } }, async () => {
    const holder = `broker-${round}`;
    round += 1;
    await processes.add('broker', `broker-${round}`, env);
    await until(`${holder} holds the role`, async () => (await processes.roleOf(holder)).startsWith('holder'));
    const before = count.ended;
    await commitEvaluations(processes.journal, QUEUED + ENDED_BEFORE);
    await count.when(() => count.ended >= before + ENDED_BEFORE);
    const epoch = count.epoch;
    const killedAt = performance.now();
    await processes.end(holder);
    const queued = count.open.size;
    await count.when(() => count.epoch > epoch);
    const tookMs = performance.now() - killedAt;
    await until('every evaluation has ended', () => count.open.size === 0, ALL_ENDED_DEADLINE_MS).catch(() => {});
    lost += count.open.size;
    count.open.clear();
    ctx.log(`${queued} were open at the kill, ${count.open.size} are now`);
    return tookMs;
  });
  ctx.metric('lost', lost, { unit: 'evaluations', goal: { below: 1 } });

  const reader = new LogReader({ pendingLimitMs: 0 });
  await readLog({ natsUrl: processes.stack.natsUrl, natsCredentials: undefined }, (txn) =>
    reader.checkTransaction(txn),
  );
  const report = reader.finish();
  for (const { invariant, index, subject, message } of report.violations.slice(0, 10))
    ctx.log(`BROKEN ${invariant} at index ${index}: ${subject} ${message}`);
  ctx.metric('violations', report.violationCount, { goal: { below: 1 } });
  ctx.note(
    `takeoverMs: the broker with ${QUEUED} evaluations in its queue and ${WORKERS} workers at work is killed, a standby runs; ` +
      'until the first evaluation handed out by the standby is committed as complete',
  );
  ctx.note(`violations: what npm run verify -- log finds in the ${report.transactions} transactions of all rounds`);
}

/** @param {import('node:readline').Interface} lines @param {string} event @returns {Promise<{ at: number }>} */
function heard(lines, event) {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`no ${event} within ${DEADLINE_MS} ms`)), DEADLINE_MS);
    lines.on('line', (line) => {
      const said = JSON.parse(line);
      if (said.event !== event) return;
      clearTimeout(late);
      resolve(said);
    });
  });
}
