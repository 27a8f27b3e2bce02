import type { Job, TaskGroup } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Attempt } from './attempt.js';
import { placedBy, SchedulingFixture, stoppedBy } from './scheduling.fixture.js';

let world: SchedulingFixture;
beforeEach(() => {
  world = new SchedulingFixture();
});

const system = (group: Partial<TaskGroup> = {}, Type = 'system', over: Partial<Job> = {}): Job =>
  fixtures.aJob({ Type, TaskGroups: [fixtures.aGroup(group, Type)], ...over });
const run = (over = {}) => world.run({ Type: 'system', ...over });
const done = {
  ClientStatus: 'complete' as const,
  TaskStates: {
    web: {
      State: 'dead' as const,
      Failed: false,
      Restarts: 0,
      LastRestart: null,
      StartedAt: null,
      FinishedAt: null,
      Events: [],
      Paused: '',
    },
  },
};

describe('system jobs', () => {
  it('SC-271: one allocation on every ready candidate node, also on one that joins later', () => {
    const nodes = [world.addNode(), world.addNode()];
    world.addNode({ SchedulingEligibility: 'ineligible' });
    world.register(system());
    expect(new Set(placedBy(run()).map((a) => a.NodeID))).toEqual(new Set(nodes.map((n) => n.ID)));
    const third = world.addNode();
    expect(placedBy(run({ TriggeredBy: 'node-update' }))).toMatchObject([{ NodeID: third.ID, Name: 'web.web[0]' }]);
    expect(world.attempt({ Type: 'system' }).isNoop).toBe(true);
  });

  it.each(['system', 'sysbatch'])('distinct_hosts does not keep the groups of a %s job apart', (Type) => {
    world.addNode();
    const Constraints = [{ LTarget: '', RTarget: '', Operand: 'distinct_hosts' }];
    const TaskGroups = ['a', 'b'].map((Name) => fixtures.aGroup({ Name }, Type));
    world.register(fixtures.aJob({ Type, TaskGroups, Constraints }));
    expect(placedBy(world.run({ Type })).map(({ TaskGroup }) => TaskGroup)).toEqual(['a', 'b']);
  });

  it('SC-274 S1, S8: stopped with its job; lost with its node, and replaced nowhere else', () => {
    const [first] = [world.addNode(), world.addNode()];
    world.register(system());
    run();
    world.nodeDown(first);
    const lost = run({ TriggeredBy: 'node-update' });
    expect(stoppedBy(lost)).toMatchObject([{ ClientStatus: 'lost' }]);
    expect(placedBy(lost)).toEqual([]);
    world.stopJob('web');
    const { wanted, failedGroups, blocked } = world.attempt({ Type: 'system' });
    expect([wanted, failedGroups, blocked]).toEqual([{}, {}, []]);
    expect(stoppedBy(run({ TriggeredBy: 'job-deregister' }))).toMatchObject([
      { DesiredDescription: 'alloc not needed due to job update' },
    ]);
  });

  it('SC-276: a failed one is placed again at once, after the old one', () => {
    world.addNode();
    world.register(system());
    run();
    const [failed] = world.allocs();
    world.report(failed!, { ...done, ClientStatus: 'failed' });
    expect(placedBy(run())).toMatchObject([{ PreviousAllocation: failed!.ID, RescheduleTracker: null }]);
  });

  it('ND-110: one that was placed again is stopped when its machine says that it runs after all', () => {
    world.addNode();
    world.register(system());
    run();
    const [failed] = world.allocs();
    world.report(failed!, { ...done, ClientStatus: 'failed' });
    run({ TriggeredBy: 'alloc-failure' });
    world.report(failed!, { ClientStatus: 'running' });
    const attempt = run({ TriggeredBy: 'reconnect' });
    expect(stoppedBy(attempt).map(({ ID }) => ID)).toEqual([failed!.ID]);
    expect(placedBy(attempt)).toEqual([]);
  });

  it('SC-277: a sysbatch one that ran is not run again for the same job', () => {
    world.addNode();
    world.register(system({}, 'sysbatch'));
    world.run({ Type: 'sysbatch' });
    world.report(world.allocs()[0]!, done);
    expect(world.attempt({ Type: 'sysbatch' }).isNoop).toBe(true);
  });

  it('SC-279: an ineligible node keeps its allocation while the job does not change', () => {
    const node = world.addNode();
    world.register(system());
    run();
    world.makeIneligible(node);
    expect(world.attempt({ Type: 'system' }).isNoop).toBe(true);
    world.register(system({ Tasks: [fixtures.aTask({ Config: { run_for: '2h' } })] }));
    expect(stoppedBy(run())).toMatchObject([{ DesiredDescription: 'alloc not needed due to job update' }]);
  });

  it('SC-280: a changed command replaces each on its node', () => {
    const nodes = [world.addNode(), world.addNode()];
    const Update = { ...fixtures.aGroup().Update!, MaxParallel: 2 };
    world.register(system({ Update }));
    run();
    world.allRunHealthy();
    world.register(system({ Update, Tasks: [fixtures.aTask({ Config: { run_for: '2h' } })] }));
    const attempt = run();
    expect(stoppedBy(attempt)).toHaveLength(2);
    expect(new Set(placedBy(attempt).map((a) => a.NodeID))).toEqual(new Set(nodes.map((n) => n.ID)));
  });

  it('SC-273: also looked at are nodes that are no candidates any more but still have one', () => {
    const [staying, leaving] = [world.addNode(), world.addNode({ Datacenter: 'dc2' })];
    world.register(system());
    run();
    world.register({ ...system(), Datacenters: ['dc1'] });
    expect(stoppedBy(run()).map(({ ID }) => world.state.tables.allocs.get(ID)?.NodeID)).toEqual([leaving.ID]);
    expect(world.allocs().find(({ NodeID }) => NodeID === staying.ID)?.DesiredStatus).toBe('run');
  });

  it('SC-278: a drain leaves it alone until the drainer says so; eligible again it is placed again', () => {
    const DrainStrategy = { Deadline: 0, IgnoreSystemJobs: false, ForceDeadline: null, StartedAt: null };
    const node = world.addNode();
    world.register(system());
    run();
    world.allRunHealthy();
    run();
    const drain = (strategy: typeof DrainStrategy | null): void => {
      fixtures.apply(world.state, 'NodeUpdateDrain', {
        NodeID: node.ID,
        DrainStrategy: strategy,
        MarkEligible: strategy === null,
        NodeEvent: null,
        UpdatedAt: world.nowMs / 1_000,
        Meta: {},
        UpdatedBy: '',
      });
    };
    drain(DrainStrategy);
    expect(run({ TriggeredBy: 'node-drain' }).plan.NodeUpdate).toEqual({});
    const [alloc] = world.allocs();
    world.migrate(alloc!);
    expect(stoppedBy(run({ TriggeredBy: 'node-drain' }))).toMatchObject([
      { ID: alloc!.ID, DesiredDescription: 'alloc not needed as node is tainted' },
    ]);
    world.report(alloc!, { ClientStatus: 'complete' });
    expect(placedBy(run({ TriggeredBy: 'node-drain' }))).toEqual([]);
    drain(null);
    expect(placedBy(run({ TriggeredBy: 'node-update' }))).toMatchObject([{ PreviousAllocation: alloc!.ID }]);
  });

  it.each([
    ['system', 3],
    ['sysbatch', 1],
  ])('SC-287: of a %s job the places that clients are shown are %d', (Type, expected) => {
    const Constraints = [{ LTarget: '${meta.fit}', RTarget: 'yes', Operand: '=' }];
    for (const fit of ['yes', 'no', 'yes']) world.addNode({ Meta: { fit }, ComputedClass: `v1:${fit}` });
    world.register(system({}, Type, { Constraints }));
    world.run({ Type });
    world.addNode({ Meta: { fit: 'yes' }, ComputedClass: 'v1:yes' });
    world.addNode({ Meta: { fit: 'no' }, ComputedClass: 'v1:no' });
    expect(world.run({ Type }).annotations.DesiredTGUpdates['web']).toMatchObject({ Place: expected, Ignore: 2 });
  });

  it('SC-300: what is placed again after its end starts no deployment', () => {
    world.addNode();
    world.register(system());
    const first = world.attempt({ Type: 'system' });
    world.commit({ ...first, plan: { ...first.plan, Deployment: null, DeploymentUpdates: [] } });
    world.report(world.allocs()[0]!, { ClientStatus: 'failed' });
    const attempt = run();
    expect(placedBy(attempt)).toHaveLength(1);
    expect([attempt.plan.Deployment, attempt.plan.DeploymentUpdates]).toEqual([null, []]);
  });

  it('SC-298: one that has succeeded stays so where no node is feasible any more, also without states of groups', () => {
    const node = world.addNode();
    world.register(system());
    run();
    world.allRunHealthy();
    run();
    const done = world.deployment()!;
    expect(done.Status).toBe('successful');
    world.makeIneligible(node);
    expect(run().plan.DeploymentUpdates).toEqual([]);
    fixtures.apply(world.state, 'ApplyPlanResults', {
      ...fixtures.aPlanResult(),
      Deployment: { ...done, TaskGroups: {} },
      EvalID: [...world.state.tables.evals.all()][0]!.ID,
    });
    expect(run().plan.DeploymentUpdates).toEqual([]);
    expect(world.deployment()?.Status).toBe('successful');
  });

  it('SC-42, SC-114: each placement looks at its own node alone', () => {
    for (let i = 0; i < 3; i++) world.addNode();
    world.register(system());
    for (const { NodeID, Metrics } of placedBy(run())) {
      expect(Metrics).toMatchObject({ NodesEvaluated: 1, NodesInPool: 3 });
      expect(Metrics?.ScoreMetaData?.map((score) => score.NodeID)).toEqual([NodeID]);
    }
  });

  it('SC-35, SC-284, EB-220: full nodes give one blocked evaluation for the group, naming the first', () => {
    const task = fixtures.aTask();
    const big = { ...task, Resources: { ...task.Resources, CPU: 99_999 } };
    const [first] = [world.addNode(), world.addNode()];
    world.register(system({ Tasks: [big] }));
    const attempt = run();
    expect(attempt.blocked).toMatchObject([
      { nodeId: first.ID, escaped: false, missingResources: [], failedGroups: { web: { NodesExhausted: 1 } } },
    ]);
    expect(attempt.wanted).toEqual({ web: 2 });
    expect(attempt.failedGroups['web']).toMatchObject({ CoalescedFailures: 1, NodesExhausted: 1 });
  });

  it('SC-283: a node that is filtered is no failure, unless all are', () => {
    const Constraints = [{ LTarget: '${node.unique.name}', RTarget: 'good', Operand: '=' }];
    world.addNode({ Name: 'bad' });
    world.register(system({ Constraints }));
    const nowhere = run();
    expect(nowhere.failedGroups['web']?.ConstraintFiltered).toEqual({ '${node.unique.name} = good': 1 });
    expect(nowhere.blocked).toEqual([]);
    expect(nowhere.wanted).toEqual({ web: 0 });
    expect(nowhere.annotations.DesiredTGUpdates['web']?.Place).toBe(0);
    world.addNode({ Name: 'good' });
    expect(run().failedGroups).toEqual({});
    expect(run().failedGroups).toEqual({});
    world.register(system({ Constraints }, 'system', { Priority: 60 }));
    const updated = run();
    expect(updated.annotations.DesiredTGUpdates['web']).toMatchObject({ InPlaceUpdate: 1, Ignore: 0 });
    expect(updated.failedGroups).toEqual({});
  });
});

describe('one pass over a system job', () => {
  const changed = (group: Partial<TaskGroup> = {}, Type = 'system', over: Partial<Job> = {}): Job =>
    system({ Tasks: [fixtures.aTask({ Config: { run_for: '2h' } })], ...group }, Type, over);
  const updating = (over: Partial<NonNullable<TaskGroup['Update']>>) => ({
    Update: { ...fixtures.aGroup().Update!, MaxParallel: 1, ...over },
  });
  const counts = (attempt: Attempt, group = 'web') => attempt.annotations.DesiredTGUpdates[group];
  const total = (attempt: Attempt) => attempt.plan.Deployment?.TaskGroups['web']?.DesiredTotal;
  /** Allocations of a first version on so many nodes, healthy and rolled out. */
  const running = (nodes: number, group: Partial<TaskGroup> = {}, over: Partial<Job> = {}) => {
    const made = Array.from({ length: nodes }, (_, at) => world.addNode({ Name: `n${at}` }));
    world.register(system(group, 'system', over));
    run();
    world.allRunHealthy();
    run();
    return made;
  };
  const sized = (CPU: number) => {
    const task = fixtures.aTask();
    return { Tasks: [{ ...task, Resources: { ...task.Resources, CPU } }] };
  };

  it('SC-245: stops all of a stopped job; without a job and its allocations there is nothing to do', () => {
    running(2);
    world.stopJob('web');
    const attempt = run({ TriggeredBy: 'job-deregister' });
    expect(attempt).toMatchObject({ truncated: false, failedGroups: {}, wanted: {}, blocked: [], followups: [] });
    expect([stoppedBy(attempt).length, attempt.plan.Job?.ID]).toEqual([2, 'web']);
    const unknown = world.attempt({ Type: 'system', JobID: 'unknown' });
    expect([unknown.plan.Job, unknown.isNoop, unknown.deploymentId]).toEqual([null, true, '']);
  });

  it("EB-205: the plan names the job of the allocations, if the job's row is gone", () => {
    const alloc = fixtures.anAlloc({ Job: { ...system(), Version: 3 }, ClientStatus: 'running' });
    world.state.tables.allocs.replace(alloc.ID, alloc);
    const attempt = world.attempt({ Type: 'system', TriggeredBy: 'job-deregister' });
    expect(attempt.plan.Job).toMatchObject({ ID: 'web', Version: 3 });
    expect(stoppedBy(attempt)).toMatchObject([{ ID: alloc.ID }]);
  });

  it('SC-253, SC-291: updates in place at once, and counts what runs as wanted', () => {
    running(3, updating({}));
    world.register(system(updating({}), 'system', { Priority: 60 }));
    const attempt = run();
    expect(counts(attempt)).toMatchObject({
      InPlaceUpdate: 3,
      DestructiveUpdate: 0,
      Ignore: 0,
      Place: 3,
      Reconnect: 0,
    });
    expect([placedBy(attempt).length, stoppedBy(attempt).length, total(attempt)]).toEqual([3, 0, 3]);
    expect(placedBy(attempt).every(({ Job: version }) => version?.Priority === 60)).toBe(true);
    expect(attempt.deploymentId).toBe(attempt.plan.Deployment?.ID);
  });

  it('SC-280, SC-291: replaces in steps, in the order of the stored ones', () => {
    running(3, updating({}));
    world.register(changed(updating({})));
    const attempt = run();
    expect(counts(attempt)).toMatchObject({ DestructiveUpdate: 1, Ignore: 2, InPlaceUpdate: 0, Canary: 0 });
    expect([stoppedBy(attempt).length, placedBy(attempt).length, total(attempt)]).toEqual([1, 1, 3]);
    expect(attempt.wanted).toEqual({ web: 1 });
    const [first] = [...world.state.tables.allocs.by('job', 'default/web')];
    expect(stoppedBy(attempt).map(({ ID }) => ID)).toEqual([first!.ID]);
  });

  it('SC-292, SC-294: makes canaries of some', () => {
    running(3, updating({ MaxParallel: 3, Canary: 34 }));
    world.register(changed(updating({ MaxParallel: 3, Canary: 34 })));
    const attempt = run();
    expect(counts(attempt)).toMatchObject({ Canary: 2, DestructiveUpdate: 2, Ignore: 1 });
    expect(placedBy(attempt).map(({ DeploymentStatus }) => DeploymentStatus?.Canary)).toEqual([true, true]);
  });

  it('each group by itself', () => {
    world.addNode();
    const groups = (n: number) =>
      ['a', 'b'].map((Name) => {
        const Tasks = [fixtures.aTask({ Config: { n: Name === 'a' ? n : 0 } })];
        return fixtures.aGroup({ Name, Tasks, ...updating({}) }, 'system');
      });
    world.register(fixtures.aJob({ Type: 'system', TaskGroups: groups(1) }));
    run();
    world.allRunHealthy();
    world.register(fixtures.aJob({ Type: 'system', TaskGroups: groups(2) }));
    const attempt = run();
    expect(counts(attempt, 'a')).toMatchObject({ DestructiveUpdate: 1, InPlaceUpdate: 0 });
    expect(counts(attempt, 'b')).toMatchObject({ DestructiveUpdate: 0, InPlaceUpdate: 1 });
    expect(attempt.wanted).toEqual({ a: 1, b: 0 });
  });

  it('SC-285: stops what no node can replace any more', () => {
    running(2, updating({}));
    const Constraints = [{ LTarget: '${node.unique.name}', RTarget: 'n0', Operand: '=' }];
    world.register(changed(updating({}), 'system', { Constraints }));
    const attempt = run();
    expect(stoppedBy(attempt).map(({ DesiredDescription }) => DesiredDescription)).toEqual(
      Array(2).fill('alloc is being updated due to job update'),
    );
    expect(placedBy(attempt)).toHaveLength(1);
    expect([counts(attempt)?.DestructiveUpdate, total(attempt)]).toEqual([1, 1]);
    expect([attempt.failedGroups, attempt.wanted]).toEqual([{}, { web: 1 }]);
  });

  it('SC-291: nodes that are full are not wanted', () => {
    const nodes = [0, 1, 2].map(() => world.addNode());
    for (const { ID } of nodes.slice(0, 2)) {
      const Job = fixtures.aJob({ ID: 'other', Priority: 90, TaskGroups: [fixtures.aGroup(sized(3_000))] });
      const alloc = fixtures.anAlloc({ Job, NodeID: ID, ClientStatus: 'running' });
      world.state.tables.allocs.replace(alloc.ID, alloc);
    }
    world.register(system({ ...sized(2_000), ...updating({}) }));
    const attempt = run();
    expect([placedBy(attempt).length, total(attempt), attempt.wanted]).toEqual([1, 1, { web: 3 }]);
    expect(attempt.failedGroups['web']).toMatchObject({ NodesExhausted: 1, CoalescedFailures: 1 });
    expect(attempt.blocked.map(({ nodeId }) => nodeId)).toEqual([nodes[0]!.ID]);
  });

  it('SC-283: the metrics of all filtered nodes are summed', () => {
    const Constraints = [{ LTarget: '${node.unique.name}', RTarget: 'good', Operand: '=' }];
    const driverless = { Drivers: {}, Attributes: {} };
    world.addNode({ Name: 'a', NodeClass: 'x' });
    world.addNode({ Name: 'b' });
    world.addNode({ Name: 'c', NodeClass: 'x' });
    world.addNode({ Name: 'good', NodeClass: 'y', ComputedClass: 'v1:other', ...driverless });
    world.register(system({ Constraints }));
    expect(run().failedGroups['web']).toMatchObject({
      NodesEvaluated: 4,
      NodesFiltered: 4,
      ConstraintFiltered: { '${node.unique.name} = good': 3, 'missing drivers': 1 },
      ClassFiltered: { x: 2, y: 1 },
    });
  });

  it('SC-283: a node without a class is counted in none, also if it is the first', () => {
    const Constraints = [{ LTarget: '${node.unique.name}', RTarget: 'good', Operand: '=' }];
    for (const NodeClass of ['', 'x', '']) world.addNode({ Name: 'bad', NodeClass });
    world.register(system({ Constraints }));
    expect(run().failedGroups['web']).toMatchObject({ NodesFiltered: 3, ClassFiltered: { x: 1 } });
  });

  it('SC-286: evicts for a place', () => {
    const node = world.addNode();
    const Job = fixtures.aJob({ ID: 'low', Priority: 10, TaskGroups: [fixtures.aGroup(sized(3_000))] });
    const victim = fixtures.anAlloc({ Job, NodeID: node.ID, ClientStatus: 'running' });
    world.state.tables.allocs.replace(victim.ID, victim);
    world.register(system(sized(2_000), 'system', { Priority: 80 }));
    const attempt = world.attempt({ Type: 'system' });
    expect(attempt.plan.NodePreemptions[node.ID]?.map(({ ID }) => ID)).toEqual([victim.ID]);
    expect(counts(attempt)).toMatchObject({ Preemptions: 1, Place: 1 });
  });

  it('SC-274 S5, S7: an allocation becomes unknown with its node, and runs again when both are back', () => {
    const [node] = running(1, updating({}));
    world.nodeIs(node!, 'disconnected');
    const away = run({ TriggeredBy: 'node-update' });
    expect(placedBy(away)).toMatchObject([{ ClientStatus: 'unknown', AllocStates: [{ Value: 'unknown' }] }]);
    expect(counts(away)).toMatchObject({ Disconnect: 1, Reconnect: 0 });
    world.nodeIs(node!, 'initializing');
    world.report(world.allocs()[0]!, { ClientStatus: 'running' });
    world.nodeIs(node!, 'ready');
    const back = run({ TriggeredBy: 'reconnect' });
    expect(counts(back)).toMatchObject({ Reconnect: 1, Ignore: 1, InPlaceUpdate: 0, Disconnect: 0 });
    expect(placedBy(back)).toMatchObject([{ AllocStates: [{ Value: 'unknown' }, { Value: 'running' }] }]);
  });

  it('SC-277: a sysbatch allocation that was stopped and has ended is run again, and not stopped again', () => {
    world.addNode();
    world.register(system({}, 'sysbatch'));
    world.run({ Type: 'sysbatch' });
    world.report(world.allocs()[0]!, done);
    const ran = { ...world.allocs()[0]!, DesiredStatus: 'stop' as const };
    world.state.tables.allocs.replace(ran.ID, ran);
    world.register(changed({}, 'sysbatch'));
    const attempt = world.attempt({ Type: 'sysbatch' });
    expect(placedBy(attempt)).toMatchObject([{ PreviousAllocation: ran.ID }]);
    expect(stoppedBy(attempt)).toEqual([]);
  });

  it('SC-292: an allocation is no obstacle to its own replacement', () => {
    const Constraints = [{ LTarget: '${node.unique.name}', RTarget: '', Operand: 'distinct_property' }];
    running(2, updating({}), { Constraints });
    world.register(changed(updating({}), 'system', { Constraints }));
    const attempt = run();
    expect(counts(attempt)).toMatchObject({ DestructiveUpdate: 1, Ignore: 1 });
    expect([stoppedBy(attempt).length, placedBy(attempt).length]).toEqual([1, 1]);
  });

  it('SC-294, SC-295: what is placed on a new node beside canaries is none of them', () => {
    const canaries = updating({ MaxParallel: 4, Canary: 50 });
    running(4, canaries);
    world.addNode({ Name: 'new' });
    world.register(changed(canaries));
    const attempt = run();
    expect(counts(attempt)).toMatchObject({ Canary: 2, DestructiveUpdate: 2, Ignore: 2, Place: 5 });
    expect(placedBy(attempt).filter(({ DeploymentStatus }) => DeploymentStatus?.Canary)).toHaveLength(2);
    expect(placedBy(attempt)).toHaveLength(3);
    expect(attempt.plan.Deployment?.TaskGroups['web']?.DesiredCanaries).toBe(2);
  });

  it('SC-295: a canary that failed is placed again as one, and no other is made', () => {
    const canaries = updating({ MaxParallel: 4, Canary: 50 });
    running(4, canaries);
    world.register(changed(canaries));
    run();
    world.allRunHealthy();
    const canary = world.allocs().find(({ DeploymentStatus }) => DeploymentStatus?.Canary)!;
    world.report(canary, { ...done, ClientStatus: 'failed' });
    const attempt = run({ TriggeredBy: 'deployment-watcher' });
    expect(placedBy(attempt)).toMatchObject([{ PreviousAllocation: canary.ID, DeploymentStatus: { Canary: true } }]);
    expect(counts(attempt)).toMatchObject({ Canary: 2, DestructiveUpdate: 0, Ignore: 3 });
  });

  it('SC-285, SC-299: while the deployment is paused nothing is stopped that no node can replace', () => {
    running(2, updating({}));
    world.register(changed(updating({})));
    run();
    const paused = { ...world.deployment()!, Status: 'paused' as const };
    world.state.tables.deployment.replace(paused.ID, paused);
    const Constraints = [{ LTarget: '${node.unique.name}', RTarget: 'none', Operand: '=' }];
    const { Version, JobModifyIndex } = world.job();
    const job = { ...changed(updating({}), 'system', { Constraints }), Version, JobModifyIndex: JobModifyIndex + 1 };
    world.state.tables.jobs.replace('default/web', { ...job, CreateIndex: world.job().CreateIndex });
    expect(stoppedBy(run())).toEqual([]);
    world.state.tables.deployment.replace(paused.ID, { ...paused, Status: 'running' });
    expect(stoppedBy(run())).toHaveLength(2);
  });

  it('SC-35, EB-220: each group whose nodes are full has a blocked evaluation with its own failures', () => {
    const node = world.addNode();
    const TaskGroups = ['a', 'b'].map((Name) => fixtures.aGroup({ Name, ...sized(99_999) }, 'system'));
    world.register(fixtures.aJob({ Type: 'system', TaskGroups }));
    const attempt = run();
    expect(attempt.blocked.map(({ nodeId, failedGroups }) => [nodeId, Object.keys(failedGroups)])).toEqual([
      [node.ID, ['a']],
      [node.ID, ['b']],
    ]);
  });

  it('SC-277: a sysbatch allocation that ran is run again for another command, and not stopped', () => {
    world.addNode();
    world.register(system({}, 'sysbatch'));
    world.run({ Type: 'sysbatch' });
    const [ran] = world.allocs();
    world.report(ran!, done);
    world.register(changed({}, 'sysbatch'));
    const attempt = world.run({ Type: 'sysbatch' });
    expect(placedBy(attempt)).toMatchObject([{ PreviousAllocation: ran!.ID }]);
    expect(counts(attempt)).toMatchObject({ DestructiveUpdate: 1, InPlaceUpdate: 0 });
  });
});
