// Many rollouts at once, from registration to `successful`: every service a process of its own, machines with real agents
// and mock tasks in this one.
import { randomUUID } from 'node:crypto';
import { isActiveDeployment } from '@waybill/model';
import { NatsRpc } from '@waybill/rpc';
import { fixtures } from '@waybill/state';
import { inFlight, publisher } from './evaluation-load.mjs';
import { ServiceProcesses, until } from './processes.mjs';
import { fleetOf } from './simulated-machines.mjs';
import { stateOf } from './state-copy.mjs';

export const describe = 'many rollouts at once with mock tasks: how long, and how many evaluations per health change';

const DEPLOYMENTS = 500;
const ALLOCS = 20;
const MACHINES = 250;
const HEALTHY_AFTER_MS = 1_000;
const WORKERS = 4;
/** Longer than that and something stands still. */
const ROLLED_OUT_WITHIN_MS = 300_000;

/** @param {import('./harness.mjs').Bench} ctx */
export async function run(ctx) {
  const processes = await ServiceProcesses.start(ctx);
  const services = ['nodes', 'broker', 'scheduler', 'deployments'];
  const env = { WAYBILL_SCHEDULER_WORKERS: String(WORKERS) };
  for (const service of services) await processes.add(service, service, env);
  const fleet = fleetOf(new NatsRpc(processes.link.nc), { nodes: MACHINES });
  ctx.onEnd(() => fleet.stop());
  const state = await stateOf(ctx, processes.stack.natsUrl);
  const story = new RolloutStory(state);
  fleet.start();
  const ready = () => [...state.tables.nodes.all()].filter((node) => node.Status === 'ready').length;
  await until('all machines are ready', () => ready() === MACHINES);

  const publish = publisher(processes.journal);
  const register = (/** @type {import('@waybill/model').Job} */ job) =>
    publish('JobRegister', fixtures.aRegistration(job, { Eval: fixtures.anEval({ ID: randomUUID(), JobID: job.ID }) }));
  ctx.log(`${DEPLOYMENTS} rollouts of ${ALLOCS} allocations on ${MACHINES} machines`);
  const ms = await ctx.time(async () => {
    await inFlight(
      Array.from({ length: DEPLOYMENTS }, (_, n) => rolloutJob(n)),
      register,
    );
    await until('all rollouts have ended', () => story.ended === DEPLOYMENTS, ROLLED_OUT_WITHIN_MS);
  });
  ctx.metric('successful', story.successful, { unit: 'deployments', goal: { atLeast: DEPLOYMENTS } });
  const { evaluations, healthChanges, transitions } = story;
  ctx.metric('evalsPerHealthChange', evaluations / healthChanges, { unit: '', goal: { below: 1 } });
  ctx.metric('evalsPerTxn', story.watcherEvaluations / transitions, {
    unit: 'evaluations of watchers per transaction',
  });
  ctx.metric('rolloutSeconds', ms / 1_000, { unit: 's' });
  for (const service of services)
    ctx.metric(`${service}CpuSeconds`, processes.cpuSeconds(service), { unit: 's, start included' });
  ctx.note(`${healthChanges} health changes, ${evaluations} evaluations, those of the registrations included`);
  ctx.note(`mock tasks, healthy ${HEALTHY_AFTER_MS} ms after their start; all services and machines share the cores`);
}

/** What the log tells of the rollouts; counted when applied, so that nothing counts that was refused. */
class RolloutStory {
  ended = 0;
  successful = 0;
  evaluations = 0;
  watcherEvaluations = 0;
  healthChanges = 0;
  /** Transactions in which watchers ask for evaluations. */
  transitions = 0;

  /** @param {import('@waybill/replica').Replica} state */
  constructor(state) {
    state.onApplied(({ txn, changes }) => {
      if (txn.type === 'AllocUpdateDesiredTransition') this.transitions++;
      for (const change of changes) this.#take(change);
    });
  }

  /** @param {import('@waybill/state').Change} change */
  #take({ table, before, after }) {
    if (table === 'evals' && !before && after) {
      this.evaluations++;
      if (after.TriggeredBy === 'deployment-watcher') this.watcherEvaluations++;
    } else if (table === 'allocs' && after) {
      const was = before?.DeploymentStatus?.Healthy ?? null;
      const is = after.DeploymentStatus?.Healthy ?? null;
      if (is !== was) this.healthChanges++;
    } else if (table === 'deployment' && before && after) {
      if (!isActiveDeployment(before) || isActiveDeployment(after)) return;
      this.ended++;
      if (after.Status === 'successful') this.successful++;
    }
  }
}

/** @param {number} n */
function rolloutJob(n) {
  const group = fixtures.aGroup({ Count: ALLOCS });
  const Update = { ...group.Update, HealthCheck: 'task_states', MinHealthyTime: HEALTHY_AFTER_MS * 1e6 };
  return fixtures.aJob({ ID: `rollout-${n}`, TaskGroups: [/** @type {typeof group} */ ({ ...group, Update })] });
}
