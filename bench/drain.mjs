// Many machines drained at once while other jobs come and go: every service a process of its own, machines with real agents
// and mock tasks in this one. What may be missing of a job is counted on the log, by nobody who decides about it.
import { randomUUID } from 'node:crypto';
import { isTerminalAllocation } from '@waybill/model';
import { EVERYBODY_CALLS, NatsRpc, updateNodeDrain } from '@waybill/rpc';
import { fixtures, serviceActor } from '@waybill/state';
import { publisher } from './evaluation-load.mjs';
import { ServiceProcesses, until } from './processes.mjs';
import { fleetOf } from './simulated-machines.mjs';
import { stateOf } from './state-copy.mjs';

export const describe = 'many machines drained at once, under load, without ever breaking max_parallel';

const DRAINED = 100;
const ALLOCS_PER_NODE = 50;
/** Machines that take over, with room for the load as well. */
const OTHERS = 130;
const CPU_PER_ALLOC = 100;
const JOBS = 100;
const COUNT = (DRAINED * ALLOCS_PER_NODE) / JOBS;
const MAX_PARALLEL = 5;
const HEALTHY_AFTER_MS = 500;
/** A job of this many allocations is registered every so often during the drain; the oldest of some is stopped for it. */
const LOAD = { count: 5, everyMs: 250, kept: 40 };
const WORKERS = 2;
/** Longer than that and something stands still. */
const PLACED_WITHIN_MS = 120_000;
const DRAINED_WITHIN_MS = 400_000;

/** @param {import('./harness.mjs').Bench} ctx */
export async function run(ctx) {
  const processes = await ServiceProcesses.start(ctx);
  const services = ['nodes', 'broker', 'scheduler', 'deployments'];
  const env = { WAYBILL_SCHEDULER_WORKERS: String(WORKERS) };
  for (const service of services) await processes.add(service, service, env);
  const rpc = new NatsRpc(processes.link.nc);
  const state = await stateOf(ctx, processes.stack.natsUrl);
  const write = publisher(processes.journal);
  const ready = () => [...state.tables.nodes.all()].filter((node) => node.Status === 'ready').length;
  /** @param {string} namePrefix @param {number} nodes */
  const machines = async (namePrefix, nodes) => {
    const fleet = fleetOf(rpc, { nodes, namePrefix, seed: namePrefix, cpuMhz: ALLOCS_PER_NODE * CPU_PER_ALLOC });
    ctx.onEnd(() => fleet.stop());
    const before = ready();
    fleet.start();
    await until('the machines are ready', () => ready() === before + nodes);
    return fleet.members.map(({ node }) => node.ID);
  };

  const drained = await machines('drained', DRAINED);
  const story = new DrainStory(state);
  for (let n = 0; n < JOBS; n++) await write('JobRegister', registrationOf(`drained-${n}`, COUNT));
  await until('all allocations are healthy', () => story.healthy === JOBS * COUNT, PLACED_WITHIN_MS);
  await machines('other', OTHERS);

  ctx.log(`${DRAINED} machines with ${ALLOCS_PER_NODE} allocations each are drained`);
  const stopLoad = load(write);
  ctx.onEnd(stopLoad);
  story.begins();
  const ms = await ctx.time(async () => {
    const options = { timeoutMs: 30_000, authority: { user: EVERYBODY_CALLS } };
    await Promise.all(drained.map((NodeID) => rpc.ask(updateNodeDrain, drainOf(NodeID), options)));
    await until('all drains have ended', () => story.drained === DRAINED, DRAINED_WITHIN_MS);
  });
  await stopLoad();
  ctx.metric('violations', story.violations, { unit: '', goal: { below: 1 } });
  ctx.metric('fewestHealthy', story.fewestHealthy, { unit: `of ${COUNT}`, goal: { atLeast: COUNT - MAX_PARALLEL } });
  ctx.metric('drainSeconds', ms / 1_000, { unit: 's' });
  ctx.metric('movesPerSecond', (JOBS * COUNT * 1_000) / ms, { unit: 'allocations/s' });
  for (const service of services)
    ctx.metric(`${service}CpuSeconds`, processes.cpuSeconds(service), { unit: 's, start included' });
  ctx.note(`${JOBS} jobs of ${COUNT}, max_parallel ${MAX_PARALLEL}, healthy ${HEALTHY_AFTER_MS} ms after their start`);
  ctx.note(
    `violations: transactions after which a job has more than max_parallel of its allocations not healthy or on their way out`,
  );
  ctx.note(`load: ${story.others} allocations of other jobs placed meanwhile`);
}

/** What the log tells of the drained jobs. Healthy: it runs, its agent said so, and nobody wants it elsewhere. */
class DrainStory {
  healthy = 0;
  violations = 0;
  fewestHealthy = COUNT;
  drained = 0;
  others = 0;
  #begun = false;
  /** @type {Map<string, number>} by job */
  #healthyOf = new Map();

  /** @param {import('@waybill/replica').Replica} state */
  constructor(state) {
    state.onApplied(({ changes }) => {
      /** @type {Set<string>} */
      const touched = new Set();
      for (const change of changes) this.#take(change, touched);
      if (this.#begun) for (const jobId of touched) this.#judge(jobId);
    });
  }

  begins() {
    this.#begun = true;
    this.others = 0;
  }

  /** @param {import('@waybill/state').Change} change @param {Set<string>} touched */
  #take(change, touched) {
    if (change.table === 'nodes' && change.before?.DrainStrategy && !change.after?.DrainStrategy) this.drained++;
    if (change.table !== 'allocs') return;
    const jobId = (change.after ?? change.before)?.JobID ?? '';
    if (!jobId.startsWith('drained-')) {
      if (!change.before) this.others++;
      return;
    }
    const difference = Number(isHealthy(change.after)) - Number(isHealthy(change.before));
    this.#healthyOf.set(jobId, (this.#healthyOf.get(jobId) ?? 0) + difference);
    this.healthy += difference;
    touched.add(jobId);
  }

  /** @param {string} jobId */
  #judge(jobId) {
    const healthy = this.#healthyOf.get(jobId) ?? 0;
    this.fewestHealthy = Math.min(this.fewestHealthy, healthy);
    if (healthy < COUNT - MAX_PARALLEL) this.violations++;
  }
}

/** @param {import('@waybill/model').Allocation | undefined} alloc */
const isHealthy = (alloc) =>
  alloc !== undefined &&
  !isTerminalAllocation(alloc) &&
  alloc.DesiredTransition.Migrate !== true &&
  alloc.DeploymentStatus?.Healthy === true;

/** Jobs that come and go. Ends with the returned function. @param {ReturnType<typeof publisher>} write */
function load(write) {
  let count = 0;
  let last = Promise.resolve();
  const next = async () => {
    await write('JobRegister', registrationOf(`load-${count}`, LOAD.count));
    const oldest = count++ - LOAD.kept;
    if (oldest >= 0) await write('JobDeregister', deregistrationOf(`load-${oldest}`));
  };
  const timer = setInterval(() => {
    last = Promise.all([last, next()]).then(() => {});
  }, LOAD.everyMs);
  return () => {
    clearInterval(timer);
    return last;
  };
}

/** @param {string} NodeID @returns {import('@waybill/rpc').NodeDrainRequest} */
const drainOf = (NodeID) => ({
  NodeID,
  DrainSpec: { Deadline: 3_600e9, IgnoreSystemJobs: false },
  MarkEligible: false,
  Meta: null,
  UpdatedBy: 'bench',
  For: { Actor: serviceActor('bench'), Reason: '', RequestID: randomUUID() },
});

/** @param {string} ID @param {number} Count */
function registrationOf(ID, Count) {
  const group = fixtures.aGroup();
  const Migrate = {
    MaxParallel: MAX_PARALLEL,
    HealthCheck: 'task_states',
    MinHealthyTime: HEALTHY_AFTER_MS * 1e6,
    HealthyDeadline: 60e9,
  };
  const wanted = /** @type {typeof group} */ ({ ...group, Count, Update: null, Migrate });
  const job = fixtures.aJob({ ID, TaskGroups: [wanted] });
  return fixtures.aRegistration(job, { Eval: fixtures.anEval({ ID: randomUUID(), JobID: ID }) });
}

/** @param {string} JobID */
const deregistrationOf = (JobID) => ({
  JobID,
  Purge: false,
  NoShutdownDelay: false,
  SubmitTime: 0,
  Eval: fixtures.anEval({ ID: randomUUID(), JobID, TriggeredBy: 'job-deregister' }),
  TrackedVersions: 6,
});
