import { NS_PER_MINUTE, type Job, type Node, type TaskGroup, type UpdateStrategy } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Attempt } from '../attempt.js';
import { placedBy, SchedulingFixture, stoppedBy } from '../scheduling.fixture.js';

let world: SchedulingFixture;
beforeEach(() => {
  world = new SchedulingFixture();
});

const version = (n: number, update: Partial<UpdateStrategy> = {}, group: Partial<TaskGroup> = {}): Job =>
  fixtures.aJob({
    Type: 'system',
    TaskGroups: [
      fixtures.aGroup(
        {
          Update: { ...fixtures.aGroup().Update!, MaxParallel: 2, ...update },
          Tasks: [fixtures.aTask({ Config: { version: n } })],
          ...group,
        },
        'system',
      ),
    ],
  });
const run = (over = {}): Attempt => world.run({ Type: 'system', TriggeredBy: 'deployment-watcher', ...over });
const web = () => world.deployment()!.TaskGroups['web']!;
const live = () => world.allocs().filter((a) => a.DesiredStatus === 'run' && a.ClientStatus !== 'lost');

/** The first version runs on this many nodes, and its deployment is over. */
function installed(nodes: number, update: Partial<UpdateStrategy> = {}): Node[] {
  const made = Array.from({ length: nodes }, () => world.addNode({ Meta: { fit: 'yes' } }));
  world.register(version(0, update));
  run();
  world.allRunHealthy();
  run();
  expect(world.deployment()?.Status).toBe('successful');
  return made;
}

function promote(): void {
  const deployment = world.deployment()!;
  fixtures.apply(world.state, 'ApplyPlanResults', {
    ...fixtures.aPlanResult(),
    Deployment: { ...deployment, TaskGroups: { web: { ...web(), Promoted: true } } },
    EvalID: [...world.state.tables.evals.all()][0]!.ID,
  });
}

describe('deployments of system jobs', () => {
  it('SC-288, SC-291, DP-1606: created with the first version, its deadlines started', () => {
    for (let i = 0; i < 3; i++) world.addNode();
    world.register(version(0));
    const { plan } = run();
    expect(plan.Deployment?.TaskGroups['web']).toMatchObject({ DesiredTotal: 3, DesiredCanaries: 0 });
    expect(plan.DeploymentUpdates).toEqual([
      { DeploymentID: plan.Deployment!.ID, Status: 'running', StatusDescription: 'Deployment is running' },
    ]);
    expect(world.attempt({ Type: 'system' }).isNoop).toBe(true);
    world.allRunHealthy();
    expect(run().plan.DeploymentUpdates).toMatchObject([{ Status: 'successful' }]);
    expect(world.attempt({ Type: 'system' }).isNoop).toBe(true);
  });

  it('SC-280, SC-281, SC-297: an update in steps of max_parallel, each healthy before the next', () => {
    installed(5);
    world.register(version(1));
    expect(stoppedBy(run())).toHaveLength(2);
    expect(run().isNoop).toBe(true);
    for (const left of [2, 1]) {
      world.allRunHealthy();
      expect(stoppedBy(run())).toHaveLength(left);
    }
    world.allRunHealthy();
    expect(run().plan.DeploymentUpdates).toMatchObject([{ Status: 'successful' }]);
    expect(live().map((a) => a.Job?.Version)).toEqual([1, 1, 1, 1, 1]);
  });

  it('SC-282, SC-280: new nodes are filled beside the limit (V31)', () => {
    installed(5);
    for (let i = 0; i < 5; i++) world.addNode();
    world.register(version(1));
    const attempt = run();
    expect(stoppedBy(attempt)).toHaveLength(2);
    expect(placedBy(attempt)).toHaveLength(7);
    expect(web().DesiredTotal).toBe(10);
  });

  it('SC-290, SC-291: a node that joins later starts no second one', () => {
    installed(2);
    const { ID } = world.deployment()!;
    world.addNode();
    const attempt = run({ TriggeredBy: 'node-update' });
    expect(placedBy(attempt)).toHaveLength(1);
    expect(attempt.plan.Deployment).toBeNull();
    expect(world.deployment()?.ID).toBe(ID);
  });

  it('SC-289: a version that runs already without one gets none', () => {
    for (let i = 0; i < 2; i++) world.addNode();
    world.register(version(0));
    const first = world.attempt({ Type: 'system' });
    world.commit({ ...first, plan: { ...first.plan, Deployment: null, DeploymentUpdates: [] } });
    expect(world.live()).toHaveLength(2);
    world.addNode();
    const attempt = run();
    expect(attempt.plan.Deployment).toBeNull();
    expect(placedBy(attempt)).toHaveLength(1);
  });

  it('SC-335: on a subset of the nodes it completes, and again does nothing', () => {
    for (const fit of ['yes', 'no', 'yes']) world.addNode({ Meta: { fit }, ComputedClass: `v1:${fit}` });
    world.register(version(0, {}, { Constraints: [{ LTarget: '${meta.fit}', RTarget: 'yes', Operand: '=' }] }));
    const attempt = run();
    expect(attempt.failedGroups).toEqual({});
    expect(web().DesiredTotal).toBe(2);
    world.allRunHealthy();
    run();
    expect(world.deployment()?.Status).toBe('successful');
    expect(run().isNoop).toBe(true);
  });

  it('SC-237, SC-288: none while no node can take anything; the first that can begins it', () => {
    world.addNode({ Meta: { fit: 'no' }, ComputedClass: 'v1:no' });
    world.register(version(0, {}, { Constraints: [{ LTarget: '${meta.fit}', RTarget: 'yes', Operand: '=' }] }));
    expect(run()).toMatchObject({ plan: { Deployment: null, DeploymentUpdates: [] }, deploymentId: '' });
    world.addNode({ Meta: { fit: 'yes' }, ComputedClass: 'v1:yes' });
    const begun = run({ TriggeredBy: 'node-update' });
    expect(begun.plan.Deployment).toMatchObject({ ID: begun.deploymentId, TaskGroups: { web: { DesiredTotal: 1 } } });
    expect(placedBy(begun)).toMatchObject([{ DeploymentID: begun.deploymentId }]);
  });

  it('DP-1603: what runs an older version on a node that drains is not waited for', () => {
    const [drains] = installed(3);
    world.drain(drains!);
    world.register(version(1));
    expect(run().annotations.DesiredTGUpdates['web']).toMatchObject({ Ignore: 1, DestructiveUpdate: 2 });
    expect(web().DesiredTotal).toBe(2);
    world.allRunHealthy();
    run();
    expect(world.deployment()?.Status).toBe('successful');
  });

  it.each(['paused', 'failed'] as const)(
    'SC-299, DP-1608: %s, nothing is replaced and new nodes are filled',
    (status) => {
      installed(4);
      world.register(version(1));
      run();
      const { ID } = world.deployment()!;
      fixtures.apply(world.state, 'ApplyPlanResults', {
        ...fixtures.aPlanResult(),
        DeploymentUpdates: [{ DeploymentID: ID, Status: status, StatusDescription: '' }],
        EvalID: [...world.state.tables.evals.all()][0]!.ID,
      });
      world.allRunHealthy();
      world.addNode();
      const attempt = run();
      expect(stoppedBy(attempt)).toEqual([]);
      expect(placedBy(attempt)).toHaveLength(1);
    },
  );

  it('SC-232: cancelled with its job', () => {
    installed(1);
    world.register(version(1));
    run();
    world.stopJob('web');
    expect(run({ TriggeredBy: 'job-deregister' }).plan.DeploymentUpdates).toMatchObject([
      { Status: 'cancelled', StatusDescription: 'Cancelled because job is stopped' },
    ]);
  });
});

describe('system canaries', () => {
  it('SC-292, SC-294: a share of the nodes, at most max_parallel (V29)', () => {
    installed(10);
    world.register(version(1, { Canary: 30 }));
    const attempt = run();
    expect(stoppedBy(attempt)).toHaveLength(2);
    expect(placedBy(attempt).map((a) => a.DeploymentStatus?.Canary)).toEqual([true, true]);
    expect(web()).toMatchObject({ DesiredTotal: 10, DesiredCanaries: 2 });
    expect(web().PlacedCanaries).toHaveLength(2);
    expect(world.deployment()?.StatusDescription).toBe('Deployment is running but requires manual promotion');
    expect(attempt.annotations.DesiredTGUpdates['web']).toMatchObject({ Canary: 2, Ignore: 8 });
  });

  it('SC-285, SC-292: a node that is no longer feasible is emptied and not counted (V30)', () => {
    installed(9, { MaxParallel: 10 });
    world.addNode({ Meta: { fit: 'no' }, ComputedClass: 'v1:no' });
    run({ TriggeredBy: 'node-update' });
    const Constraints = [{ LTarget: '${meta.fit}', RTarget: 'yes', Operand: '=' }];
    world.register(version(1, { MaxParallel: 10, Canary: 30 }, { Constraints }));
    const attempt = run();
    expect(stoppedBy(attempt)).toHaveLength(4);
    expect(placedBy(attempt)).toHaveLength(3);
    expect(web()).toMatchObject({ DesiredTotal: 9, DesiredCanaries: 3 });
  });

  it('SC-295, SC-297: promoted, the rest follows; nodes that became ineligible are emptied (V32)', () => {
    const nodes = installed(10, { MaxParallel: 10 });
    world.register(version(1, { MaxParallel: 10, Canary: 30 }));
    run();
    world.allRunHealthy();
    expect(run().isNoop).toBe(true);
    promote();
    const canaries = new Set(
      live()
        .filter((a) => a.Job?.Version === 1)
        .map((a) => a.NodeID),
    );
    for (const node of nodes.filter(({ ID }) => !canaries.has(ID)).slice(0, 2)) world.makeIneligible(node);
    const attempt = run();
    expect(stoppedBy(attempt)).toHaveLength(7);
    expect(placedBy(attempt)).toHaveLength(5);
    expect(web().DesiredTotal).toBe(8);
    world.allRunHealthy();
    run();
    expect(world.deployment()?.Status).toBe('successful');
  });

  it('SC-295: a failed canary is placed again as one', () => {
    installed(4);
    world.register(version(1, { Canary: 25 }));
    const [canary] = placedBy(run());
    world.report(canary!, { ClientStatus: 'failed' });
    const attempt = run();
    expect(placedBy(attempt)).toMatchObject([{ NodeID: canary!.NodeID, DeploymentStatus: { Canary: true } }]);
    expect(stoppedBy(attempt)).toEqual([]);
  });

  it('SC-295: one whose node drains counts no more: another node gets one in the same attempt', () => {
    const nodes = installed(4);
    world.register(version(1, { Canary: 25 }));
    const [canary] = placedBy(run());
    world.allRunHealthy();
    world.makeIneligible(nodes.find(({ ID }) => ID === canary!.NodeID)!);
    world.migrate(canary!);
    const attempt = run();
    expect(stoppedBy(attempt).map(({ ID }) => ID)).toContain(canary!.ID);
    expect(placedBy(attempt)).toMatchObject([{ DeploymentStatus: { Canary: true } }]);
    expect(placedBy(attempt)[0]!.NodeID).not.toBe(canary!.NodeID);
  });

  it('SC-296: what joins meanwhile is no canary', () => {
    installed(4);
    world.register(version(1, { Canary: 25 }));
    run();
    world.addNode();
    expect(placedBy(run())).toMatchObject([{ DeploymentStatus: null }]);
  });

  it('SC-293: the first version has none', () => {
    for (let i = 0; i < 4; i++) world.addNode();
    world.register(version(0, { Canary: 50 }));
    run();
    expect(web().DesiredCanaries).toBe(0);
  });

  it.each([
    [10, 30, 3, 3],
    [10, 30, 2, 2],
    [10, 1, 5, 1],
    [10, 25, 5, 3],
    [3, 33, 5, 1],
    [7, 100, 9, 7],
    [100, 7, 50, 7],
  ])('SC-292: of %d nodes %d %%, max_parallel %d: %d', (nodes, Canary, MaxParallel, expected) => {
    installed(nodes, { MaxParallel });
    world.register(version(1, { Canary, MaxParallel }));
    run();
    expect(web().DesiredCanaries).toBe(expected);
  });
});

describe('system jobs and nodes that are away', () => {
  const away = { Disconnect: { LostAfter: 5 * NS_PER_MINUTE, StopOnClientAfter: null, Replace: true, Reconcile: '' } };

  it('SC-274 S4, S5, S7, SC-275: unknown, replaced nowhere else, and taken back', () => {
    const [node] = [world.addNode(), world.addNode()];
    world.register(version(0, {}, away));
    run();
    world.allRunHealthy();
    world.nodeIs(node, 'disconnected');
    const gone = run({ TriggeredBy: 'node-update' });
    expect(placedBy(gone)).toMatchObject([{ ClientStatus: 'unknown', NodeID: node.ID }]);
    expect(gone.followups).toEqual([]);
    expect(run({ TriggeredBy: 'node-update' }).isNoop).toBe(true);
    world.nodeIs(node, 'initializing');
    const [alloc] = world.allocs().filter((a) => a.NodeID === node.ID);
    world.report(alloc!, { ClientStatus: 'running' });
    world.nodeIs(node, 'ready');
    expect(placedBy(run({ TriggeredBy: 'reconnect' }))).toMatchObject([
      { ID: alloc!.ID, AllocStates: [{ Value: 'unknown' }, { Value: 'running' }] },
    ]);
    expect(run({ TriggeredBy: 'reconnect' }).isNoop).toBe(true);
  });

  it('SC-274 S3: unknown for too long it is lost', () => {
    const node = world.addNode();
    world.register(version(0, {}, away));
    run();
    world.allRunHealthy();
    world.nodeIs(node, 'disconnected');
    run({ TriggeredBy: 'node-update' });
    world.nowMs += 5 * 60_000;
    expect(stoppedBy(run({ TriggeredBy: 'node-update' }))).toMatchObject([{ ClientStatus: 'lost' }]);
  });
});

describe('sysbatch', () => {
  const job = (n: number, over: Partial<TaskGroup> = {}): Job =>
    fixtures.aJob({
      Type: 'sysbatch',
      TaskGroups: [fixtures.aGroup({ Tasks: [fixtures.aTask({ Config: { version: n } })], ...over }, 'sysbatch')],
    });
  const once = () => world.run({ Type: 'sysbatch' });
  const done = () => {
    for (const alloc of live()) world.report(alloc, { ClientStatus: 'complete' });
  };

  it('SC-277: another command runs it again on every node; another meta of the job outside its tasks does not', () => {
    world.addNode();
    world.addNode();
    world.register(job(0));
    once();
    done();
    expect(once().isNoop).toBe(true);
    world.register(job(1));
    const again = once();
    expect(placedBy(again)).toHaveLength(2);
    expect(again.annotations.DesiredTGUpdates['web']).toMatchObject({ DestructiveUpdate: 2, Canary: 0 });
    expect(placedBy(again).map(({ DeploymentStatus }) => DeploymentStatus)).toEqual([null, null]);
    done();
    const Constraints = [{ LTarget: '${attr.kernel.name}', RTarget: 'linux', Operand: '=' }];
    world.register(job(1, { Constraints }));
    const unchanged = once();
    expect(unchanged.isNoop).toBe(true);
    expect(unchanged.annotations.DesiredTGUpdates['web']).toMatchObject({ InPlaceUpdate: 2 });
  });
});
