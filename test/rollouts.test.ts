import { DeploymentWatchers, OperatorCommands } from '@waybill/deployments';
import {
  FakeTime,
  nsFromMs,
  rfc3339FromMs,
  type Allocation,
  type Deployment,
  type Job,
  type TaskGroup,
} from '@waybill/model';
import { fixtures } from '@waybill/state';
import { silentLogger } from '@waybill/telemetry';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LocalControlPlane } from './support/local-control-plane.js';

const { aGroup, aJob, aNode, anEval, aRegistration, aTask } = fixtures;

/** How long a machine takes from the plan to the report that an allocation is healthy. */
const HEALTHY_AFTER_MS = 2_000;
const MINUTE = 60_000;

const UPDATE: NonNullable<TaskGroup['Update']> = {
  Stagger: 30e9,
  MaxParallel: 1,
  HealthCheck: 'task_states',
  MinHealthyTime: 1e9,
  HealthyDeadline: 10e9,
  ProgressDeadline: 600e9,
  AutoRevert: false,
  AutoPromote: false,
  Canary: 0,
};

/** Broker, workers, watchers and machines on one clock. */
class Cluster {
  readonly time = new FakeTime();
  readonly plane = new LocalControlPlane(this.time, this.time);
  /** Whether an allocation becomes healthy; undefined: nothing is ever said about it. */
  health: (alloc: Allocation) => boolean | undefined = () => true;
  private watchers = this.newWatchers();
  commands = new OperatorCommands(() => this.watchers.watching);
  private epoch = 0;
  private readonly seen = new Set<string>();

  get tables() {
    return this.plane.state.tables;
  }

  async start(): Promise<void> {
    await this.plane.start(2);
    this.plane.state.onApplied((applied) => {
      this.watchers.applied(applied);
      for (const change of applied.changes)
        if (change.table === 'allocs' && change.after) this.machineSees(change.after);
    });
    await this.plane.write('NodeRegister', { Node: aNode(), CreateNodePool: false });
    await this.lead();
  }

  async stop(): Promise<void> {
    this.watchers.stop();
    const stopped = this.plane.stop();
    await this.time.pass(10_000);
    await stopped;
  }

  /** Another process takes the role; the one before is gone without a word. */
  async lead(): Promise<void> {
    this.watchers.stop();
    this.watchers = this.newWatchers();
    const epoch = ++this.epoch;
    await this.plane.write('LeaseAcquired', { Role: 'deployments', Epoch: epoch, Holder: `holder-${epoch}` });
    const fence = { role: 'deployments', epoch } as const;
    this.watchers.start({ role: 'deployments', epoch, fence, isCurrent: () => true, barrierMs: 0 });
  }

  async register(groups: Record<string, Partial<TaskGroup>>, over: Partial<Job> = {}): Promise<Job> {
    const TaskGroups = Object.entries(groups).map(([Name, group]) =>
      aGroup({ Name, Count: 3, Update: UPDATE, ...group }),
    );
    const job = aJob({ TaskGroups, ...over });
    await this.plane.write('JobRegister', aRegistration(job, { Eval: anEval({ ID: this.plane.newId() }) }));
    return this.tables.jobs.get('default/web')!;
  }

  /** Lets time pass until the deployment of the job's newest version is in this status. */
  async until(Status: Deployment['Status'], withinMs = 2 * MINUTE): Promise<Deployment> {
    for (let ms = 0; ms <= withinMs; ms += 250) {
      const deployment = this.deployment();
      const version = this.tables.jobs.get('default/web')?.Version;
      if (deployment?.Status === Status && deployment.JobVersion === version) return deployment;
      await this.time.pass(250);
    }
    const seen = this.deployments().map((d) => `${d.JobVersion} ${d.Status}: ${d.StatusDescription}`);
    throw new Error(`not ${Status} within ${withinMs} ms: ${seen.join(', ')}`);
  }

  deployments(): Deployment[] {
    return [...this.tables.deployment.all()].toSorted((a, b) => b.CreateIndex - a.CreateIndex);
  }

  deployment(): Deployment | undefined {
    return this.deployments()[0];
  }

  live(version?: number): Allocation[] {
    return [...this.tables.allocs.all()].filter(
      (a) => a.DesiredStatus === 'run' && (version === undefined || a.Job?.Version === version),
    );
  }

  evaluations(trigger: string): number {
    return [...this.tables.evals.all()].filter((e) => e.TriggeredBy === trigger).length;
  }

  private newWatchers(): DeploymentWatchers {
    return new DeploymentWatchers({
      state: this.plane.state,
      clock: this.time,
      timers: this.time,
      newId: this.plane.newId,
      logger: silentLogger,
      region: 'global',
    });
  }

  /** What a machine does about an allocation: once for each deployment it is part of, and when it is to stop. */
  private machineSees(alloc: Allocation): void {
    const stops = alloc.DesiredStatus !== 'run';
    const key = `${alloc.ID} ${alloc.DeploymentID} ${stops}`;
    if (this.seen.has(key) || alloc.ClientStatus === 'complete' || alloc.ClientStatus === 'failed') return;
    this.seen.add(key);
    this.time.after(stops ? 100 : HEALTHY_AFTER_MS, () => {
      const Healthy = stops ? undefined : this.health(alloc);
      const ClientStatus = stops
        ? ('complete' as const)
        : Healthy === false
          ? ('failed' as const)
          : ('running' as const);
      const Timestamp = rfc3339FromMs(this.time.nowMs());
      void this.plane.write('AllocClientUpdate', {
        Allocs: [
          fixtures.aClientUpdate(alloc, {
            ClientStatus,
            ModifyTime: nsFromMs(this.time.nowMs()),
            DeploymentStatus: Healthy === undefined ? null : { Healthy, Timestamp },
          }),
        ],
        Evals: [],
      });
    });
  }
}

let cluster: Cluster;
beforeEach(async () => {
  cluster = new Cluster();
  await cluster.start();
});
afterEach(() => cluster.stop());

const command = (text: string) => [aTask({ Env: { VERSION: text } })];

/** Version 0 of `web`, rolled out. */
async function firstVersion(group: Partial<TaskGroup> = {}): Promise<void> {
  await cluster.register({ web: { Tasks: command('0'), ...group } });
  await cluster.until('successful');
}

describe('rollouts, with scheduler, watcher and machines', () => {
  it('DP-S01: three rounds of one, then successful, and the version is stable', async () => {
    await firstVersion();
    expect(cluster.tables.job_version.get('default/web@0')!.Stable).toBe(true);
    const before = cluster.evaluations('deployment-watcher');
    await cluster.register({ web: { Tasks: command('1') } });
    const ended = await cluster.until('successful');
    expect(ended).toMatchObject({ JobVersion: 1, TaskGroups: { web: { PlacedAllocs: 3, HealthyAllocs: 3 } } });
    expect(cluster.live(1)).toHaveLength(3);
    expect(cluster.live()).toHaveLength(3);
    expect(cluster.tables.job_version.get('default/web@1')!.Stable).toBe(true);
    expect(cluster.evaluations('deployment-watcher') - before).toBe(3);
  });

  it('DP-S02 DP-S04: the holder goes in the middle, again and again; no round is skipped or doubled', async () => {
    await firstVersion();
    await cluster.register({ web: { Tasks: command('1') } });
    for (let i = 0; i < 12; i++) {
      await cluster.time.pass(700);
      await cluster.lead();
    }
    const ended = await cluster.until('successful');
    expect(ended.TaskGroups['web']).toMatchObject({ PlacedAllocs: 3, HealthyAllocs: 3 });
    expect(cluster.live(1)).toHaveLength(3);
  });

  it('section 5, DP-S05: a canary waits for its promotion beyond the deadline, then the rest is rolled out', async () => {
    await firstVersion();
    await cluster.register({ web: { Tasks: command('1'), Update: { ...UPDATE, Canary: 1 } } });
    await cluster.time.pass(30 * MINUTE);
    const waiting = cluster.deployment()!;
    expect(waiting).toMatchObject({
      Status: 'running',
      StatusDescription: 'Deployment is running but requires manual promotion',
      TaskGroups: { web: { DesiredTotal: 3, DesiredCanaries: 1, PlacedAllocs: 1, HealthyAllocs: 1 } },
    });
    expect(cluster.live(1)).toHaveLength(1);
    expect(cluster.live(0)).toHaveLength(3);
    await cluster.commands.promote(waiting.ID, { all: true, groups: [], promotedAtNs: 0 }, {});
    const ended = await cluster.until('successful');
    expect(ended.TaskGroups['web']).toMatchObject({ Promoted: true, PlacedAllocs: 3, HealthyAllocs: 3 });
    expect(cluster.live(1)).toHaveLength(3);
    expect(cluster.live(0)).toHaveLength(0);
  });

  it('DP-858: with auto_promote nobody has to be there', async () => {
    await firstVersion();
    await cluster.register({ web: { Tasks: command('1'), Update: { ...UPDATE, Canary: 2, AutoPromote: true } } });
    expect((await cluster.until('successful')).JobVersion).toBe(1);
    expect(cluster.live(1)).toHaveLength(3);
  });

  it('DP-S06: a canary that never becomes healthy: failed at the deadline, stopped, and the old version rolled out anew', async () => {
    await firstVersion();
    cluster.health = (alloc) => (alloc.Job?.Version === 1 ? undefined : true);
    const Update = { ...UPDATE, Canary: 1, AutoRevert: true, HealthyDeadline: 20e9, ProgressDeadline: 30e9 };
    await cluster.register({ web: { Tasks: command('1'), Update } });
    await cluster.time.pass(25_000);
    expect(cluster.deployment()!.Status).toBe('running');
    await cluster.time.pass(10_000);
    const failed = cluster.deployments().find((d) => d.JobVersion === 1)!;
    expect(failed).toMatchObject({
      Status: 'failed',
      StatusDescription: 'Failed due to progress deadline - rolling back to job version 0',
    });
    await cluster.until('successful');
    expect(cluster.live(1)).toHaveLength(0);
    expect(cluster.live(2)).toHaveLength(3); // in place: it is what they run already
    expect(cluster.tables.jobs.get('default/web')).toMatchObject({ Version: 2, Stable: true });
  });

  it('DP-S09 DP-706: a group that cannot be placed does not hold up the other; with room it goes on', async () => {
    const never = { Constraints: [{ LTarget: '${meta.room}', RTarget: 'yes', Operand: '=' }] };
    await cluster.register({ full: { Count: 1, ...never }, web: { Tasks: command('0') } });
    await cluster.time.pass(60 * MINUTE);
    const waiting = cluster.deployment()!;
    expect(waiting).toMatchObject({ Status: 'running', TaskGroups: { web: { HealthyAllocs: 3 } } });
    await cluster.plane.write('NodeRegister', {
      Node: aNode({ ID: 'roomy', SecretID: 'x', Name: 'roomy', Meta: { room: 'yes' }, ComputedClass: 'v1:roomy' }),
      CreateNodePool: false,
    });
    expect((await cluster.until('successful')).ID).toBe(waiting.ID);
  });

  it('DP-S11 DP-208: a newer version in the middle: the old one is cancelled, its canary stopped, the new one completes', async () => {
    await firstVersion();
    await cluster.register({ web: { Tasks: command('1'), Update: { ...UPDATE, Canary: 1 } } });
    await cluster.time.pass(5_000);
    await cluster.register({ web: { Tasks: command('2') } });
    expect((await cluster.until('successful')).JobVersion).toBe(2);
    expect(cluster.deployments().find((d) => d.JobVersion === 1)).toMatchObject({
      Status: 'cancelled',
      StatusDescription: 'Cancelled due to newer version of job',
    });
    expect(cluster.live(1)).toHaveLength(0);
    expect(cluster.live(2)).toHaveLength(3);
  });

  it('DP-S12 DP-209: a stopped job ends its deployment', async () => {
    await cluster.register({ web: {} });
    await cluster.time.pass(1_000);
    await cluster.plane.write('JobDeregister', {
      JobID: 'web',
      Purge: false,
      NoShutdownDelay: false,
      SubmitTime: 0,
      Eval: anEval({ ID: cluster.plane.newId(), TriggeredBy: 'job-deregister' }),
      TrackedVersions: 6,
    });
    await cluster.time.pass(5_000);
    expect(cluster.deployment()).toMatchObject({
      Status: 'cancelled',
      StatusDescription: 'Cancelled because job is stopped',
    });
    expect(cluster.live()).toHaveLength(0);
  });

  it('DP-702 DP-S07: an unhealthy one is replaced within the policy, and the rollout ends well', async () => {
    await firstVersion();
    let bad = 1;
    cluster.health = (alloc) => !(alloc.Job?.Version === 1 && bad-- > 0);
    await cluster.register({ web: { Tasks: command('1') } });
    const ended = await cluster.until('successful', 10 * MINUTE);
    expect(ended.TaskGroups['web']).toMatchObject({ PlacedAllocs: 4, HealthyAllocs: 3, UnhealthyAllocs: 1 });
  });

  it('DP-903 DP-113: paused after the first round it places nothing more until it is resumed', async () => {
    await firstVersion();
    await cluster.register({ web: { Tasks: command('1') } });
    await cluster.time.pass(1_000);
    const { ID } = cluster.deployment()!;
    await cluster.commands.pause(ID, true, {});
    await cluster.time.pass(60 * MINUTE);
    expect(cluster.deployment()!.Status).toBe('paused');
    expect(cluster.live(1)).toHaveLength(1);
    await cluster.commands.pause(ID, false, {});
    await cluster.until('successful');
    expect(cluster.live(1)).toHaveLength(3);
  });
});
