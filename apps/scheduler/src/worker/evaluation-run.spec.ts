import { type Evaluation, type Plan, type PlanResult, rfc3339FromNs } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { beforeEach, describe, expect, it } from 'vitest';
import { EvaluationRun, MissingRefreshError, type EvaluationRunDeps, type Planner } from './evaluation-run.js';
import { UnknownSchedulerError } from '../schedule.js';
import { SchedulingFixture } from '../scheduling.fixture.js';

let world: SchedulingFixture;
let log: string[];
let written: Evaluation[];
let created: Evaluation[];
let reblocked: Evaluation[];
/** How the applier answers each plan in turn; after the last, everything is committed whole. */
let answers: ((plan: Plan) => PlanResult)[];

beforeEach(() => {
  world = new SchedulingFixture();
  log = [];
  written = [];
  created = [];
  reblocked = [];
  answers = [];
});

const resultOf = ({ NodeUpdate, NodeAllocation }: Plan, over: Partial<PlanResult> = {}): PlanResult =>
  fixtures.aCommittedPlan({ NodeUpdate, NodeAllocation, AllocIndex: world.state.appliedIndex, ...over });
const nothing = (plan: Plan): PlanResult =>
  resultOf(plan, { NodeUpdate: {}, NodeAllocation: {}, AllocIndex: 0, RefreshIndex: world.state.appliedIndex });

function commit(plan: Plan): PlanResult {
  world.commit({ plan } as Parameters<SchedulingFixture['commit']>[0]);
  const { tables } = world.state;
  const NodeAllocation = Object.fromEntries(
    Object.entries(plan.NodeAllocation).map(([node, allocs]) => [
      node,
      allocs.map((a) => tables.allocs.get(a.ID) ?? a),
    ]),
  );
  return resultOf(plan, { NodeAllocation });
}

const planner: Planner = {
  async submitPlan(plan) {
    log.push('plan');
    return (answers.shift() ?? commit)(plan);
  },
  async updateEval(e) {
    log.push(`update ${e.Status}`);
    written.push(e);
  },
  async createEval(e) {
    log.push(`create ${e.TriggeredBy}`);
    created.push(e);
  },
  async reblockEval(e) {
    log.push('reblock');
    reblocked.push(e);
  },
};

async function run(over: Partial<Evaluation> = {}, deps: Partial<EvaluationRunDeps> = {}): Promise<Evaluation> {
  const evaluation = fixtures.anEval(over);
  fixtures.apply(world.state, 'EvalUpdate', { Evals: [evaluation] });
  const { state } = world;
  const ended = await new EvaluationRun(evaluation, {
    planner,
    snapshots: {
      tables: state.tables,
      get appliedIndex() {
        return state.appliedIndex;
      },
      reach: async (index) => {
        log.push(`reach ${index > 0}`);
      },
    },
    clock: { nowMs: () => world.nowMs },
    dueNs: 0,
    newId: world.newId,
    ...deps,
  }).runAttempts();
  if (ended) await planner.updateEval(ended);
  return evaluation;
}

/** One with room for a single allocation. */
function addSmallNode(): void {
  const Cpu = { CpuShares: 150, TotalCpuCores: 1, ReservableCpuCores: null };
  world.addNode({ NodeResources: { ...fixtures.aNode().NodeResources, Cpu } });
}

/** Without an update block: a run that places nothing then plans nothing, not even a deployment. */
const register = (Count = 1, type = 'service') =>
  world.register(fixtures.aJob({ Type: type, TaskGroups: [fixtures.aGroup({ Count, Update: null }, type)] }));

describe('a run that succeeds', () => {
  it('SC-23, EB-9, EB-214: ends complete, with nothing queued and the snapshot it used', async () => {
    world.addNode();
    register(2);
    await run();
    expect(log).toEqual(['plan', 'update complete']);
    expect(written[0]).toMatchObject({
      Status: 'complete',
      StatusDescription: '',
      QueuedAllocations: { web: 0 },
      FailedTGAllocs: {},
      BlockedEval: '',
    });
    expect(written[0]!.SnapshotIndex).toBeGreaterThan(0);
  });

  it('EB-227, SC-18: a plan that changes nothing is not submitted', async () => {
    world.addNode();
    register();
    await run();
    log.length = 0;
    await run();
    expect(log).toEqual(['update complete']);
  });

  it('EB-198, SC-306: what is applied while it runs is seen by the next attempt, and not by this one', async () => {
    world.addNode();
    register(2);
    const before = world.state.appliedIndex + 1; // with the evaluation itself
    answers = [nothing];
    const seen: { from: number; to: number; snapshot: number }[] = [];
    const timed: EvaluationRunDeps['timed'] = (pass) => {
      queueMicrotask(() => world.addNode());
      const from = world.state.appliedIndex;
      const attempt = pass();
      seen.push({ from, to: world.state.appliedIndex, snapshot: attempt.plan.SnapshotIndex });
      return attempt;
    };
    await run({}, { timed });
    expect(seen[0]).toEqual({ from: before, to: before, snapshot: before });
    expect(seen[1]!.from).toBeGreaterThan(before);
    expect(seen[1]!.to).toBe(seen[1]!.from);
  });

  it('EB-16: clocks that differ do not make an evaluation end before it was created', async () => {
    const late = (world.nowMs + 60_000) * 1e6;
    await run({ CreateTime: late });
    expect(written[0]!.ModifyTime).toBeGreaterThan(late);
  });

  it('EB-21, EB-221, SC-31, SC-32, SC-308: what failed gets one blocked evaluation, visible before its creator ends', async () => {
    register(2);
    const evaluation = await run();
    expect(log).toEqual(['create queued-allocs', 'update complete']);
    expect(created[0]).toMatchObject({
      Status: 'blocked',
      StatusDescription: 'created to place remaining allocations',
      PreviousEval: evaluation.ID,
      SnapshotIndex: written[0]!.SnapshotIndex,
    });
    expect(Object.keys(created[0]!.FailedTGAllocs)).toEqual(['web']);
    expect(written[0]).toMatchObject({ BlockedEval: created[0]!.ID, QueuedAllocations: { web: 2 } });
  });

  it('EB-219, EB-217, SC-33: a blocked one waits on under its id, after the summary was put right', async () => {
    register(2);
    const evaluation = await run({ Status: 'blocked' });
    expect(log).toEqual(['update blocked', 'reblock']);
    expect(reblocked[0]).toMatchObject({ ID: evaluation.ID, Status: 'blocked', QueuedAllocations: { web: 2 } });
    fixtures.apply(world.state, 'EvalUpdate', { Evals: [written[0]!] });
    log.length = 0;
    await run({ Status: 'blocked' });
    expect(log).toEqual(['reblock']);
  });

  it('SC-34: a blocked one that placed everything is complete', async () => {
    world.addNode();
    register();
    await run({ Status: 'blocked' });
    expect(log).toEqual(['plan', 'update complete']);
  });

  it('EB-22, SC-175: it names the last follow-up that was committed with its plan', async () => {
    world.addNode();
    register();
    await run();
    world.report(world.allocs()[0]!, { ClientStatus: 'failed' });
    await run({ TriggeredBy: 'alloc-failure' });
    const followup = world.allocs()[0]!.FollowupEvalID;
    expect(followup).not.toBe('');
    expect(written[1]!.NextEval).toBe(followup);
  });

  it('EB-22: it names a follow-up that the answer names, although this copy of the state does not have it yet', async () => {
    world.addNode();
    register();
    await run();
    world.report(world.allocs()[0]!, { ClientStatus: 'failed' });
    let followup = '';
    answers = [
      (plan) => {
        followup = plan.FollowupEvals[0]!.ID;
        return resultOf(plan);
      },
    ];
    await run({ TriggeredBy: 'alloc-failure' });
    expect(world.state.tables.evals.has(followup)).toBe(false);
    expect(written[1]!.NextEval).toBe(followup);
  });

  it('SC-23: it keeps the follow-up and the deployment that it had, if it makes none', async () => {
    world.addNode();
    register(1, 'batch');
    await run({ Type: 'batch', NextEval: 'next', DeploymentID: 'rollout' });
    await run({ Type: 'batch', NextEval: 'next', DeploymentID: 'rollout' });
    expect(written).toMatchObject(Array(2).fill({ NextEval: 'next', DeploymentID: 'rollout' }));
  });

  it('SC-31: an evaluation that comes early waits for its own follow-ups, and blocks nothing', async () => {
    const never = [{ LTarget: '${attr.nothing}', RTarget: 'x', Operand: '=' }];
    const groups = [{}, { Name: 'never', Constraints: never }].map((over) =>
      fixtures.aGroup({ Update: null, ...over }),
    );
    world.addNode();
    world.register(fixtures.aJob({ TaskGroups: groups }));
    await run();
    world.report(world.allocs()[0]!, { ClientStatus: 'failed' });
    const { allocs } = world.state.tables;
    const failed = world.allocs()[0]!;
    const createdBy = async (WaitUntil: string | null) => {
      allocs.replace(failed.ID, failed);
      log.length = 0;
      await run({ TriggeredBy: 'alloc-failure', WaitUntil });
      return log.filter((line) => line.startsWith('create')).length;
    };
    const at = (ms: number) => rfc3339FromNs((world.nowMs + ms) * 1e6);
    expect([await createdBy(at(1)), await createdBy(at(0)), await createdBy(at(-1)), await createdBy(null)]).toEqual([
      0, 0, 1, 1,
    ]);
    expect(world.allocs()[0]!.FollowupEvalID).not.toBe('');
    // Without a follow-up of its own it blocks, however early it comes.
    log.length = 0;
    await run({ WaitUntil: at(1) });
    expect(log).toEqual(['create queued-allocs', 'update complete']);
  });

  it('SC-33: the summary is put right if the count of any group changed', async () => {
    const groups = (...counts: number[]) =>
      counts.map((Count, at) => fixtures.aGroup({ Name: `g${at}`, Count, Update: null }));
    world.register(fixtures.aJob({ TaskGroups: groups(1, 1) }));
    await run({ Status: 'blocked' });
    fixtures.apply(world.state, 'EvalUpdate', { Evals: [written[0]!] });
    world.register(fixtures.aJob({ TaskGroups: groups(1, 2) }));
    log.length = 0;
    await run({ Status: 'blocked' });
    expect(log).toEqual(['update blocked', 'reblock']);
    expect(reblocked[1]).toMatchObject({ QueuedAllocations: { g0: 1, g1: 2 }, FailedTGAllocs: { g0: {}, g1: {} } });
    expect(reblocked[1]!.SnapshotIndex).toBeGreaterThan(0);
  });

  it("SC-191: the end of a disconnect window is found although the clock here is behind the broker's", async () => {
    const LOST_AFTER_MS = 60_000;
    const node = world.addNode();
    const group = {
      Count: 1,
      Update: null,
      Disconnect: { LostAfter: LOST_AFTER_MS * 1e6, StopOnClientAfter: null, Replace: false, Reconcile: '' },
    };
    world.register(fixtures.aJob({ TaskGroups: [fixtures.aGroup(group)] }));
    await run();
    world.report(world.allocs()[0]!, { ClientStatus: 'running' });
    world.nodeIs(node, 'disconnected');
    await run({ TriggeredBy: 'node-update' });
    const dueNs = (world.nowMs + LOST_AFTER_MS) * 1e6;

    world.nowMs += LOST_AFTER_MS - 2_000; // the broker's clock has reached it
    await run({ TriggeredBy: 'max-disconnect-timeout', WaitUntil: rfc3339FromNs(dueNs) }, { dueNs });
    expect(world.allocs()[0]).toMatchObject({ ClientStatus: 'lost', DesiredStatus: 'stop' });
  });

  it('EB-220: a system job blocks per group, and its evaluation does not name what may be several', async () => {
    world.addNode({ NodeResources: { ...fixtures.aNode().NodeResources, Memory: { MemoryMB: 1 } } });
    register(1, 'system');
    await run({ Type: 'system' });
    expect(log).toEqual(['create queued-allocs', 'update complete']);
    expect(created[0]!.NodeID).not.toBe('');
    expect(written[0]!.BlockedEval).toBe('');
    log.length = 0;
    await run({ Type: 'system', Status: 'blocked' });
    expect(log).toEqual(['create queued-allocs', 'update complete']);
  });
});

describe('a run against conflicts', () => {
  it('EB-209, SC-19: a refresh index is waited for, then it tries again', async () => {
    world.addNode();
    register();
    answers = [nothing];
    await run();
    expect(log).toEqual(['plan', 'reach true', 'plan', 'update complete']);
  });

  it('EB-213: what it writes after a refresh carries the index of its first snapshot', async () => {
    world.addNode();
    register(200); // more than fits
    const first = world.state.appliedIndex + 1; // after the evaluation itself
    answers = [
      (plan) => {
        world.addNode();
        return nothing(plan);
      },
    ];
    await run();
    expect(created[0]).toMatchObject({ TriggeredBy: 'queued-allocs', SnapshotIndex: first });
    expect(written[0]).toMatchObject({ Status: 'complete', SnapshotIndex: first });
  });

  it('a plan that held less than what is wanted is followed by another one, on the state with the first', async () => {
    for (let n = 0; n < 3; n++) world.addNode();
    const task = fixtures.aTask();
    const Tasks = [{ ...task, Resources: { ...task.Resources, CPU: 1, MemoryMB: 1 } }];
    const EphemeralDisk = { Sticky: false, SizeMB: 1, Migrate: false };
    world.register(
      fixtures.aJob({ TaskGroups: [fixtures.aGroup({ Count: 1_001, Update: null, Tasks, EphemeralDisk })] }),
    );
    await run();
    expect(log).toEqual(['plan', 'reach true', 'plan', 'update complete']);
    expect(world.live()).toHaveLength(1_001);
  });

  it('EB-210, EB-255: after a full commit there is no other snapshot and no other attempt', async () => {
    world.addNode();
    register();
    await run();
    expect(log).toEqual(['plan', 'update complete']);
  });

  it('EB-224, SC-336, DP-120: a deployment of a rejected plan is not written on the evaluation, a committed one is', async () => {
    world.addNode();
    register();
    const rejected = fixtures.aDeployment();
    const committed = fixtures.aDeployment();
    answers = [
      (plan) => ({ ...nothing(plan), Deployment: rejected }),
      (plan) => ({ ...commit(plan), Deployment: committed }),
    ];
    await run();
    expect(written[0]).toMatchObject({ Status: 'complete', DeploymentID: committed.ID });
    register(2);
    answers = [(plan) => ({ ...nothing(plan), Deployment: rejected })];
    await run();
    expect(written[1]).toMatchObject({ Status: 'complete', DeploymentID: '' });
  });

  it('EB-224: a deployment that one of its plans created stays on the evaluation, also if a later plan creates none', async () => {
    world.addNode();
    register();
    const committed = fixtures.aDeployment();
    answers = [
      (plan) => {
        const result = commit(plan);
        register(2);
        return { ...result, Deployment: committed, RefreshIndex: world.state.appliedIndex };
      },
      commit,
    ];
    await run();
    expect(log).toEqual(['plan', 'reach true', 'plan', 'update complete']);
    expect(written[0]).toMatchObject({ Status: 'complete', DeploymentID: committed.ID });
  });

  it('SC-23: an evaluation that makes no deployment names the newest of its job, also when the job is stopped', async () => {
    world.addNode();
    world.register(fixtures.aJob());
    await run();
    const { ID } = world.deployment()!;
    const named = async (over: Partial<Evaluation> = {}) => (await run(over), written.at(-1)?.DeploymentID);
    expect(await named()).toBe(ID);
    world.allRunHealthy();
    expect(await named({ TriggeredBy: 'deployment-watcher' })).toBe(ID);
    expect(await named({ TriggeredBy: 'alloc-stop' })).toBe(ID);
    world.stopJob('web');
    expect(await named({ TriggeredBy: 'job-deregister' })).toBe(ID);
  });

  it('EB-223, SC-22: without progress it gives up after 5 attempts, and waits as blocked', async () => {
    world.addNode();
    register();
    answers = Array(9).fill(nothing);
    await run();
    expect(log.filter((l) => l === 'plan')).toHaveLength(5);
    expect(log.slice(-2)).toEqual(['create max-plan-attempts', 'update failed']);
    expect(created[0]).toMatchObject({
      Status: 'blocked',
      StatusDescription: 'created due to placement conflicts',
      NodeID: '',
      FailedTGAllocs: {},
      EscapedComputedClass: true,
      PreviousEval: written[0]!.ID,
    });
    expect(written[0]).toMatchObject({
      Status: 'failed',
      StatusDescription: 'maximum attempts reached (5)',
      BlockedEval: created[0]!.ID,
    });
  });

  it('EB-223: a system job only fails', async () => {
    world.addNode();
    register(1, 'system');
    answers = Array(9).fill(nothing);
    await run({ Type: 'system' });
    expect(log.filter((l) => l === 'plan')).toHaveLength(5);
    expect(created).toEqual([]);
    expect(written[0]).toMatchObject({ Status: 'failed', BlockedEval: '' });
  });

  it('SC-16, SC-17: each attempt reads the job anew, and begins with no failures and no counts', async () => {
    register(2);
    addSmallNode();
    const first = (plan: Plan): PlanResult => {
      // Meanwhile there is room, and the job wants more.
      world.addNode();
      register(3);
      return nothing(plan);
    };
    answers = [first];
    await run();
    expect(log.filter((line) => line === 'plan')).toHaveLength(2);
    expect(written[0]).toMatchObject({ Status: 'complete', FailedTGAllocs: {}, QueuedAllocations: { web: 0 } });
    expect(created).toEqual([]);
    expect(world.live()).toHaveLength(3);
  });

  it('SC-17, EB-221: the blocked evaluation is made once in a run, not once per attempt', async () => {
    addSmallNode();
    register(2);
    answers = [nothing, nothing];
    await run();
    expect(log).toEqual([
      'plan',
      'reach true',
      'plan',
      'reach true',
      'plan',
      'create queued-allocs',
      'update complete',
    ]);
  });

  it('SC-25: one reading of the clock for all of an attempt', async () => {
    world.addNode();
    register(3);
    const times = new Set<number>();
    const timed: EvaluationRunDeps['timed'] = (pass) => {
      const attempt = pass();
      for (const { CreateTime, ModifyTime } of Object.values(attempt.plan.NodeAllocation).flat())
        times.add(CreateTime).add(ModifyTime);
      world.nowMs += 1_000;
      return attempt;
    };
    await run({}, { timed });
    expect(times.size).toBe(1);
  });

  it('SC-27, SC-26: updates in place are not what was queued', async () => {
    world.addNode();
    register(2);
    await run();
    const group = fixtures.aGroup({ Count: 4, Update: null });
    world.register(fixtures.aJob({ Priority: 60, TaskGroups: [group] }));
    answers = [
      (plan) => {
        // Of the two that are new the applier takes one; the two rewritten ones are committed.
        const [fresh] = Object.values(plan.NodeAllocation)
          .flat()
          .filter(({ CreateIndex }) => CreateIndex === 0);
        const without = Object.fromEntries(
          Object.entries(plan.NodeAllocation).map(([node, allocs]) => [node, allocs.filter((a) => a !== fresh)]),
        );
        return { ...commit({ ...plan, NodeAllocation: without }), RefreshIndex: 1 };
      },
      nothing,
      nothing,
      nothing,
      nothing,
      nothing,
    ];
    await run();
    expect(written[1]).toMatchObject({ Status: 'failed', QueuedAllocations: { web: 1 } });
  });

  it('SC-303: what was wanted of each group is kept with the evaluation', async () => {
    world.addNode();
    register(2);
    await run();
    expect(written[0]?.PlanAnnotations?.DesiredTGUpdates).toMatchObject({ web: { Place: 2, Ignore: 0 } });
  });

  it('EB-211, SC-21: progress starts the count of attempts over', async () => {
    world.addNode();
    register();
    const some = (plan: Plan): PlanResult => resultOf(plan, { NodeAllocation: { other: [] }, RefreshIndex: 1 });
    answers = [nothing, nothing, nothing, nothing, some, nothing, nothing, nothing, nothing, nothing, nothing];
    await run();
    expect(log.filter((l) => l === 'plan')).toHaveLength(10);
  });

  it.each([
    ['a stop', { NodeUpdate: { other: [] } }],
    ['a deployment', { Deployment: fixtures.aDeployment() }],
    [
      'a change of a deployment',
      { DeploymentUpdates: [{ DeploymentID: '', Status: 'failed', StatusDescription: '' }] },
    ],
  ] as const)('EB-211, SC-21: %s alone is progress too', async (_, committed) => {
    world.addNode();
    register();
    const some = (plan: Plan): PlanResult => ({ ...nothing(plan), ...(committed as Partial<PlanResult>) });
    answers = [nothing, some, ...Array(9).fill(nothing)];
    await run();
    expect(log.filter((l) => l === 'plan')).toHaveLength(7);
  });

  it('EB-223: a batch job waits as blocked after 2 attempts', async () => {
    world.addNode();
    register(1, 'batch');
    answers = Array(9).fill(nothing);
    await run({ Type: 'batch' });
    expect(log.filter((l) => l === 'plan')).toHaveLength(2);
    expect(log.slice(-2)).toEqual(['create max-plan-attempts', 'update failed']);
  });

  it('EB-212, SC-20: half a commit that says nothing of a refresh is an error for a service, not for a system job', async () => {
    world.addNode();
    register();
    answers = [(plan) => ({ ...nothing(plan), RefreshIndex: 0 })];
    await expect(run()).rejects.toThrow(MissingRefreshError);
    expect(written).toEqual([]);
    register(1, 'system');
    answers = [(plan) => ({ ...nothing(plan), RefreshIndex: 0 })];
    await run({ Type: 'system' });
    expect(written[0]?.Status).toBe('complete');
  });

  it('EB-225: if the plan fails nothing is written', async () => {
    world.addNode();
    register();
    answers = [
      () => {
        throw new Error('plan queue flushed');
      },
    ];
    await expect(run()).rejects.toThrow('plan queue flushed');
    expect(written).toEqual([]);
  });
});

describe('what it cannot do', () => {
  it('EB-30, SC-11: a trigger the scheduler does not take fails the evaluation', async () => {
    register(1, 'system');
    const deployment = fixtures.aDeployment();
    world.state.tables.deployment.replace(deployment.ID, deployment);
    await run({ Type: 'system', TriggeredBy: 'alloc-failure' });
    expect(written[0]).toMatchObject({
      DeploymentID: '',
      Status: 'failed',
      StatusDescription: "scheduler cannot handle 'alloc-failure' evaluation reason",
      PlanAnnotations: null,
    });
    expect([written[0]!.FailedTGAllocs, written[0]!.QueuedAllocations]).toEqual([{}, {}]);
  });

  it('SC-12: no scheduler of this type', async () => {
    await expect(run({ Type: 'nonsense' })).rejects.toThrow(UnknownSchedulerError);
    await expect(run({ Type: 'nonsense' })).rejects.toThrow("unknown scheduler 'nonsense'");
  });
});
