import { termOf } from '@waybill/roles';
import {
  defaultSchedulerConfiguration,
  type Evaluation,
  type Plan,
  type SchedulerConfiguration,
  SimulatedTime,
} from '@waybill/model';
import { LocalState } from '@waybill/replica';
import { draftTxn, fixtures, serviceActor, type TxnDraft, type TxnPayloads, type TxnType } from '@waybill/state';
import { silentLogger, tracerFor } from '@waybill/telemetry';
import { beforeEach, describe, expect, it } from 'vitest';
import { Broker } from './broker.js';

const node = fixtures.aNode();
let state: LocalState;
let time: SimulatedTime;
/** Timers that the meter got, each with its value. */
let observed: string[];
let broker: Broker;
/** As whoever runs the broker for its role: it hears of the log only while it holds that. */
let holds: boolean;
/** What waits for the copy of the state to come as far as it asks, and for the log; undefined: nothing has to. */
let reads: (() => void)[] | undefined;
let writes: (() => void)[] | undefined;
let ids: number;
let create: (defaultConfiguration?: SchedulerConfiguration) => Broker;

const passes = (waiting: (() => void)[] | undefined): Promise<void> =>
  waiting ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve();

beforeEach(() => {
  time = new SimulatedTime();
  observed = [];
  ids = 0;
  state = new LocalState();
  reads = undefined;
  writes = undefined;
  holds = false;
  state.waitFor = () => passes(reads);
  const propose = async (draft: TxnDraft) => {
    await passes(writes);
    return state.propose(draft);
  };
  create = (defaultConfiguration) =>
    new Broker({
      defaultConfiguration,
      state: Object.assign(Object.create(state) as LocalState, { propose }),
      clock: time,
      timers: time,
      newId: () => `id-${++ids}`,
      random: () => 0,
      logger: silentLogger,
      tracer: () => tracerFor('test'),
      region: 'global',
      meter: {
        observe: (timer, value) => void observed.push(`${timer} ${value}`),
        observeEval: () => {},
        nodeRejected: () => {},
      },
    });
  broker = create();
  state.onApplied((applied) => holds && broker.applied(applied));
  write('Initialise', {});
  write('NodeRegister', { Node: node, CreateNodePool: false });
  const ready = { Status: 'ready', NodeEvent: null, UpdatedAt: 1, IdentitySigningKeyID: '' } as const;
  write('NodeUpdateStatus', { NodeID: node.ID, ...ready });
});

/** Applied before it returns. */
function write<T extends TxnType>(type: T, payload: TxnPayloads[T]): void {
  const context = { timeNs: fixtures.timeNs, requestId: `test-${++ids}`, actor: serviceActor('test') };
  void state.propose(draftTxn(type, payload, context));
}

const roleTaken = (Epoch: number): void => write('LeaseAcquired', { Role: 'broker', Epoch, Holder: 'test' });

async function hold(epoch: number): Promise<void> {
  roleTaken(epoch);
  holds = true;
  await broker.start(termOf('broker', epoch));
}

function letGo(): Promise<void> {
  holds = false;
  return broker.stop();
}

function release(): void {
  for (const go of [...(reads ?? []), ...(writes ?? [])]) go();
  reads = undefined;
  writes = undefined;
}

/** Two of them are more than the node has. */
function aPlan(JobID: string): Plan {
  const task = fixtures.aTask();
  const group = fixtures.aGroup({ Tasks: [{ ...task, Resources: { ...task.Resources, CPU: 2_500 } }] });
  const Eval = fixtures.anEval({ JobID });
  write('JobRegister', fixtures.aRegistration(fixtures.aJob({ ID: JobID, TaskGroups: [group] }), { Eval }));
  const job = state.tables.jobs.get(`default/${JobID}`)!;
  return fixtures.aPlan({
    EvalID: Eval.ID,
    Job: job,
    NodeAllocation: { [node.ID]: [{ ...fixtures.anAlloc({ Job: job, JobID, NodeID: node.ID }), Job: null }] },
    SnapshotIndex: state.appliedIndex,
  });
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const allocs = (): number => state.tables.allocs.size;
const outcome = (answer: Promise<object>): Promise<unknown> => answer.catch((error: Error) => error);

it('EB-328: a plan that is judged when its term is over leaves nothing that the next term judges by', async () => {
  await hold(1);
  reads = [];
  const late = outcome(broker.plans.submit(aPlan('late')));
  await Promise.resolve();
  const ended = letGo();
  roleTaken(2);
  release();
  await ended;
  expect([await late, allocs()]).toMatchObject([{ name: 'NotHolderError' }, 0]);

  const { EvalID, NodeAllocation } = aPlan('meanwhile');
  const Job = state.tables.jobs.get('default/meanwhile')!;
  const AllocsUpdated = NodeAllocation[node.ID]!;
  write('ApplyPlanResults', fixtures.aPlanResult({ Job, EvalID, AllocsUpdated }));
  expect(allocs()).toBe(1);
  await hold(3);
  expect(await broker.plans.submit(aPlan('next'))).toMatchObject({ RejectedNodes: [node.ID] });
});

it('EB-328: the plan before it is counted also when the term ends here while the log still takes both', async () => {
  await hold(1);
  writes = [];
  const answers = [aPlan('first'), aPlan('second')].map((plan) => outcome(broker.plans.submit(plan)));
  await expect.poll(() => writes).toHaveLength(1);
  const ended = letGo();
  release();
  await ended;
  expect([await answers[0], allocs()]).toMatchObject([{ RefreshIndex: 0 }, 1]);
  expect(await answers[1]).toMatchObject({ RejectedNodes: [node.ID] });
});

it('EB-127, OP-10: the first holder obeys and stores the configured default, a later one what is stored', async () => {
  const paused = { ...defaultSchedulerConfiguration(), SchedulerAlgorithm: 'spread', PauseEvalBroker: true } as const;
  broker = create(paused);
  writes = [];
  roleTaken(1);
  const started = hold(2);
  expect(broker.evals.isEnabled).toBe(false);
  release();
  await started;
  expect(broker.evals.isEnabled).toBe(false);
  expect([...state.tables.scheduler_config.all()]).toMatchObject([
    { SchedulerAlgorithm: 'spread', PauseEvalBroker: true },
  ]);
  await letGo();

  broker = create(defaultSchedulerConfiguration());
  await hold(3);
  expect(broker.evals.isEnabled).toBe(false);
});

function pending(over: Partial<Evaluation> = {}): Evaluation {
  const evaluation = fixtures.anEval(over);
  write('EvalUpdate', { Evals: [evaluation] });
  return evaluation;
}

describe('a dequeue', () => {
  it('EB-60: names a type, and a scheduler of the same version', async () => {
    await hold(1);
    await expect(broker.dequeue([], 1)).rejects.toThrow('dequeue requires at least one scheduler type');
    await expect(broker.dequeue(['service'], 1, 99)).rejects.toThrow('calling scheduler version is 99');
  });

  it.each([
    ['EB-64: one second if it names none', 0, 1_000],
    ['EB-64: one second if that is less than nothing', -1, 1_000],
    ['EB-63: as long as it says', 1, 1],
    ['EB-63: longer, if it says so', 5_000, 5_000],
  ])('waits %s', async (_, timeoutMs, waitsMs) => {
    await hold(1);
    let answer: unknown = 'none';
    void broker.dequeue(['service'], timeoutMs).then((dequeued) => (answer = dequeued));
    time.advance(waitsMs - 1);
    await settled();
    expect(answer).toBe('none');
    time.advance(1);
    await settled();
    expect(answer).toBeNull();
  });

  it('EB-117: is answered with nothing when the broker is paused, and any other error is one', async () => {
    await hold(1);
    const waiting = broker.dequeue(['service'], 1_000);
    broker.evals.setEnabled(false);
    expect(await waiting).toBeNull();
    broker.evals.setEnabled(true);
    pending();
    broker.evals.deliveries.begin = () => {
      throw new Error('broken');
    };
    await expect(broker.dequeue(['service'], 1_000)).rejects.toThrow('broken');
  });

  it('EB-197: names the lease of its term, by which a worker knows a copy of the state that is of another log', async () => {
    await hold(1);
    await letGo();
    await hold(2);
    const Index = [...state.tables.leases.all()].find(({ Role }) => Role === 'broker')?.ModifyIndex;
    pending();
    expect(await broker.dequeue(['service'], 1)).toMatchObject({ lease: { Epoch: 2, Index } });
  });

  it('EB-67, EB-322: says from which index on and since when, and belongs to the trace of its transaction', async () => {
    await hold(1);
    const evaluation = pending();
    const dequeued = await broker.dequeue(['service'], 1);
    expect(dequeued).toMatchObject({ evaluation: { ID: evaluation.ID }, waitIndex: state.appliedIndex, dueNs: 0 });
    expect(await broker.dequeueReady(['service'])).toBeNull();
    pending({ JobID: 'other' });
    expect(await broker.dequeueReady(['service'])).toMatchObject({ evaluation: { JobID: 'other' } });
  });
});

it('EB-77: an ack forgets the trace, and has superseded evaluations canceled at once', async () => {
  await hold(1);
  pending();
  const { evaluation, token } = (await broker.dequeue(['service'], 1))!;
  const older = [pending({ ID: 'b' }), pending({ ID: 'a' })];
  broker.ack(evaluation.ID, token);
  await settled();
  const statuses = older.map(({ ID }) => state.tables.evals.get(ID)!.Status);
  expect(statuses.toSorted()).toEqual(['canceled', 'pending']);
});

it('EB-214, EB-215: what a worker writes of its evaluation goes through the term', async () => {
  await hold(1);
  pending();
  const { evaluation, token } = (await broker.dequeue(['service'], 1))!;
  const next = fixtures.anEval({ ID: 'next', JobID: 'other', PreviousEval: evaluation.ID, Status: 'blocked' });
  await broker.writes.create([next], token);
  await broker.writes.update([{ ...evaluation, Status: 'complete' }], token);
  expect([evaluation.ID, 'next'].map((id) => state.tables.evals.get(id)?.Status)).toEqual(['complete', 'blocked']);
});

it('EB-80: a worker that is lost gives back what it has, once; a delivery that has ended is left alone', async () => {
  await hold(1);
  pending();
  const { evaluation, token } = (await broker.dequeue(['service'], 1))!;
  broker.nackIfUnacked(evaluation.ID, 'other');
  expect(broker.stats()).toMatchObject({ totalUnacked: 1, totalWaiting: 0 });
  broker.lostWorkers.watch('worker', evaluation.ID, token, () => {});
  broker.lostWorkers.nackPreviousOf('worker');
  expect(broker.stats()).toMatchObject({ totalUnacked: 0, totalWaiting: 1 });
  broker.nackIfUnacked(evaluation.ID, token);
  expect(() => broker.nack(evaluation.ID, token)).toThrow('Evaluation ID not found');
});

it('EB-124: the state of the broker is known as of an index', async () => {
  await hold(1);
  reads = [];
  const answer = broker.enabledAt(1);
  const late = await Promise.race([answer, Promise.resolve('waits')]);
  release();
  expect([late, await answer]).toEqual(['waits', true]);
});

it('EB-147, EB-132: a forced collection is raised at once, and lost between two terms', async () => {
  await hold(1);
  broker.forceGc();
  expect(broker.evals.stats().byScheduler['_core']).toMatchObject({ ready: 1 });
  await letGo();
  broker.forceGc();
  expect(broker.evals.stats().byScheduler).toEqual({});
});

describe('without the role', () => {
  it('plans, launches and locks are for another process, which is known once the index is reached', async () => {
    reads = [];
    const launch = outcome(broker.forceLaunch('default', 'cron', 7));
    const renewal = outcome(broker.renewLock('default', 'leader', 'mine', 7));
    release();
    expect(await launch).toMatchObject({ name: 'NotHolderError', message: 'eval broker disabled' });
    expect(await renewal).toMatchObject({ name: 'NotHolderError' });
    expect(await outcome(broker.submitPlan(aPlan('web')))).toMatchObject({ name: 'NotHolderError' });
    expect([...broker.rejectionScores()]).toEqual([]);
  });

  it('with it, what is unknown is refused', async () => {
    await hold(1);
    await expect(broker.forceLaunch('default', 'cron', 1)).rejects.toThrow('job not found');
    await expect(broker.renewLock('default', 'leader', 'mine', 1)).rejects.toThrow("variable doesn't exist");
  });
});

describe('a submitted plan', () => {
  it('EB-238: has to be one, and of a job', async () => {
    await hold(1);
    await expect(broker.submitPlan(null as never)).rejects.toThrow('cannot submit nil plan');
    await expect(broker.submitPlan(fixtures.aPlan())).rejects.toThrow('cannot submit plan without job info');
  });

  it('EB-240, EB-241: pauses the nack timer until its answer, and needs the token of the delivery', async () => {
    await hold(1);
    const plan = aPlan('web');
    const { token } = (await broker.dequeue(['service'], 1))!;
    await expect(broker.submitPlan({ ...plan, EvalToken: 'other' })).rejects.toThrow('token does not match');
    writes = [];
    const answer = broker.submitPlan({ ...plan, EvalToken: token });
    await settled();
    time.advance(100_000);
    expect(broker.evals.deliveries.tokenOf(plan.EvalID)).toBe(token);
    release();
    expect(await answer).toMatchObject({ RefreshIndex: 0 });
    expect(observed).toContain('plan.submit 100000');
    time.advance(60_000);
    expect(broker.evals.deliveries.tokenOf(plan.EvalID)).toBeUndefined();
  });
});

it('EB-127: the first holder gives the cluster its identity and configuration; a later one leaves both', async () => {
  await hold(1);
  const [meta] = [...state.tables.cluster_meta.all()];
  expect(meta).toMatchObject({ ClusterID: expect.stringMatching(/^id-/), CreateTime: time.nowMs() * 1e6 });
  const before = state.appliedIndex;
  await letGo();
  await hold(2);
  expect([state.appliedIndex, [...state.tables.cluster_meta.all()]]).toEqual([before + 1, [meta]]);
});

it('EB-334: between two terms the broker holds nothing, and hears of nothing', async () => {
  await hold(1);
  pending();
  const { evaluation, token } = (await broker.dequeue(['service'], 1))!;
  broker.lostWorkers.watch('worker', evaluation.ID, token, () => {});
  expect(broker.stats()).toMatchObject({ totalUnacked: 1, planQueueDepth: 0 });
  await letGo();
  expect([broker.lostWorkers.size, broker.plans.isEnabled, broker.isPaused]).toEqual([0, false, false]);
  broker.applied(state.history.at(-1)!);
  expect(broker.stats()).toMatchObject({ totalUnacked: 0, totalReady: 0 });
});

it('the times of taking and giving up the role, and of calls, also of those that fail', async () => {
  await hold(1);
  expect(observed).toEqual(['leader.barrier 0', 'leader.establish_leadership 0']);
  const call = broker.timed('eval.ack', () => {
    time.advance(5);
    throw new Error('failed');
  });
  await expect(call).rejects.toThrow('failed');
  expect(observed.at(-1)).toBe('eval.ack 5');
  await letGo();
  expect(observed.at(-1)).toBe('leader.revoke_leadership 0');
});
