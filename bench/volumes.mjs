// What releasing many volumes costs: a worker each, none left afterwards, and whether calls that hang slow the others.
import { randomUUID } from 'node:crypto';
import { termOf } from '@waybill/roles';
import { CLAIM_MODE, CLAIM_STATE } from '@waybill/model';
import { LocalState } from '@waybill/replica';
import { draftTxn, fixtures, serviceActor } from '@waybill/state';
import { silentLogger, tracerFor } from '@waybill/telemetry';
import { QUIESCENT_MS, VolumesHolder } from '@waybill/volumes';
import { median } from './harness.mjs';

export const describe = 'releases of 1,000 volumes, and of 900 while 100 calls to plugins hang';

const VOLUMES = 1_000;
const HANGING = 100;
/** Measurements of each kind, one after the other in turn. */
const ROUNDS = 3;

/** @param {import('./harness.mjs').Bench} ctx */
export async function run(ctx) {
  await ctx.measure('releaseMs', { unit: 'ms' }, async () => {
    const cluster = await Cluster.of(VOLUMES, 0);
    const ms = await cluster.released(VOLUMES, VOLUMES);
    await cluster.check();
    return ms;
  });
  await ctx.measure('slowdownRatio', { unit: '×', goal: { below: 1.2 } }, async () => {
    const [alone, beside] = [[], []];
    for (let n = 0; n < ROUNDS; n++) {
      alone.push(await (await Cluster.of(VOLUMES, HANGING)).released(VOLUMES - HANGING, VOLUMES - HANGING));
      beside.push(await (await Cluster.of(VOLUMES, HANGING)).released(VOLUMES, VOLUMES - HANGING));
    }
    return median(beside) / median(alone);
  });
  ctx.note(
    'a release: a call to the machine, one to the controller, three transactions, in one process without a network',
  );
  ctx.note(
    `releaseMs also holds that ${VOLUMES} changes start ${VOLUMES} workers, and that none is left after the quiet time`,
  );
}

/** A clock that stands until told to go on; what is due runs when told to. */
class StandingTime {
  now = fixtures.timeNs / 1e6;
  /** @type {Map<() => void, number>} */
  timers = new Map();
  nowMs() {
    return this.now;
  }
  after(delayMs, work) {
    const timer = () => work();
    this.timers.set(timer, this.now + delayMs);
    return () => this.timers.delete(timer);
  }
  pass(ms) {
    this.now += ms;
    const due = Array.from(this.timers).filter(([, at]) => at <= this.now);
    for (const [timer] of due) if (this.timers.delete(timer)) timer();
  }
}

/** Volumes that ended allocations hold; those of machine `silent` cannot be unmounted, because it never answers. */
class Cluster {
  time = new StandingTime();
  state = new LocalState();
  freed = 0;
  onFreed = () => undefined;
  holder = new VolumesHolder({
    state: this.state,
    rpc: { ask: (_call, _request, { target } = {}) => this.answer(target) },
    clock: this.time,
    timers: this.time,
    newId: randomUUID,
    logger: silentLogger,
    tracer: () => tracerFor('bench'),
    region: 'global',
  });

  /** @param {number} volumes @param {number} hanging how many of them, the last */
  static async of(volumes, hanging) {
    const cluster = new Cluster();
    await cluster.write('Initialise', {});
    const CSINodePlugins = { disks: fixtures.aNodePlugin() };
    const CSIControllerPlugins = { disks: fixtures.aControllerPlugin() };
    for (const ID of ['machine', 'silent']) {
      const Node = fixtures.aNode({
        ID,
        Status: 'ready',
        CSINodePlugins,
        ...(ID === 'machine' && { CSIControllerPlugins }),
      });
      await cluster.write('NodeRegister', { Node, CreateNodePool: false });
    }
    const job = fixtures.aJob({ ID: 'db' });
    await cluster.write('JobRegister', fixtures.aRegistration(job, { Eval: fixtures.anEval({ ID: 'placing' }) }));
    for (let n = 0; n < volumes; n++) await cluster.claimed(n, n < volumes - hanging ? 'machine' : 'silent');
    cluster.state.onApplied((applied) => cluster.applied(applied));
    await cluster.write('LeaseAcquired', { Role: 'volumes', Epoch: 1, Holder: 'bench' });
    cluster.holder.start(termOf('volumes', 1));
    return cluster;
  }

  write(type, payload) {
    const context = { timeNs: this.time.nowMs() * 1e6, requestId: randomUUID(), actor: serviceActor('bench') };
    return this.state.propose(draftTxn(type, payload, { ...context, namespace: 'default' }));
  }

  async claimed(n, NodeID) {
    const [VolumeID, AllocationID] = [`volume-${n}`, `alloc-${n}`];
    await this.write('CSIVolumeRegister', {
      Volumes: [fixtures.aVolumeRegistration({ ID: VolumeID, ExternalID: VolumeID, ControllerRequired: true })],
    });
    const Job = this.state.tables.jobs.get('default/db');
    const AllocsUpdated = [fixtures.anAlloc({ ID: AllocationID, NodeID, Job })];
    await this.write('ApplyPlanResults', fixtures.aPlanResult({ Job, EvalID: 'placing', AllocsUpdated }));
    await this.write('CSIVolumeClaim', { VolumeID, Claim: fixtures.aCSIClaim({ AllocationID, NodeID }) });
  }

  /** The allocations of the first `ended` volumes are over, and each volume changes once. Ms until `awaited` are free. */
  async released(ended, awaited) {
    const ids = Array.from({ length: ended }, (_, n) => n);
    const all = new Promise((resolve) => (this.onFreed = () => this.freed === awaited && resolve(undefined)));
    const Allocs = ids.map((n) => {
      const alloc = this.state.tables.allocs.get(`alloc-${n}`);
      return fixtures.aClientUpdate(alloc, { ClientStatus: 'complete' });
    });
    await this.write('AllocClientUpdate', { Allocs, Evals: [] });
    const began = performance.now();
    const sign = { AllocationID: '', NodeID: '', ExternalNodeID: '', AccessMode: '', AttachmentMode: '' };
    const Claim = { ...sign, Mode: CLAIM_MODE.gc, State: CLAIM_STATE.unpublishing };
    await this.write('CSIVolumeClaimBatch', {
      Claims: ids.map((n) => ({ Namespace: 'default', VolumeID: `volume-${n}`, Claim })),
    });
    this.time.pass(0);
    await all;
    return performance.now() - began;
  }

  /** Every change its own worker, and none is left. @throws if not */
  async check() {
    const { started } = this.holder.stats();
    if (started !== VOLUMES) throw new Error(`${started} workers for ${VOLUMES} volumes`);
    for (const ms of [0, 1_000, 1_000, 1_000, QUIESCENT_MS]) {
      await new Promise((resolve) => setImmediate(resolve)); // passes under way come to their end
      this.time.pass(ms);
    }
    const { workers } = this.holder.stats();
    if (workers !== 0) throw new Error(`${workers} workers are left`);
  }

  applied(applied) {
    this.holder.applied(applied);
    for (const { table, before, after } of applied.changes)
      if (table === 'csi_volumes' && isClaimed(before) && !isClaimed(after)) this.freed++;
    this.onFreed();
  }

  answer(target) {
    if (target === 'silent') return new Promise(() => undefined);
    return new Promise((resolve) => setImmediate(resolve, {}));
  }
}

const isClaimed = (volume) => volume !== undefined && Object.keys(volume.WriteClaims).length > 0;
