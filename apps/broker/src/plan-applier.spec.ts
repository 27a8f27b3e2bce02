import { SimulatedTime, type Plan, type PlanResult } from '@waybill/model';
import { fixtures, StateMachine, type Proposed, type TxnDraft } from '@waybill/state';
import { silentLogger, tracerFor } from '@waybill/telemetry';
import { beforeEach, describe, expect, it } from 'vitest';
import { FencedWriter } from './fenced-writer.js';
import { PlanApplier, SETTLE_RETRY_MS } from './plan-applier.js';
import { PlanQueue } from './plan-queue.js';

let time: SimulatedTime;
let state: StateMachine;
let queue: PlanQueue;
let written: string[];
let propose: (draft: TxnDraft) => Promise<Proposed>;
let reachable: boolean;
const node = fixtures.aNode();
const evaluation = fixtures.anEval();

const apply = (draft: TxnDraft): Proposed => {
  const { index, verdict } = state.apply({ ...draft, index: state.appliedIndex + 1 } as Parameters<
    typeof state.apply
  >[0]);
  return { index, verdict };
};

beforeEach(() => {
  time = new SimulatedTime();
  state = new StateMachine();
  queue = new PlanQueue();
  written = [];
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
    waitFor: () => (reachable ? Promise.resolve() : Promise.reject(new Error('behind'))),
    writer: new FencedWriter({ clock: time, newId, proposer, region: 'global' }, { role: 'broker', epoch: 1 }),
    clock: time,
    timers: time,
    newId,
    logger: silentLogger,
    tracer: () => tracerFor('test'),
  });
  queue.setEnabled(true);
  void applier.run();
});

const placing = (over: Partial<Plan> = {}): Plan => ({
  EvalID: evaluation.ID,
  EvalToken: 'token',
  Priority: 50,
  AllAtOnce: false,
  Job: state.tables.jobs.get('default/web') ?? null,
  NodeUpdate: {},
  NodeAllocation: { [node.ID]: [fixtures.anAlloc({ Job: null, NodeID: node.ID, CreateTime: 0 })] },
  NodePreemptions: {},
  Deployment: null,
  DeploymentUpdates: [],
  FollowupEvals: [],
  Annotations: null,
  SnapshotIndex: 0,
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

  it('EB-243: a state that is too old fails that plan, and the next one is judged', async () => {
    reachable = false;
    await expect(submit({ SnapshotIndex: 900 })).rejects.toThrow(
      'timed out after 10s waiting for index=900 (previous plan result index=0; plan snapshot index=900)',
    );
    reachable = true;
    expect((await submit()).AllocIndex).toBeGreaterThan(0);
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

  it('EB-280: a job that lost an allocation to this plan gets one evaluation in the same transaction', async () => {
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
