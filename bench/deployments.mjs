// What watching many deployments costs: one health report with 1,000 and with 10,000 of them, a watcher's memory, taking
// the role over.
import { randomUUID } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { DeploymentWatchers } from '@waybill/deployments';
import { termOf } from '@waybill/roles';
import { LocalState } from '@waybill/replica';
import { draftTxn, fixtures, serviceActor } from '@waybill/state';
import { silentLogger } from '@waybill/telemetry';
import { median } from './harness.mjs';

export const describe = 'cost of a health report, memory per watcher and take-over with up to 10,000 deployments';

const FEW = 1_000;
const MANY = 10_000;
const ALLOCS = 4;
/** Health reports per measurement. */
const REPORTS = 2_000;
const UNLIMITED_READS = 1e9;

setFlagsFromString('--expose-gc');
/** @type {() => void} */
const collect = runInNewContext('gc');

/** @param {import('./harness.mjs').Bench} ctx */
export async function run(ctx) {
  const few = await Cluster.of(FEW);
  const many = await Cluster.of(MANY);
  ctx.log(`${FEW} and ${MANY} deployments of ${ALLOCS} allocations`);
  await ctx.measure('takeoverMs', { unit: 'ms', goal: { below: 3_000 } }, () => {
    many.watchers.stop();
    return many.lead();
  });
  many.watchers.stop();
  const without = heapBytes();
  many.lead();
  ctx.metric('bytesPerWatcher', (heapBytes() - without) / MANY, { unit: 'B', goal: { below: 5_000 } });
  few.lead();
  await ctx.measure('costRatio', { unit: '×', goal: { below: 1.2 } }, async () => {
    const [a, b] = [await few.costs(), await many.costs()];
    return median(b) / median(a);
  });
  ctx.metric('microsPerReport', median(await many.costs()) * 1_000, { unit: 'µs' });
  ctx.note('a report: what the watchers do with the applied transaction, and the look at the allocations that follows');
  ctx.note(
    'take-over: until every deployment has its watcher and its timer; first looks follow at 100 per second (DP-612)',
  );
}

function heapBytes() {
  collect();
  return process.memoryUsage().heapUsed;
}

/** A clock that stands: what is due at once runs when told to, later timers only exist. All in constant time. */
class StandingTime {
  now = fixtures.timeNs / 1e6;
  /** @type {Set<() => void>} */
  due = new Set();
  later = new Set();
  nowMs() {
    return this.now;
  }
  after(delayMs, work) {
    const timers = delayMs > 0 ? this.later : this.due;
    const timer = () => work();
    timers.add(timer);
    return () => timers.delete(timer);
  }
  runDue() {
    for (const timer of this.due) {
      this.due.delete(timer);
      timer();
    }
  }
}

class Cluster {
  time = new StandingTime();
  state = new LocalState();
  epoch = 0;
  /** @type {import('@waybill/model').Allocation[]} */
  allocs = [];
  next = 0;
  watchers = new DeploymentWatchers({
    state: this.state,
    clock: this.time,
    timers: this.time,
    newId: randomUUID,
    logger: silentLogger,
    region: 'global',
    readsPerSecond: UNLIMITED_READS,
  });

  /** @param {number} deployments */
  static async of(deployments) {
    const cluster = new Cluster();
    await cluster.write('Initialise', {});
    for (let n = 0; n < deployments; n++) await cluster.deploy(n);
    return cluster;
  }

  write(type, payload) {
    const context = { timeNs: this.time.nowMs() * 1e6, requestId: randomUUID(), actor: serviceActor('bench') };
    return this.state.propose(draftTxn(type, payload, { ...context, namespace: 'default' }));
  }

  async deploy(n) {
    const ID = `job-${n}`;
    const Eval = fixtures.anEval({ ID: randomUUID(), JobID: ID });
    await this.write('JobRegister', fixtures.aRegistration(fixtures.aJob({ ID }), { Eval }));
    const job = this.state.tables.jobs.get(`default/${ID}`);
    const Deployment = fixtures.aDeployment({
      ID: randomUUID(),
      JobID: ID,
      JobCreateIndex: job.CreateIndex,
      TaskGroups: { web: fixtures.aDeploymentState({ DesiredTotal: ALLOCS + 1 }) },
    });
    const AllocsUpdated = Array.from({ length: ALLOCS }, () =>
      fixtures.anAlloc({ ID: randomUUID(), Job: job, DeploymentID: Deployment.ID }),
    );
    const plan = { Job: job, Deployment, AllocsUpdated, EvalID: Eval.ID };
    await this.write('ApplyPlanResults', fixtures.aPlanResult(plan));
    await this.write('EvalUpdate', {
      Evals: [{ ...Eval, Status: 'complete', SnapshotIndex: this.state.appliedIndex }],
    });
    this.allocs.push(...AllocsUpdated);
  }

  /** @returns {number} ms until all watchers stand */
  lead() {
    const epoch = ++this.epoch;
    const started = performance.now();
    this.watchers.start(termOf('deployments', epoch));
    return performance.now() - started;
  }

  /** Cost of each of REPORTS health reports of as many deployments, ms. */
  async costs() {
    const costs = [];
    this.time.runDue(); // the first looks
    for (let i = 0; i < REPORTS; i++) {
      const alloc = this.allocs[(this.next = (this.next + 7) % this.allocs.length)];
      const DeploymentStatus = { Healthy: true, Timestamp: new Date(this.time.nowMs()).toISOString() };
      const Allocs = [fixtures.aClientUpdate(alloc, { ClientStatus: 'running', DeploymentStatus })];
      await this.write('AllocClientUpdate', { Allocs, Evals: [] });
      const applied = this.state.history.at(-1);
      const started = performance.now();
      this.watchers.applied(applied);
      this.time.runDue();
      costs.push(performance.now() - started);
    }
    this.state.history.length = 0;
    return costs;
  }
}
