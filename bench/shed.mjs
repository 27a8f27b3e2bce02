// A storm of evaluations that mostly supersede each other: 10 system jobs, 5,000 nodes that register at once, two workers.
import { randomUUID } from 'node:crypto';
import { fixtures } from '@waybill/state';
import { EvaluationCount, inFlight, publisher } from './evaluation-load.mjs';
import { ServiceProcesses, until } from './processes.mjs';

export const describe = '10 system jobs × 5,000 nodes registering at once: 50,000 evaluations, run or superseded';

const JOBS = 10;
const NODES = 5_000;
const WORKERS = 2;
const DEADLINE_MS = 300_000;

/** @param {import('./harness.mjs').Bench} ctx */
export async function run(ctx) {
  const processes = await ServiceProcesses.start(ctx);
  const { journal } = processes;
  const publish = publisher(journal);
  const pause = (/** @type {boolean} */ PauseEvalBroker) =>
    publish('SchedulerConfig', {
      Config: { ...fixtures.aSchedulerConfiguration(), PauseEvalBroker },
      CAS: false,
      ModifyIndex: 0,
    });
  await pause(true);
  const count = new EvaluationCount();
  await count.start(journal);
  ctx.onEnd(() => count.stop());
  const placed = await countPlaced(ctx, journal);
  for (let j = 0; j < JOBS; j += 1) await publish('JobRegister', fixtures.aRegistration(systemJob(j)));
  await inFlight(
    Array.from({ length: NODES }, () => fixtures.aNode({ ID: randomUUID() })),
    async (Node) => {
      const { index } = await publish('NodeRegister', { Node, CreateNodePool: false });
      const Evals = Array.from({ length: JOBS }, (_, j) => nodeUpdate(`system-${j}`, Node.ID, index));
      await publish('EvalUpdate', { Evals });
    },
  );
  const names = ['broker', 'scheduler'];
  await processes.add('broker');
  await processes.add('scheduler', 'scheduler', { WAYBILL_SCHEDULER_WORKERS: String(WORKERS) });
  await until('the broker holds its role', async () => (await processes.roleOf('broker')).startsWith('holder'));
  await count.when(() => count.open.size === JOBS * NODES);
  ctx.log(`${count.open.size} evaluations wait`);

  const cpu = () => names.map((name) => processes.cpuSeconds(name));
  const before = cpu();
  await ctx.measure('drainedSeconds', { unit: 's', runs: 1, warmups: 0, goal: { below: 15 } }, async () => {
    const ms = await ctx.time(async () => {
      await pause(false);
      await until('all evaluations have ended', () => count.open.size === 0, DEADLINE_MS);
    });
    return ms / 1_000;
  });
  cpu().forEach((seconds, i) => ctx.metric(`${names[i]}CpuSeconds`, seconds - (before[i] ?? 0), { unit: 's' }));
  if (placed.size !== JOBS * NODES) throw new Error(`${placed.size} allocations placed`);
  ctx.note(
    `${JOBS * NODES} evaluations and ${NODES} nodes are in the log while the broker is paused; from the end of the pause ` +
      `until every evaluation is committed as complete or canceled and ${JOBS * NODES} allocations are placed`,
  );
  ctx.note(`broker, one scheduler process with ${WORKERS} workers, nats-server and this program share the cores`);
}

/** Ids of the allocations that plans have placed. */
async function countPlaced(ctx, journal) {
  const placed = new Set();
  const { last } = await journal.bounds();
  const follower = await journal.follow({
    from: last + 1,
    onTxns: (batch) => {
      for (const { type, payload } of batch)
        if (type === 'ApplyPlanResults') for (const { ID } of payload.AllocsUpdated) placed.add(ID);
    },
    onError: (error) => {
      throw error;
    },
  });
  ctx.onEnd(() => follower.stop());
  return placed;
}

function systemJob(j) {
  const job = fixtures.aJob({ ID: `system-${j}`, Type: 'system' });
  for (const group of job.TaskGroups)
    for (const task of group.Tasks) task.Resources = { ...task.Resources, CPU: 20, MemoryMB: 16 };
  return job;
}

function nodeUpdate(JobID, NodeID, NodeModifyIndex) {
  return fixtures.anEval({
    ID: randomUUID(),
    JobID,
    Type: 'system',
    TriggeredBy: 'node-update',
    NodeID,
    NodeModifyIndex,
  });
}
