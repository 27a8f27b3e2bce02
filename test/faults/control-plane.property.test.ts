import { allocsFit, isTerminalAllocation, isTerminalEvaluation, type Evaluation, SimulatedTime } from '@waybill/model';
import { type Applied, fixtures, namespacedKey } from '@waybill/state';
import { afterEach, describe, expect, it } from 'vitest';
import { LocalControlPlane } from '../support/local-control-plane.js';

const STEPS = 150;
const JOBS = ['a', 'b', 'c', 'd'];
const SYSTEM_JOBS = ['sys'];
const MAX_NODES = 6;
const WORKERS = 3;

/** Deterministic from its seed. */
function randomOf(seed: number): (n: number) => number {
  let state = seed;
  return (n) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % n;
  };
}

const settled = async (turns = 12): Promise<void> => {
  for (let i = 0; i < turns; i++) await new Promise((resolve) => setImmediate(resolve));
};

/** Broker, workers and state under simulated time, with what happens to a cluster and what must stay true whatever does. */
class Cluster {
  readonly time = new SimulatedTime();
  readonly plane: LocalControlPlane;
  readonly problems: string[] = [];
  private readonly nodes: string[] = [];
  private lostAnswers = 0;

  constructor(private readonly pick: (n: number) => number) {
    this.plane = new LocalControlPlane(this.time, this.time, { pipelineDepth: 4 });
  }

  async start(): Promise<void> {
    await this.plane.start(WORKERS);
    this.plane.state.onApplied((applied) => this.checkApplied(applied));
    this.breakWritesSometimes();
  }

  get tables() {
    return this.plane.state.tables;
  }

  /** Of the broker's own writes some fail, before or after they are in the log. */
  private breakWritesSometimes(): void {
    const { state } = this.plane;
    const propose = state.propose.bind(state);
    state.propose = async (draft) => {
      if (!draft.fence || this.lostAnswers <= 0) return propose(draft);
      this.lostAnswers--;
      if (this.pick(2) === 0) await propose(draft);
      throw new Error('the answer was lost');
    };
  }

  async step(): Promise<void> {
    const { pick } = this;
    switch (pick(12)) {
      case 0:
      case 1:
        return this.register(JOBS[pick(JOBS.length)] ?? 'a', 1 + pick(6));
      case 2:
        return this.stop(JOBS[pick(JOBS.length)] ?? 'a');
      case 3:
        return this.addNode();
      case 4:
        return this.changeNode(pick(2) === 0 ? 'down' : 'ready');
      case 5:
      case 6:
        return this.report(pick(3) === 0 ? 'failed' : 'running');
      case 7:
        return this.pause(pick(3) === 0);
      case 8:
        return this.changeTerm();
      case 9:
        this.lostAnswers = pick(3);
        return;
      default:
        this.time.advance(pick(30_000));
    }
  }

  /** An applier that is finding out what became of a write gives up at its next try. */
  private async changeTerm(): Promise<void> {
    const stopping = this.plane.broker.stop();
    await settled();
    this.time.advance(1_000);
    await stopping;
    await this.plane.takeOver();
  }

  private async register(ID: string, Count: number): Promise<void> {
    const job = fixtures.aJob({ ID, TaskGroups: [fixtures.aGroup({ Count })] });
    await this.plane.write('JobRegister', fixtures.aRegistration(job, { Eval: fixtures.anEval({ JobID: ID }) }));
  }

  async registerSystem(ID: string): Promise<void> {
    const job = fixtures.aJob({ ID, Type: 'system' });
    const Eval = fixtures.anEval({ JobID: ID, Type: 'system' });
    await this.plane.write('JobRegister', fixtures.aRegistration(job, { Eval }));
  }

  private async stop(JobID: string): Promise<void> {
    if (!this.tables.jobs.has(namespacedKey('default', JobID))) return;
    await this.plane.write('JobDeregister', {
      JobID,
      Purge: false,
      NoShutdownDelay: false,
      SubmitTime: 0,
      Eval: fixtures.anEval({ JobID, TriggeredBy: 'job-deregister' }),
      TrackedVersions: 6,
    });
  }

  async addNode(): Promise<void> {
    if (this.nodes.length >= MAX_NODES) return;
    const Node = fixtures.aNode();
    this.nodes.push(Node.ID);
    await this.plane.write('NodeRegister', { Node, CreateNodePool: false });
    await this.evaluateJobs(Node.ID);
  }

  private async changeNode(Status: 'down' | 'ready'): Promise<void> {
    const NodeID = this.nodes[this.pick(Math.max(1, this.nodes.length))];
    if (NodeID === undefined || this.tables.nodes.get(NodeID)?.Status === Status) return;
    const UpdatedAt = Math.floor(this.time.nowMs() / 1000);
    await this.plane.write('NodeUpdateStatus', {
      NodeID,
      Status,
      UpdatedAt,
      NodeEvent: null,
      IdentitySigningKeyID: '',
    });
    await this.evaluateJobs(NodeID);
  }

  private async evaluateJobs(NodeID: string): Promise<void> {
    const jobs = new Set([...this.tables.allocs.by('node', NodeID)].map((a) => a.JobID));
    const evaluate = (JobID: string, Type: string): Evaluation =>
      fixtures.anEval({ JobID, Type, TriggeredBy: 'node-update', NodeID });
    const Evals = [
      ...[...jobs].filter((id) => JOBS.includes(id)).map((id) => evaluate(id, 'service')),
      ...SYSTEM_JOBS.map((id) => evaluate(id, 'system')),
    ];
    await this.plane.write('EvalUpdate', { Evals });
  }

  private async report(ClientStatus: 'running' | 'failed'): Promise<void> {
    const live = [...this.tables.allocs.all()].filter((a) => !isTerminalAllocation(a));
    const alloc = live[this.pick(Math.max(1, live.length))];
    if (!alloc) return;
    const { ID, NodeID, JobID } = alloc;
    const Evals =
      ClientStatus === 'failed' && JOBS.includes(JobID)
        ? [fixtures.anEval({ JobID, TriggeredBy: 'alloc-failure' })]
        : [];
    await this.plane.write('AllocClientUpdate', {
      Allocs: [fixtures.aClientUpdate({ ID, NodeID }, { ClientStatus })],
      Evals,
    });
  }

  async pause(PauseEvalBroker: boolean): Promise<void> {
    const Config = { ...fixtures.aSchedulerConfiguration(), PauseEvalBroker };
    await this.plane.write('SchedulerConfig', { Config, CAS: false, ModifyIndex: 0 });
  }

  /** Nothing breaks any more: everything that is open comes to its end. */
  async calmDown(): Promise<void> {
    this.lostAnswers = 0;
    await this.pause(false);
    for (let round = 0; round < 400 && this.pending() > 0; round++) {
      this.time.advance(5_000);
      await settled();
    }
    this.time.advance(10_000);
    await settled();
  }

  pending(): number {
    return this.tables.evals.count('status', 'pending');
  }

  /** What one transaction may do to a row (EB-330, EB-332). */
  private checkApplied({ changes, index }: Applied): void {
    for (const { table, key, before, after } of changes) {
      if (!before || !after || (table !== 'evals' && table !== 'allocs' && table !== 'jobs')) continue;
      if (after.ModifyIndex < before.ModifyIndex) this.problems.push(`${index}: ${table} ${key} goes back`);
      if (after.CreateIndex !== before.CreateIndex) this.problems.push(`${index}: ${table} ${key} is created again`);
      if (table === 'jobs' && after.Version < before.Version) this.problems.push(`${index}: job ${key} goes back`);
      if (table === 'evals' && isTerminalEvaluation(before) && after.Status !== before.Status)
        this.problems.push(`${index}: ${key} was ${before.Status} and becomes ${after.Status}`);
    }
  }

  check(): void {
    expect(this.problems).toEqual([]);
    // EB-328
    for (const node of this.tables.nodes.all()) {
      const live = [...this.tables.allocs.by('node', node.ID)].filter((a) => !isTerminalAllocation(a));
      expect(allocsFit(node, live)).toMatchObject({ fits: true });
    }
    // EB-329: two live allocations of one name and version would be two plans that did not see each other
    for (const id of JOBS) {
      const names = [...this.tables.allocs.by('live', namespacedKey('default', id))].map((a) => a.Name);
      expect(new Set(names).size).toBe(names.length);
    }
    // EB-325: nothing open is nowhere
    const open = this.tables.evals.count('status', 'pending') + this.tables.evals.count('status', 'blocked');
    const { totalReady, totalPending, totalUnacked, totalWaiting, totalCancelable } = this.plane.broker.evals.stats();
    const { blocked, evals } = this.plane.broker;
    const held = totalReady + totalPending + totalUnacked + totalWaiting + totalCancelable;
    if (evals.isEnabled)
      expect(held + blocked.stats().totalBlocked + blocked.duplicateCount).toBeGreaterThanOrEqual(open);
    else expect(held + blocked.stats().totalBlocked).toBe(0);
  }
}

let running: Cluster | undefined;
afterEach(async () => {
  const stopping = running?.plane.stop();
  running?.time.advance(10_000);
  await stopping;
});

describe('anything that happens to a cluster', () => {
  for (const seed of [1, 2, 3, 5, 8, 13])
    it(`EB-325, EB-326, EB-328, EB-329, EB-330, EB-331, EB-332: what must be true is, and everything ends (seed ${seed})`, async () => {
      const cluster = (running = new Cluster(randomOf(seed * 7_919)));
      await cluster.start();
      await cluster.addNode();
      for (const id of SYSTEM_JOBS) await cluster.registerSystem(id);
      for (let step = 0; step < STEPS; step++) {
        await cluster.step();
        await settled();
        cluster.check();
      }
      await cluster.calmDown();
      cluster.check();
      expect(cluster.pending()).toBe(0);
      // EB-331
      for (const id of JOBS) {
        const blocked = [...cluster.tables.evals.by('open', namespacedKey('default', id))];
        expect(blocked.filter((e) => e.Status === 'blocked').length).toBeLessThanOrEqual(1);
      }
    });
});
