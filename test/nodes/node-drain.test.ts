import { type Allocation, isTerminalAllocation, type Job, type TaskGroup } from '@waybill/model';
import { DrainCommands, Drainer, NodeEvaluations, nodesWriter } from '@waybill/nodes';
import { silentLogger } from '@waybill/telemetry';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MINUTE, RolloutCluster } from '../support/rollout-cluster.js';

const COMPLETE = 'Node drain complete';
const MIGRATE: NonNullable<TaskGroup['Migrate']> = {
  MaxParallel: 1,
  HealthCheck: 'task_states',
  MinHealthyTime: 1e9,
  HealthyDeadline: 10e9,
};
const COUNT = 4;

/** A cluster whose role `nodes` drains; broker, workers and machines are those of the rollouts. */
class DrainingCluster {
  drainer: Drainer;
  readonly commands: DrainCommands;
  /** Fewest allocations of `web` that ran, were healthy and not on their way out, since the drain began. */
  fewestHealthy = COUNT;
  private epoch = 0;

  private constructor(readonly cluster: RolloutCluster) {
    const { plane, time } = cluster;
    const writer = nodesWriter(plane.state, { clock: time, newId: plane.newId, region: 'global' });
    this.commands = new DrainCommands(plane.state, new NodeEvaluations(plane.state, writer), writer);
    this.drainer = this.newDrainer();
  }

  /** Two machines: `web` and a system job run on the first, the second has room. */
  static async start(): Promise<DrainingCluster> {
    const cluster = await RolloutCluster.start();
    const draining = new DrainingCluster(cluster);
    await draining.lead();
    await cluster.register({ web: { Count: COUNT, Migrate: MIGRATE } });
    await cluster.until('successful');
    await cluster.register({ logs: {} }, { ID: 'logs', Type: 'system' });
    await cluster.addNode();
    await cluster.time.pass(10_000);
    expect(draining.running('web')).toHaveLength(COUNT);
    expect(draining.running('logs')).toHaveLength(2);
    cluster.plane.state.onApplied((applied) => {
      draining.drainer.applied(applied);
      draining.fewestHealthy = Math.min(draining.fewestHealthy, draining.healthy());
    });
    return draining;
  }

  /** Another process takes the role; the one before is killed. */
  async lead(): Promise<void> {
    this.drainer.stop();
    this.drainer = this.newDrainer();
    const epoch = ++this.epoch;
    await this.cluster.plane.write('LeaseAcquired', { Role: 'nodes', Epoch: epoch, Holder: `holder-${epoch}` });
    this.drainer.start({ role: 'nodes', epoch });
  }

  async stop(): Promise<void> {
    this.drainer.stop();
    await this.cluster.stop();
  }

  /** The machine that `web` was placed on. */
  get first(): string {
    const oldest = [...this.cluster.tables.allocs.all()].toSorted((a, b) => a.CreateIndex - b.CreateIndex)[0];
    return oldest!.NodeID;
  }

  /** `deadlineNs` null: cancel. */
  drain(deadlineNs: number | null = 60 * MINUTE * 1e6, MarkEligible = false) {
    const DrainSpec = deadlineNs === null ? null : { Deadline: deadlineNs, IgnoreSystemJobs: false };
    const NodeID = this.first;
    return this.commands.updateDrain({ NodeID, DrainSpec, MarkEligible, Meta: null, UpdatedBy: 'me', For: this.by() });
  }

  makeEligible() {
    return this.commands.updateEligibility({ NodeID: this.first, Eligibility: 'eligible', For: this.by() });
  }

  node() {
    return this.cluster.tables.nodes.get(this.first)!;
  }

  drained(withinMs = 2 * MINUTE) {
    return this.cluster.passUntil('the drain has ended', () => this.node().DrainStrategy === null, withinMs);
  }

  running(JobID: Job['ID'], NodeID?: string): Allocation[] {
    return [...this.cluster.tables.allocs.all()].filter(
      (a) => a.JobID === JobID && !isTerminalAllocation(a) && (NodeID === undefined || a.NodeID === NodeID),
    );
  }

  private healthy(): number {
    const counts = (a: Allocation) =>
      a.ClientStatus === 'running' && a.DeploymentStatus?.Healthy === true && a.DesiredTransition.Migrate !== true;
    return this.running('web').filter(counts).length;
  }

  private by() {
    return {
      Actor: { Kind: 'anonymous', ID: '', Name: '' },
      Reason: '',
      RequestID: this.cluster.plane.newId(),
    } as const;
  }

  private newDrainer(): Drainer {
    const { plane, time } = this.cluster;
    const { state, newId } = plane;
    return new Drainer({ state, clock: time, timers: time, newId, region: 'global', logger: silentLogger });
  }
}

let draining: DrainingCluster;
beforeEach(async () => {
  draining = await DrainingCluster.start();
});
afterEach(() => draining.stop());

describe('draining a node, with scheduler and machines', () => {
  it('DR-41 DR-52 DR-86: work moves one by one as replacements become healthy, the system job goes last, then the drain is complete', async () => {
    const { cluster, first } = draining;
    const stopped: string[] = [];
    cluster.plane.state.onApplied(({ changes }) => {
      for (const change of changes)
        if (change.table === 'allocs' && change.after?.NodeID === first && change.after.DesiredStatus === 'stop')
          if (change.before?.DesiredStatus === 'run') stopped.push(change.after.JobID);
    });
    await draining.drain();
    await draining.drained();
    await cluster.passUntil('all have ended', () =>
      [...cluster.tables.allocs.by('node', first)].every((a) => a.ClientStatus === 'complete'),
    );
    expect(draining.fewestHealthy).toBe(COUNT - 1);
    expect(draining.running('web')).toHaveLength(COUNT);
    expect(stopped).toEqual([...Array.from({ length: COUNT }, () => 'web'), 'logs']);
    expect(draining.node()).toMatchObject({ SchedulingEligibility: 'ineligible', LastDrain: { Status: 'complete' } });
    expect(draining.node().Events.at(-1)).toMatchObject({ Message: COMPLETE, Details: null });
  });

  it('DR-20: the holder is killed in the middle, again and again; the drain goes on, one by one', async () => {
    await draining.drain();
    for (let i = 0; i < 12; i++) {
      await draining.cluster.time.pass(700);
      await draining.lead();
    }
    await draining.drained();
    expect(draining.fewestHealthy).toBe(COUNT - 1);
    expect(draining.running('web')).toHaveLength(COUNT);
    expect(draining.running('web', draining.first)).toHaveLength(0);
    expect(draining.node().LastDrain?.Status).toBe('complete');
  });

  it('DR-41 DR-60 DR-97: replacements that never become healthy hold the drain up, until the deadline moves the rest', async () => {
    const { cluster, first } = draining;
    cluster.health = (alloc) => (alloc.NodeID === first ? true : undefined);
    await draining.drain(10 * MINUTE * 1e6);
    await cluster.time.pass(9 * MINUTE);
    expect(draining.running('web', first)).toHaveLength(COUNT - 1);
    await draining.drained();
    expect(draining.node().Events.at(-1)).toMatchObject({ Message: COMPLETE, Details: { deadline_reached: 'true' } });
    await cluster.time.pass(10_000);
    expect(draining.running('web', first)).toHaveLength(0);
    expect(draining.running('web')).toHaveLength(COUNT);
  });

  it('DR-61: forced, everything moves at once', async () => {
    await draining.drain(-1);
    await draining.cluster.time.pass(5_000);
    expect(draining.node().LastDrain?.Status).toBe('complete');
    expect(draining.running('web', draining.first)).toHaveLength(0);
    expect(draining.running('web')).toHaveLength(COUNT);
    expect(draining.fewestHealthy).toBe(0);
  });

  it('DR-23 DR-9: canceled, what has not been marked stays, and the node takes work again', async () => {
    const { cluster, first } = draining;
    await draining.drain();
    await cluster.time.pass(1_500);
    await draining.drain(null, true);
    await cluster.time.pass(MINUTE);
    const moved = [...cluster.tables.allocs.all()].filter((a) => a.DesiredTransition.Migrate === true);
    expect(moved).toHaveLength(1);
    expect(draining.running('web')).toHaveLength(COUNT);
    expect(draining.running('logs', first)).toHaveLength(1);
    expect(draining.node()).toMatchObject({ SchedulingEligibility: 'eligible', LastDrain: { Status: 'canceled' } });
  });

  it('DR-81 ND-217: made eligible again, the node gets the system job that the drain had stopped there', async () => {
    const { cluster, first } = draining;
    await draining.drain();
    await draining.drained();
    await cluster.passUntil('the system job has stopped', () => draining.running('logs', first).length === 0);
    await cluster.time.pass(MINUTE);
    expect(draining.running('logs', first)).toHaveLength(0);
    expect((await draining.makeEligible()).EvalIDs).not.toEqual([]);
    await cluster.passUntil('it runs there again', () => draining.running('logs', first).length === 1);
  });

  it('DR-82: a node that goes down in the middle: its work is replaced at once and the drain completes', async () => {
    const { cluster, first } = draining;
    await draining.drain();
    await cluster.time.pass(1_500);
    await cluster.nodeIs(first, 'down');
    await draining.drained();
    expect(draining.node()).toMatchObject({ Status: 'down', LastDrain: { Status: 'complete' } });
    expect(draining.running('web')).toHaveLength(COUNT);
  });
});
