import {
  NS_PER_MINUTE,
  nsFromMs,
  type Allocation,
  type Deployment,
  type DisconnectStrategy,
  type Node,
  type TaskGroup,
} from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { NameIndex } from './reconciliation/name-index.js';
import { SchedulingFixture } from './scheduling.fixture.js';

const COUNT = 3;

/** A job of three on one machine: version 0 was rolled out, version 1 is on its way as a case says. */
class World extends SchedulingFixture {
  readonly node = this.addNode();

  constructor(
    private readonly canary: number,
    private readonly disconnect: DisconnectStrategy | null,
  ) {
    super();
    this.registerVersion(0);
    this.settle();
  }

  registerVersion(version: number, over: Partial<Deployment> | null = null, group: Partial<TaskGroup> = {}): void {
    const base = fixtures.aGroup();
    const job = fixtures.aJob({
      TaskGroups: [
        {
          ...base,
          Count: COUNT,
          Update: { ...base.Update!, MaxParallel: 1, Canary: this.canary },
          Disconnect: this.disconnect,
          Tasks: [fixtures.aTask({ Config: { version } })],
          ...group,
        },
      ],
    });
    const Deployment = over && fixtures.aDeployment({ TaskGroups: {}, IsMultiregion: true, ...over });
    const registration = { ...fixtures.aRegistration(job), ...(Deployment && { Deployment }) };
    const { verdict } = fixtures.apply(this.state, 'JobRegister', registration);
    if (verdict.kind === 'refused') throw new Error(verdict.error);
  }

  /** Version 1 begins: what its first evaluation places, and what of it becomes healthy. */
  update(healthy = false): void {
    this.registerVersion(1);
    this.run();
    if (healthy) this.allRunHealthy();
  }

  deploymentIs(Status: Deployment['Status'], id = this.deployment()!.ID): void {
    const { verdict } = fixtures.apply(this.state, 'DeploymentStatusUpdate', {
      Update: { DeploymentID: id, Status, StatusDescription: '' },
      UpdatedAt: nsFromMs(this.nowMs),
      Eval: null,
      Job: null,
      RevertSuffix: '',
      TrackedVersions: 6,
    });
    if (verdict.kind === 'refused') throw new Error(verdict.error);
  }

  promote(): void {
    const { verdict } = fixtures.apply(this.state, 'DeploymentPromote', {
      DeploymentID: this.deployment()!.ID,
      All: true,
      Groups: [],
      PromotedAt: nsFromMs(this.nowMs),
      Eval: null,
    });
    if (verdict.kind === 'refused') throw new Error(verdict.error);
  }

  wanted(): Allocation[] {
    return this.allocs().filter(
      ({ DesiredStatus, ClientStatus }) => DesiredStatus === 'run' && ['pending', 'running'].includes(ClientStatus),
    );
  }

  later(minutes: number): void {
    this.nowMs += minutes * 60_000;
  }
}

interface RolloutCase {
  readonly name: string;
  readonly canary: number;
  readonly begin: (world: World) => void;
  /** Which version replaces what is lost. */
  readonly version: 0 | 1;
  /** Canaries that are there again afterwards. */
  readonly canaries: 0 | 1;
}

const ROLLOUTS: readonly RolloutCase[] = [
  { name: 'no rollout', canary: 1, begin: () => undefined, version: 0, canaries: 0 },
  { name: 'running', canary: 0, begin: (w) => w.update(), version: 1, canaries: 0 },
  { name: 'running, its canary starting', canary: 1, begin: (w) => w.update(), version: 0, canaries: 1 },
  { name: 'running, its canary healthy', canary: 1, begin: (w) => w.update(true), version: 0, canaries: 1 },
  {
    name: 'running, promoted',
    canary: 1,
    begin: (w) => {
      w.update(true);
      w.promote();
      w.run();
    },
    version: 1,
    canaries: 0,
  },
  {
    name: 'paused',
    canary: 0,
    begin: (w) => {
      w.update();
      w.deploymentIs('paused');
    },
    version: 1,
    canaries: 0,
  },
  {
    name: 'paused, its canary healthy',
    canary: 1,
    begin: (w) => {
      w.update(true);
      w.deploymentIs('paused');
    },
    version: 0,
    canaries: 0,
  },
  {
    name: 'failed',
    canary: 0,
    begin: (w) => {
      w.update();
      w.deploymentIs('failed');
    },
    version: 1,
    canaries: 0,
  },
  {
    name: 'failed, its canary healthy',
    canary: 1,
    begin: (w) => {
      w.update(true);
      w.deploymentIs('failed');
      w.run();
    },
    version: 0,
    canaries: 0,
  },
  {
    name: 'cancelled, its canary healthy',
    canary: 1,
    begin: (w) => {
      w.update(true);
      w.deploymentIs('cancelled');
    },
    version: 0,
    canaries: 0,
  },
  {
    name: 'successful',
    canary: 0,
    begin: (w) => {
      w.registerVersion(1);
      w.settle();
      expect(w.deployment()?.Status).toBe('successful');
    },
    version: 1,
    canaries: 0,
  },
  {
    name: 'initializing',
    canary: 0,
    begin: (w) => w.registerVersion(1, { Status: 'initializing' }),
    version: 0,
    canaries: 0,
  },
  {
    name: 'pending',
    canary: 0,
    begin: (w) => {
      w.registerVersion(1, { Status: 'initializing' });
      w.run();
      expect(w.deployment()?.Status).toBe('pending');
    },
    version: 0,
    canaries: 0,
  },
  {
    name: 'paused before its turn',
    canary: 0,
    begin: (w) => {
      w.registerVersion(1, { Status: 'initializing' });
      w.run();
      w.deploymentIs('paused');
    },
    version: 0,
    canaries: 0,
  },
  ...(['blocked', 'unblocking'] as const).map((Status): RolloutCase => ({
    name: Status,
    canary: 0,
    begin: (w) => {
      w.registerVersion(1, { Status: 'initializing' });
      w.run();
      w.deploymentIs('running');
      w.settle();
      w.deploymentIs(Status);
    },
    version: 1,
    canaries: 0,
  })),
];

interface LossCase {
  readonly name: string;
  readonly disconnect?: DisconnectStrategy;
  /** With one pass or more, none of which finds room. */
  readonly lose: (world: World) => void;
}

const disconnect = (over: Partial<DisconnectStrategy>): DisconnectStrategy => ({
  LostAfter: 0,
  StopOnClientAfter: null,
  Replace: true,
  Reconcile: '',
  ...over,
});

function remove(world: World, { ID }: Node): void {
  fixtures.apply(world.state, 'NodeDeregister', { NodeID: ID });
}

const LOSSES: readonly LossCase[] = [
  {
    name: 'its machine goes down',
    lose: (w) => {
      w.nodeDown(w.node);
      w.run();
    },
  },
  {
    name: 'its machine is removed',
    lose: (w) => {
      remove(w, w.node);
      w.run();
    },
  },
  {
    name: 'its machine is out of reach',
    lose: (w) => {
      w.nodeIs(w.node, 'disconnected');
      w.run();
    },
  },
  {
    name: 'lost_after is over',
    disconnect: disconnect({ LostAfter: 5 * NS_PER_MINUTE, Replace: false }),
    lose: (w) => {
      w.nodeIs(w.node, 'disconnected');
      w.run();
      w.later(6);
      w.run({ TriggeredBy: 'max-disconnect-timeout' });
    },
  },
  {
    name: 'its machine goes down and stop_on_client_after is over',
    disconnect: disconnect({ StopOnClientAfter: NS_PER_MINUTE }),
    lose: (w) => {
      w.nodeDown(w.node);
      w.run();
      w.later(2);
      w.run({ TriggeredBy: 'alloc-failure' });
    },
  },
  {
    name: 'it is drained or stopped by an operator',
    lose: (w) => {
      w.makeIneligible(w.node);
      for (const alloc of w.wanted()) w.migrate(alloc);
      w.run({ TriggeredBy: 'node-drain' });
    },
  },
  {
    name: 'it is preempted',
    lose: (w) => {
      w.makeIneligible(w.node);
      const evaluation = fixtures.anEval();
      fixtures.apply(w.state, 'EvalUpdate', { Evals: [evaluation] });
      fixtures.apply(w.state, 'ApplyPlanResults', {
        ...fixtures.aPlanResult(),
        EvalID: evaluation.ID,
        AllocsPreempted: w.wanted().map(({ ID }) => ({ ID, PreemptedByAllocation: fixtures.freshId() })),
      });
      w.run({ TriggeredBy: 'preemption' });
    },
  },
  {
    name: 'it ends by itself',
    lose: (w) => {
      w.makeIneligible(w.node);
      for (const alloc of w.wanted()) w.report(alloc, { ClientStatus: 'complete' });
      w.run();
    },
  },
  {
    name: 'its machine goes down, and what is over is collected',
    lose: (w) => {
      w.nodeDown(w.node);
      w.run();
      const ScanIndex = w.state.appliedIndex;
      const AllocIDs = w.allocs().map(({ ID }) => ID);
      fixtures.apply(w.state, 'EvalDelete', { EvalIDs: [], AllocIDs, ScanIndex, UserInitiated: false });
      const over = [...w.state.tables.deployment.all()].filter(({ ID }) => ID !== w.deployment()?.ID);
      fixtures.apply(w.state, 'DeploymentDelete', { DeploymentIDs: over.map(({ ID }) => ID), ScanIndex });
    },
  },
];

describe('whatever state its rollout is in, a job gets back what it loses', () => {
  const cases = ROLLOUTS.flatMap((rollout) => LOSSES.map((loss) => [rollout.name, loss.name, rollout, loss] as const));
  it.each(cases)('rollout: %s; loss: %s', (_rollout, _loss, rollout, loss) => {
    const world = new World(rollout.canary, loss.disconnect ?? null);
    rollout.begin(world);
    loss.lose(world);
    expect(world.wanted()).toEqual([]);

    world.addNode();
    world.run({ TriggeredBy: 'queued-allocs' });

    const wanted = world.wanted();
    const isCanary = ({ DeploymentStatus }: Allocation): boolean => DeploymentStatus?.Canary === true;
    const stable = wanted.filter((alloc) => !isCanary(alloc));
    expect(stable.map(({ Name }) => Name)).toEqual(['web.web[0]', 'web.web[1]', 'web.web[2]']);
    expect(stable.map(({ Job }) => Job?.Version)).toEqual(Array.from({ length: COUNT }, () => rollout.version));
    expect(wanted.filter(isCanary).map(({ Job, DeploymentID }) => [Job?.Version, DeploymentID])).toEqual(
      Array.from({ length: rollout.canaries }, () => [1, world.deployment()?.ID]),
    );
    // Nothing comes on top of it.
    world.allRunHealthy();
    world.run();
    const isHeld = rollout.version === 0 || world.deployment()?.Status === 'paused';
    if (isHeld) expect(world.wanted().map(({ ID }) => ID)).toEqual(wanted.map(({ ID }) => ID));
  });

  it('SC-220, SC-226: what the rollout would add waits until the rollout goes on', () => {
    const world = new World(1, null);
    world.registerVersion(1, null, { Count: 5 });
    world.run();
    expect(world.live()).toEqual(['web.web[0]', 'web.web[0]', 'web.web[1]', 'web.web[2]']);
    world.nodeDown(world.node);
    world.run();
    world.addNode();
    world.run({ TriggeredBy: 'queued-allocs' });
    expect(world.live()).toEqual(['web.web[0]', 'web.web[0]', 'web.web[1]', 'web.web[2]']);
  });

  it('SC-220: beside more canaries than the older version has allocations, no more of these come back than it has', () => {
    const world = new World(COUNT + 1, null);
    world.registerVersion(COUNT + 1, null, { Count: COUNT + 2 });
    world.run();
    world.nodeDown(world.node);
    world.run();
    world.addNode();
    world.run({ TriggeredBy: 'queued-allocs' });
    const isCanary = ({ DeploymentStatus }: Allocation): boolean => DeploymentStatus?.Canary === true;
    const counts = [true, false].map((canary) => world.wanted().filter((alloc) => isCanary(alloc) === canary).length);
    expect(counts).toEqual([COUNT + 1, COUNT]);
  });

  it('no more comes back than the newer version wants', () => {
    const world = new World(1, null);
    world.registerVersion(1, null, { Count: 2 });
    world.run();
    world.nodeDown(world.node);
    world.run();
    world.addNode();
    world.run({ TriggeredBy: 'queued-allocs' });
    expect(world.live()).toEqual(['web.web[0]', 'web.web[0]', 'web.web[1]']);
  });

  it('a deployment that was paused before its first placement, of a job that was stopped before, places nothing', () => {
    const world = new World(0, null);
    world.stopJob('web');
    world.run({ TriggeredBy: 'job-deregister' });
    world.registerVersion(2, { Status: 'initializing' });
    world.run();
    world.deploymentIs('paused');
    world.run();
    expect(world.live()).toEqual([]);
  });

  it('SC-168: a canary that was healthy and then fails is rescheduled by its policy while it waits for promotion', () => {
    const world = new World(1, null);
    world.update(true);
    const canary = world.wanted().find(({ DeploymentStatus }) => DeploymentStatus?.Canary)!;
    world.report(canary, { ClientStatus: 'failed' });
    const { plan } = world.run({ TriggeredBy: 'alloc-failure' });
    expect(plan.FollowupEvals.map(({ TriggeredBy }) => TriggeredBy)).toEqual(['alloc-reschedule']);
    world.later(60);
    world.run({ TriggeredBy: 'alloc-reschedule', ID: plan.FollowupEvals[0]!.ID });
    const anew = world.wanted().filter(({ DeploymentStatus }) => DeploymentStatus?.Canary);
    expect(anew.map(({ Name, PreviousAllocation }) => [Name, PreviousAllocation])).toEqual([[canary.Name, canary.ID]]);
    expect(world.wanted()).toHaveLength(COUNT + 1);
  });

  it('SC-206: what comes back takes the name that is missing, beside the names of canaries', () => {
    const names = new NameIndex(
      'web',
      'web',
      5,
      [0, 1, 2, 3, 4].map((n) => ({ Name: `web.web[${n}]` })),
    );
    expect(names.next(1, [{ name: 'web.web[3]' }])).toEqual(['web.web[3]']);
    expect(names.next(1)).toEqual(['web.web[0]']);
  });
});
