// A storm of evaluations that mostly supersede each other: 10 system jobs, 5,000 nodes that register at once, two workers.
import { randomUUID } from 'node:crypto';
import { Broker, BrokerController } from '@waybill/broker';
import { LocalState } from '@waybill/replica';
import { RpcContext } from '@waybill/rpc';
import { Worker } from '@waybill/scheduler';
import { systemClock, systemTimers } from '@waybill/service';
import { draftTxn, fixtures, serviceActor } from '@waybill/state';
import { silentLogger, tracerFor } from '@waybill/telemetry';

export const describe = '10 system jobs × 5,000 nodes registering at once: 50,000 evaluations, run or superseded';

const JOBS = 10;
const NODES = 5_000;
const WORKERS = 2;
const DEADLINE_MS = 300_000;

/** @param {import('./harness.mjs').Bench} ctx */
export async function run(ctx) {
  let wallSeconds = 0;
  await ctx.measure('drainedSeconds', { unit: 's', runs: 1, warmups: 0, goal: { below: 15 } }, async () => {
    const { cpuSeconds, seconds } = await drain(ctx);
    wallSeconds = seconds;
    return cpuSeconds;
  });
  ctx.metric('wallSeconds', wallSeconds, { unit: 's' });
  ctx.note(
    `${JOBS * NODES} pending evaluations in the broker, ${NODES} nodes and ${WORKERS} workers; drained: all have ended, ` +
      `${JOBS * NODES} allocations are placed, the broker is empty`,
  );
  ctx.note(
    'CPU time of one process with broker, workers and one copy of the state, over a log in memory; calls as JSON',
  );
}

async function drain(ctx) {
  const state = new LocalState();
  const broker = new Broker({
    state,
    clock: systemClock,
    timers: systemTimers,
    newId: randomUUID,
    random: Math.random,
    logger: silentLogger,
    tracer: () => tracerFor('bench'),
    region: 'global',
  });
  const controller = new BrokerController(broker);
  const rpc = {
    ask: async (call, request, options = {}) => {
      const sent = JSON.parse(JSON.stringify(request));
      const answer = await controller[call.name.split('.')[1]](sent, new RpcContext([options.traceparent]));
      return JSON.parse(JSON.stringify(answer));
    },
  };
  const write = (type, payload) =>
    state.propose(
      draftTxn(type, payload, {
        timeNs: Date.now() * 1e6,
        requestId: randomUUID(),
        actor: serviceActor('bench'),
        namespace: 'default',
      }),
    );
  await write('Initialise', {});
  for (let j = 0; j < JOBS; j += 1) await write('JobRegister', fixtures.aRegistration(systemJob(j)));
  await write('LeaseAcquired', { Role: 'broker', Epoch: 1, Holder: 'bench' });
  state.onApplied((applied) => broker.applied(applied));
  const fence = { role: /** @type {const} */ ('broker'), epoch: 1 };
  await broker.start({ ...fence, fence, isCurrent: () => true, barrierMs: 0 });
  for (let n = 0; n < NODES; n += 1) {
    const Node = fixtures.aNode({ ID: randomUUID() });
    const { index } = await write('NodeRegister', { Node, CreateNodePool: false });
    await write('EvalUpdate', {
      Evals: Array.from({ length: JOBS }, (_, j) => nodeUpdate(`system-${j}`, Node.ID, index)),
    });
  }
  const pending = broker.stats();
  ctx.log(`${pending.totalReady + pending.totalPending} evaluations wait`);

  const workers = Array.from(
    { length: WORKERS },
    () =>
      new Worker({
        rpc,
        state,
        clock: systemClock,
        timers: systemTimers,
        newId: randomUUID,
        logger: silentLogger,
        tracer: () => tracerFor('bench'),
      }),
  );
  const startedAt = performance.now();
  const before = process.cpuUsage();
  for (const worker of workers) worker.start();
  const isDrained = () => {
    const { totalReady, totalPending, totalUnacked, totalWaiting, totalCancelable } = broker.stats();
    return totalReady + totalPending + totalUnacked + totalWaiting + totalCancelable === 0;
  };
  while (!isDrained() && performance.now() - startedAt < DEADLINE_MS)
    await new Promise((resolve) => setTimeout(resolve, 20));
  const { user, system } = process.cpuUsage(before);
  const seconds = (performance.now() - startedAt) / 1000;
  await Promise.all(workers.map((worker) => worker.stop()));
  await broker.stop();
  const open = state.tables.evals.count('status', 'pending');
  if (open > 0) throw new Error(`${open} evaluations have not ended`);
  ctx.log(
    `${state.tables.evals.count('status', 'complete')} complete, ${state.tables.evals.count('status', 'canceled')} ` +
      `canceled, ${state.tables.allocs.size} allocations`,
  );
  if (state.tables.allocs.size !== JOBS * NODES) throw new Error(`${state.tables.allocs.size} allocations placed`);
  return { cpuSeconds: (user + system) / 1e6, seconds };
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
