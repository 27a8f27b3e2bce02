import { NotHolderError, SimulatedTime, type Allocation, type Plan, type PlanResult, Refusal } from '@waybill/model';
import { NodeLoads, fixtures, StateMachine, StepLine, type Proposed, type TxnDraft } from '@waybill/state';
import { silentLogger, tracerFor } from '@waybill/telemetry';
import { beforeEach, describe, expect, it } from 'vitest';
import { HolderWriter } from '@waybill/roles';
import { jobVersionOf, PlanApplier, SETTLE_RETRY_MS } from './plan-applier.js';
import { PlanQueue } from './plan-queue.js';
import { RejectionTracker, type RejectionTrackerOptions } from './rejection-tracker.js';

let time: SimulatedTime;
let state: StateMachine;
let loads: NodeLoads;
let queue: PlanQueue;
/** Time that passes while a plan waits for its snapshot. */
let waitsMs: number;
let observed: string[];
let written: string[];
let propose: (draft: TxnDraft) => Promise<Proposed>;
let reachable: boolean;
const node = fixtures.aNode();
const evaluation = fixtures.anEval();

const apply = (draft: TxnDraft): Proposed => {
  const applied = state.apply({ ...draft, index: state.appliedIndex + 1 } as Parameters<typeof state.apply>[0]);
  loads.applied(applied);
  return applied;
};

let depth = 1;
let tracker: Partial<RejectionTrackerOptions> = {};

function begin(): void {
  time = new SimulatedTime();
  state = new StateMachine();
  loads = new NodeLoads(state.tables);
  queue = new PlanQueue();
  written = [];
  observed = [];
  reachable = true;
  propose = async (draft) => apply(draft);
  fixtures.apply(state, 'Initialise', {});
  fixtures.apply(state, 'NodeRegister', { Node: node, CreateNodePool: false });
  fixtures.apply(state, 'JobRegister', fixtures.aRegistration(fixtures.aJob(), { Eval: evaluation }));
  fixtures.apply(state, 'LeaseAcquired', { Role: 'broker', Epoch: 1, Holder: 'test' });
  let ids = 0;
  const newId = (): string => `id-${++ids}`;
  const proposer = {
    propose: (draft: TxnDraft) => {
      written.push(draft.type);
      return propose(draft);
    },
  };
  const applier = new PlanApplier({
    queue,
    tables: state.tables,
    loads,
    waitFor: () => (time.advance(waitsMs), reachable ? Promise.resolve() : Promise.reject(new Error('behind'))),
    writer: new HolderWriter({ clock: time, newId, state: proposer, region: 'global' }, { role: 'broker', epoch: 1 }),
    rejections: new RejectionTracker(time, tracker),
    pipelineDepth: depth,
    clock: time,
    timers: time,
    newId,
    logger: silentLogger,
    tracer: () => tracerFor('test'),
    meter: {
      observe: (timer, value) => void observed.push(`${timer} ${value}`),
      observeEval: () => {},
      nodeRejected: (id) => void observed.push(`rejected ${id}`),
    },
  });
  queue.setEnabled(true);
  void applier.applyPlans();
}

beforeEach(() => {
  depth = 1;
  waitsMs = 0;
  tracker = {};
  begin();
});

const placing = (over: Partial<Plan> = {}): Plan =>
  fixtures.aPlan({
    EvalID: evaluation.ID,
    EvalToken: 'token',
    Job: state.tables.jobs.get('default/web') ?? null,
    NodeAllocation: { [node.ID]: [fixtures.anAlloc({ Job: null, NodeID: node.ID, CreateTime: 0 })] },
    ...over,
  });
const submit = (over: Partial<Plan> = {}): Promise<PlanResult> => queue.submit(placing(over));
const settled = async (): Promise<void> => {
  for (let i = 0; i < 30; i++) await new Promise((resolve) => setImmediate(resolve));
};

describe('the plan applier', () => {
  it("EB-267: times are the applier's; only a missing creation time is filled in", async () => {
    await submit();
    const [alloc] = state.tables.allocs.all();
    expect(alloc).toMatchObject({ CreateTime: time.nowMs() * 1e6, ModifyTime: time.nowMs() * 1e6 });
  });

  it('EB-321: the times of a plan: its wait for the snapshot, its verification and its commit', async () => {
    waitsMs = 3;
    propose = async (draft) => {
      time.advance(20);
      return apply(draft);
    };
    await submit();
    expect(observed).toEqual([
      'plan.outstanding_apply 0',
      'plan.wait_for_index 3',
      'plan.evaluate 0',
      'plan.optimistic_apply 0',
      'plan.apply 20',
    ]);
  });

  it('EB-243: a state that is too old fails that plan, and the next one is judged', async () => {
    reachable = false;
    await expect(submit({ SnapshotIndex: 900 })).rejects.toThrow(
      'timed out after 10s waiting for index=900 (previous plan result index=0; plan snapshot index=900)',
    );
    reachable = true;
    expect((await submit()).AllocIndex).toBeGreaterThan(0);
  });

  it('EB-243: a plan is judged on a state that has the result of the plan before it', async () => {
    const { AllocIndex } = await submit({ SnapshotIndex: 1 });
    reachable = false;
    await expect(submit({ SnapshotIndex: 1 })).rejects.toThrow(
      `waiting for index=${AllocIndex} (previous plan result index=${AllocIndex}; plan snapshot index=1)`,
    );
  });

  it('EB-265: a transaction that the state refuses is an error for its submitter', async () => {
    await expect(submit({ EvalID: fixtures.uuid(99) })).rejects.toThrow('unable to find eval id');
    expect([...state.tables.allocs.all()]).toEqual([]);
  });

  it('EB-264: after a write of unknown outcome nothing is judged before a later write of ours was applied', async () => {
    let down = true;
    propose = async (draft) => {
      if (!down) return apply(draft);
      if (draft.type === 'ApplyPlanResults') apply(draft); // it is in the log, but nobody hears of it
      throw new Error('connection lost');
    };
    const first = submit();
    const second = submit();
    const failed = expect(first).rejects.toThrow('connection lost');
    await settled();
    expect(written).toEqual(['ApplyPlanResults', 'Ignore']);
    time.advance(SETTLE_RETRY_MS);
    await settled();
    expect(written).toEqual(['ApplyPlanResults', 'Ignore', 'Ignore']);
    down = false;
    time.advance(SETTLE_RETRY_MS);
    await failed;
    expect((await second).AllocIndex).toBe(state.appliedIndex);
    expect(written.slice(3)).toEqual(['Ignore', 'ApplyPlanResults']);
  });

  it("CL-1065: the plan's transaction tells its queue and its check, the delivery's next one its commit", async () => {
    let told: string | undefined;
    propose = async (draft) => {
      told = draft.stepTimes;
      time.advance(3);
      return apply(draft);
    };
    const steps = new StepLine(time.nowMs());
    const submittedMs = time.nowMs() - 2;
    const { AllocIndex } = await queue.submit(placing(), { traceparent: undefined, submittedMs, steps });
    expect(told).toBe(`${evaluation.ID}@${steps.sinceMs} queued-2+2 checked0+0:0:1`);
    expect(steps.takeUnsent()).toBe(` committed0+3:${AllocIndex}`);
  });

  it('EB-22: of a partly committed plan only the follow-ups that a committed allocation names', async () => {
    const full = fixtures.aNode({ Status: 'down' });
    fixtures.apply(state, 'NodeRegister', { Node: full, CreateNodePool: false });
    const [kept, lost] = [fixtures.anEval(), fixtures.anEval()];
    await submit({
      NodeAllocation: {
        [node.ID]: [fixtures.anAlloc({ Job: null, NodeID: node.ID, FollowupEvalID: kept.ID })],
        [full.ID]: [fixtures.anAlloc({ Job: null, NodeID: full.ID, FollowupEvalID: lost.ID })],
      },
      FollowupEvals: [kept, lost],
    });
    expect(state.tables.evals.has(kept.ID)).toBe(true);
    expect(state.tables.evals.has(lost.ID)).toBe(false);
  });

  it('EB-254: a partial commit tells the worker to read its own placements before it tries again', async () => {
    const down = fixtures.aNode({ Status: 'down' });
    fixtures.apply(state, 'NodeRegister', { Node: down, CreateNodePool: false });
    const result = await submit({
      NodeAllocation: {
        [node.ID]: [fixtures.anAlloc({ Job: null, NodeID: node.ID })],
        [down.ID]: [fixtures.anAlloc({ Job: null, NodeID: down.ID })],
      },
    });
    expect(result.AllocIndex).toBe(state.appliedIndex);
    expect(result.RefreshIndex).toBeGreaterThanOrEqual(result.AllocIndex);
  });

  it.each(['down', 'disconnected', 'ready'] as const)(
    'EB-260: the worker looks again at what was placed on a node that is %s by then, if nobody else will',
    async (Status) => {
      const status = { NodeID: node.ID, Status, UpdatedAt: 1, NodeEvent: null, IdentitySigningKeyID: '' };
      propose = async (draft) => {
        if (draft.type === 'ApplyPlanResults') fixtures.apply(state, 'NodeUpdateStatus', status);
        return apply(draft);
      };
      const { AllocIndex, RefreshIndex } = await submit();
      expect(AllocIndex).toBe(state.appliedIndex);
      expect(RefreshIndex).toBe(Status === 'ready' ? 0 : AllocIndex);
    },
  );

  it('EB-280, SC-143: a job that lost an allocation to this plan gets one evaluation in the same transaction', async () => {
    await submit();
    const [victim] = state.tables.allocs.all();
    fixtures.apply(state, 'JobRegister', fixtures.aRegistration(fixtures.aJob({ ID: 'big' })));
    await submit({
      Job: state.tables.jobs.get('default/big') ?? null,
      NodeAllocation: { [node.ID]: [fixtures.anAlloc({ Job: null, JobID: 'big', NodeID: node.ID })] },
      NodePreemptions: { [node.ID]: [{ ID: victim!.ID, PreemptedByAllocation: 'x' }] },
    });
    const evals = [...state.tables.evals.all()].filter((e) => e.TriggeredBy === 'preemption');
    expect(evals).toMatchObject([{ JobID: 'web', Status: 'pending', CreateIndex: state.appliedIndex }]);
  });
});

/** Proposals that wait until the test lets them through, in the order they came. */
function heldProposals(): { release: (outcome?: Error) => void; readonly waiting: number } {
  const held: ((outcome?: Error) => void)[] = [];
  propose = (draft) =>
    new Promise((resolve, reject) => {
      held.push((outcome) => (outcome ? reject(outcome) : resolve(apply(draft))));
    });
  return {
    release: (outcome) => held.shift()?.(outcome),
    get waiting() {
      return held.length;
    },
  };
}

/** One allocation of 100 MHz. */
const small = (over: Partial<Allocation> = {}): Allocation => {
  const alloc = { ...fixtures.anAlloc({ NodeID: node.ID, ...over }), Job: null };
  for (const task of Object.values(alloc.AllocatedResources.Tasks)) {
    task.Cpu = { CpuShares: 100, ReservedCores: null };
    task.Memory = { MemoryMB: 10, MemoryMaxMB: 0 };
  }
  alloc.AllocatedResources.Shared.DiskMB = 1;
  return alloc;
};

/** A plan of a job of its own, so that plans depend on each other by what they touch only. */
function ofOwnJob(id: string, over: Partial<Plan> = {}): Partial<Plan> {
  const own = fixtures.anEval({ JobID: id });
  fixtures.apply(state, 'JobRegister', fixtures.aRegistration(fixtures.aJob({ ID: id }), { Eval: own }));
  return {
    EvalID: own.ID,
    Job: state.tables.jobs.get(`default/${id}`) ?? null,
    NodeAllocation: { [node.ID]: [small({ JobID: id })] },
    ...over,
  };
}

describe('the pipeline', () => {
  it('EB-262: with depth 16, twenty plans for one node are all committed, sixteen at a time', async () => {
    depth = 16;
    begin();
    const log = heldProposals();
    const answers = Array.from({ length: 20 }, (_, i) => submit(ofOwnJob(`job-${i}`)));
    await settled();
    expect(log.waiting).toBe(16);
    while (log.waiting > 0) {
      log.release();
      await settled();
    }
    for (const { RejectedNodes, AllocIndex } of await Promise.all(answers)) {
      expect(RejectedNodes).toEqual([]);
      expect(AllocIndex).toBeGreaterThan(0);
    }
    expect(state.tables.allocs.size).toBe(20);
  });

  it('EB-262: by default the next plan is judged while one is committed, and waits at the limit', async () => {
    const log = heldProposals();
    const answers = [submit(ofOwnJob('a')), submit(ofOwnJob('b'))];
    await settled();
    expect(log.waiting).toBe(1);
    log.release();
    await settled();
    expect(log.waiting).toBe(1);
    log.release();
    expect(await Promise.all(answers)).toHaveLength(2);
  });

  it('EB-242, EB-253: what a plan in flight takes counts, and the loser is told to read up to it', async () => {
    depth = 4;
    begin();
    const log = heldProposals();
    const half = (): Allocation => {
      const alloc = small();
      for (const task of Object.values(alloc.AllocatedResources.Tasks)) task.Cpu.CpuShares = 2_500;
      return alloc;
    };
    const winner = submit(ofOwnJob('a', { NodeAllocation: { [node.ID]: [half()] } }));
    const loser = submit(ofOwnJob('b', { NodeAllocation: { [node.ID]: [half()] } }));
    await settled();
    expect(log.waiting).toBe(1);
    log.release();
    const { AllocIndex } = await winner;
    const rejected = await loser;
    expect(rejected).toMatchObject({ RejectedNodes: [node.ID], AllocIndex: 0 });
    expect(rejected.RefreshIndex).toBeGreaterThanOrEqual(AllocIndex);
  });

  it('EB-263 (F29): a plan that needs what another frees waits for it, and finds the room taken if that one fails', async () => {
    depth = 4;
    begin();
    const filling = small();
    for (const task of Object.values(filling.AllocatedResources.Tasks)) task.Cpu.CpuShares = 3_900;
    await submit(ofOwnJob('full', { NodeAllocation: { [node.ID]: [filling] } }));
    const log = heldProposals();
    const stop = { ID: filling.ID, DesiredDescription: 'x', ClientStatus: '' as const, FollowupEvalID: '' };
    const freeing = submit(ofOwnJob('a', { NodeAllocation: {}, NodeUpdate: { [node.ID]: [stop] } }));
    const failed = expect(freeing).rejects.toThrow('refused');
    const relying = submit(ofOwnJob('b', { NodeAllocation: { [node.ID]: [small(), small()] } }));
    await settled();
    expect(log.waiting).toBe(1);
    log.release(new Refusal('conflict', 'refused'));
    await failed;
    expect(await relying).toMatchObject({ RejectedNodes: [node.ID], AllocIndex: 0 });
  });

  it('EB-263: of a commit that failed nothing stays in the view', async () => {
    depth = 4;
    begin();
    const log = heldProposals();
    const big = small();
    for (const task of Object.values(big.AllocatedResources.Tasks)) task.Cpu.CpuShares = 3_900;
    const first = submit(ofOwnJob('a', { NodeAllocation: { [node.ID]: [big] } }));
    const failed = expect(first).rejects.toThrow('refused');
    await settled();
    log.release(new Refusal('conflict', 'refused'));
    await failed;
    const second = submit(ofOwnJob('b', { NodeAllocation: { [node.ID]: [{ ...big, ID: fixtures.freshId() }] } }));
    await settled();
    log.release();
    expect(await second).toMatchObject({ RejectedNodes: [] });
  });

  it('EB-236, F30: a queue that closes while plans are in flight answers each exactly once', async () => {
    const log = heldProposals();
    const inFlight = submit(ofOwnJob('a'));
    const waiting = submit(ofOwnJob('b'));
    const third = submit(ofOwnJob('c'));
    const flushed = Promise.allSettled([waiting, third]);
    await settled();
    queue.setEnabled(false);
    log.release();
    expect((await inFlight).AllocIndex).toBeGreaterThan(0);
    await settled();
    log.release();
    expect((await flushed).map((f) => f.status)).toContain('rejected');
  });
});

describe('what is left out or refused', () => {
  it('EB-266: a job whose namespace is gone', async () => {
    const plan = ofOwnJob('a');
    state.tables.namespaces.replace('default', undefined);
    await expect(submit(plan)).rejects.toThrow('namespace "default" not found for job "a": ');
  });

  it('EB-239 (F43): allocations get the version they were planned for, also when the job was updated meanwhile', async () => {
    const plan = ofOwnJob('a');
    const planned = state.tables.jobs.get('default/a');
    const [group] = planned!.TaskGroups;
    const updated = { ...planned!, TaskGroups: [{ ...group!, Count: 7 }] };
    fixtures.apply(state, 'JobRegister', fixtures.aRegistration(updated));
    expect(state.tables.jobs.get('default/a')?.Version).toBe(planned!.Version + 1);
    await submit(plan);
    expect([...state.tables.allocs.all()].map((a) => a.Job?.Version)).toEqual([planned!.Version]);
  });

  it('EB-340: a stored allocation moves to the new version with an in-place update, and by nothing else', async () => {
    await submit();
    await submit();
    const [first, second] = state.tables.allocs.all();
    fixtures.apply(state, 'JobRegister', fixtures.aRegistration(fixtures.aJob({ Priority: 60 })));
    const job = state.tables.jobs.get('default/web')!;
    await submit({ Job: job, NodeAllocation: { [node.ID]: [{ ...first!, Job: job }, second!] } });
    const versions = [first, second].map((alloc) => state.tables.allocs.get(alloc!.ID)?.Job?.Version);
    expect(versions).toEqual([1, 0]);
  });

  it('EB-257: what ended already is not preempted', async () => {
    const victim = small({ ClientStatus: 'failed' });
    await submit(ofOwnJob('v', { NodeAllocation: { [node.ID]: [victim] } }));
    const result = await submit(
      ofOwnJob('a', { NodePreemptions: { [node.ID]: [{ ID: victim.ID, PreemptedByAllocation: 'x' }] } }),
    );
    expect(result.NodePreemptions).toEqual({});
  });

  it('EB-244: preemptions on a node that the plan does not touch otherwise are ignored', async () => {
    const victim = small();
    await submit(ofOwnJob('v', { NodeAllocation: { [node.ID]: [victim] } }));
    const result = await submit(
      ofOwnJob('a', {
        NodeAllocation: {},
        NodePreemptions: { [node.ID]: [{ ID: victim.ID, PreemptedByAllocation: 'x' }] },
      }),
    );
    expect(result).toMatchObject({ NodePreemptions: {}, AllocIndex: 0 });
  });

  it('EB-275 (F26): of a job stopped while its plan was on its way nothing is placed, and nobody is told it was', async () => {
    const log = heldProposals();
    const answer = submit(ofOwnJob('a'));
    await settled();
    fixtures.apply(
      state,
      'JobDeregister',
      { JobID: 'a', Purge: false, NoShutdownDelay: false, SubmitTime: 0, Eval: null, TrackedVersions: 6 },
      { namespace: 'default' },
    );
    log.release();
    expect((await answer).AllocIndex).toBeGreaterThan(0);
    expect([...state.tables.allocs.all()]).toEqual([]);
  });
});

describe('nodes that reject again and again', () => {
  const rejectedOn = (): Promise<PlanResult> => {
    const alloc = small();
    for (const task of Object.values(alloc.AllocatedResources.Tasks)) task.Cpu.CpuShares = 999_999;
    return submit({ NodeAllocation: { [node.ID]: [alloc] } });
  };

  it('EB-288, EB-269: a bad node is marked ineligible by the very plan, even if nothing else is left of it', async () => {
    tracker = { enabled: true, nodeThreshold: 2 };
    begin();
    expect(await rejectedOn()).toMatchObject({ IneligibleNodes: [], AllocIndex: 0 });
    const result = await rejectedOn();
    expect(result.IneligibleNodes).toEqual([node.ID]);
    expect(result.AllocIndex).toBe(state.appliedIndex);
    expect(state.tables.nodes.get(node.ID)).toMatchObject({ SchedulingEligibility: 'ineligible' });
    expect(state.tables.nodes.get(node.ID)?.Events.at(-1)?.Message).toContain('multiple plan rejections');
  });

  it('EB-282: by default no node is ever marked', async () => {
    for (let i = 0; i < 200; i++) expect((await rejectedOn()).IneligibleNodes).toEqual([]);
  });
});

describe('EB-239: the job of a plan', () => {
  const versionOf = (over: Partial<Plan>) => jobVersionOf(state.tables, placing(over));
  const stopsOnly = { NodeAllocation: {} };

  it('is the stored version that it names, also when a newer one was registered', () => {
    const first = state.tables.jobs.get('default/web')!;
    const Job = fixtures.aJob({ Priority: 70 });
    fixtures.apply(state, 'JobRegister', fixtures.aRegistration(Job));
    expect(versionOf({ Job: first })).toMatchObject({ Version: 0, Priority: 50 });
    expect(versionOf({ Job: state.tables.jobs.get('default/web')! })).toMatchObject({ Version: 1, Priority: 70 });
    expect(versionOf({ Job: null })).toBeNull();
  });

  it.each([
    ['is not stored', { Version: 9 }],
    ['was registered anew since', { CreateIndex: 9 }],
  ])('EB-238: that %s is missing for a plan that places, and not for one that stops', (_, over) => {
    const Job = { ...state.tables.jobs.get('default/web')!, ...over };
    expect(() => versionOf({ Job })).toThrow('job "web" in namespace "default" not found');
    const NodeAllocation = { [node.ID]: [], other: [fixtures.anAlloc()] };
    expect(() => versionOf({ Job, NodeAllocation })).toThrow('not found');
    expect([versionOf({ Job, ...stopsOnly }), versionOf({ Job, NodeAllocation: { [node.ID]: [] } })]).toEqual([
      null,
      null,
    ]);
  });
});

describe('EB-264: the wait for the outcome of a doubtful write', () => {
  it.each([
    ['the role is lost', () => Promise.reject(new NotHolderError('over'))],
    ['the term has ended', () => Promise.reject(new Error('connection lost'))],
  ])('ends when %s', async (_, later) => {
    propose = () => Promise.reject(new Error('connection lost'));
    const failed = expect(submit()).rejects.toThrow('connection lost');
    await settled();
    expect(time.armedCount).toBe(1);
    propose = later;
    if (_ === 'the term has ended') queue.setEnabled(false);
    time.advance(SETTLE_RETRY_MS);
    await settled();
    expect(time.armedCount).toBe(0);
    await failed;
  });
});
