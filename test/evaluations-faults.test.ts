import {
  FakeTime,
  type Allocation,
  type Evaluation,
  type Job,
  type Node,
  type Plan,
  type PlanResult,
} from '@waybill/model';
import { ack, createEval, dequeue, nack, reblockEval, SCHEDULER_VERSION, submitPlan, updateEval } from '@waybill/rpc';
import { Worker } from '@waybill/scheduler';
import { fixtures, type Proposed, type TxnDraft } from '@waybill/state';
import { silentLogger, tracerFor } from '@waybill/telemetry';
import { checkLog } from '@waybill/verify';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LocalControlPlane } from './support/local-control-plane.js';

// The scenarios F1 to F45 of section 18 of docs/reference/evaluations.md that need no process to die: broker and workers in
// one process, over a log of its own, under a clock that passes only when told to. Those with processes that die:
// evaluations-crashes.test.ts. After each, the log is checked from the outside.

const TYPES = ['service', 'batch', 'system', 'sysbatch'];
const NACK_TIMEOUT_MS = 60_000;
const FIRST_REDELIVERY_MS = 1_000;
/** Longest simulated time that anything here may take. */
const LIMIT_MS = 30 * 60_000;
const STEP_MS = 250;

let time: FakeTime;
let plane: LocalControlPlane;
/** Invariants that the scenario breaks on purpose. */
let onPurpose: string[];

beforeEach(async () => {
  time = new FakeTime();
  plane = new LocalControlPlane(time, time);
  onPurpose = [];
  await plane.start(0);
});
afterEach(async () => {
  const stopped = plane.stop();
  await time.pass(10_000);
  await stopped;
  const report = checkLog(plane.state.history.map((applied) => applied.txn));
  expect(report.violations.filter((v) => !onPurpose.includes(v.invariant))).toEqual([]);
});

// ---- the state, and those who change it

const tables = () => plane.state.tables;
const evals = () => [...tables().evals.all()];
const allocs = () => [...tables().allocs.all()];
const evalOf = (id: string): Evaluation => tables().evals.get(id)!;
const jobOf = (id = 'web'): Job => tables().jobs.get(`default/${id}`)!;
const statusOf = (id: string) => tables().evals.get(id)?.Status;
const running = () => allocs().filter((a) => a.DesiredStatus === 'run');

async function addNode(over: Partial<Node> = {}): Promise<Node> {
  const node = fixtures.aNode(over);
  await plane.write('NodeRegister', { Node: node, CreateNodePool: false });
  return node;
}

/** A group of which one fits a node. */
function largeGroup(count = 1, type = 'service') {
  const task = fixtures.aTask();
  return fixtures.aGroup({ Count: count, Tasks: [{ ...task, Resources: { ...task.Resources, CPU: 2_500 } }] }, type);
}

/** Registers a job; answers its evaluation. */
async function register(over: Partial<Job> = {}, evalOver: Partial<Evaluation> = {}): Promise<Evaluation> {
  const job = fixtures.aJob(over);
  const Eval = fixtures.anEval({
    JobID: job.ID,
    Namespace: job.Namespace,
    Type: job.Type,
    CreateTime: time.nowMs() * 1e6,
    ...evalOver,
  });
  await plane.write('JobRegister', fixtures.aRegistration(job, { Eval }));
  return evalOf(Eval.ID);
}

async function commitEval(over: Partial<Evaluation> = {}): Promise<Evaluation> {
  const evaluation = fixtures.anEval({ TriggeredBy: 'node-update', CreateTime: time.nowMs() * 1e6, ...over });
  await plane.write('EvalUpdate', { Evals: [evaluation] });
  return evalOf(evaluation.ID);
}

const stopJob = (Purge = false) =>
  plane.write('JobDeregister', {
    JobID: 'web',
    Purge,
    NoShutdownDelay: false,
    SubmitTime: 0,
    Eval: fixtures.anEval({ TriggeredBy: 'job-deregister', CreateTime: time.nowMs() * 1e6 }),
    TrackedVersions: 6,
  });

const setNodeStatus = (node: Node, Status: Node['Status']) =>
  plane.write('NodeUpdateStatus', { NodeID: node.ID, Status, UpdatedAt: 0, NodeEvent: null, IdentitySigningKeyID: '' });

const report = (alloc: Allocation, ClientStatus: Allocation['ClientStatus']) =>
  plane.write('AllocClientUpdate', { Allocs: [fixtures.aClientUpdate(alloc, { ClientStatus })], Evals: [] });

const pause = (PauseEvalBroker: boolean) =>
  plane.write('SchedulerConfig', {
    Config: { ...fixtures.aSchedulerConfiguration(), PauseEvalBroker },
    CAS: false,
    ModifyIndex: 0,
  });

// ---- a worker that is led by hand

interface Held {
  readonly e: Evaluation;
  readonly token: string;
  readonly waitIndex: number;
}

/** What the broker hands out now, or within `waitMs` of simulated time. */
async function next(waitMs = 10): Promise<Held | undefined> {
  const asked = plane.ask(dequeue, {
    Schedulers: TYPES,
    TimeoutMs: Math.min(waitMs, 5_000),
    SchedulerVersion: SCHEDULER_VERSION,
  });
  let done = false;
  void asked.finally(() => (done = true)).catch(() => {});
  for (let passed = 0; !done && passed <= waitMs; passed += STEP_MS) await time.pass(Math.min(STEP_MS, waitMs));
  const { Eval, Token, WaitIndex } = await asked;
  return Eval ? { e: Eval, token: Token, waitIndex: WaitIndex } : undefined;
}

async function held(): Promise<Held> {
  const delivery = await next();
  if (!delivery) throw new Error('the broker hands out nothing');
  return delivery;
}

const acks = ({ e, token }: Held) => plane.ask(ack, { EvalID: e.ID, Token: token });
const nacks = ({ e, token }: Held) => plane.ask(nack, { EvalID: e.ID, Token: token });
const updates = ({ e, token }: Held, over: Partial<Evaluation>) =>
  plane.ask(updateEval, {
    Evals: [{ ...e, ModifyTime: time.nowMs() * 1e6 + 1, SnapshotIndex: plane.state.appliedIndex, ...over }],
    Token: token,
  });
const completes = async (delivery: Held) => {
  await updates(delivery, { Status: 'complete' });
  await acks(delivery);
};
const reblocks = ({ e, token }: Held) =>
  plane.ask(reblockEval, { Evals: [{ ...e, SnapshotIndex: plane.state.appliedIndex }], Token: token });

const planOf = ({ e, token }: Held, over: Partial<Plan> = {}): Plan => ({
  EvalID: e.ID,
  EvalToken: token,
  Priority: e.Priority,
  AllAtOnce: false,
  Job: tables().jobs.get(`${e.Namespace}/${e.JobID}`) ?? null,
  NodeUpdate: {},
  NodeAllocation: {},
  NodePreemptions: {},
  Deployment: null,
  DeploymentUpdates: [],
  FollowupEvals: [],
  Annotations: null,
  SnapshotIndex: plane.state.appliedIndex,
  ...over,
});

const submits = async (plan: Plan): Promise<PlanResult> => (await plane.ask(submitPlan, { Plan: plan })).Result;

/** New allocations of a job on a node, from the given index of the group's names on. */
function placing(node: Node, job: Job, count = 1, from = 0): Record<string, Allocation[]> {
  const allocations = Array.from({ length: count }, (_, i) => {
    const Name = `${job.ID}.${job.TaskGroups[0]!.Name}[${from + i}]`;
    return { ...fixtures.anAlloc({ Job: job, NodeID: node.ID, Name, Namespace: job.Namespace }), Job: null };
  });
  return { [node.ID]: allocations };
}

const stopOf = (alloc: Allocation) => ({
  ID: alloc.ID,
  DesiredDescription: '',
  ClientStatus: '' as const,
  FollowupEvalID: '',
});

/** Allocations that are there already, placed by an evaluation that is over. */
async function placed(node: Node, count = 1, over: Partial<Job> = {}): Promise<Allocation[]> {
  await register({ TaskGroups: [largeGroup(count, over.Type)], ...over });
  const delivery = await held();
  await submits(planOf(delivery, { NodeAllocation: placing(node, jobOf(over.ID), count) }));
  await completes(delivery);
  return allocs().filter((a) => a.EvalID === delivery.e.ID || a.JobID === (over.ID ?? 'web'));
}

// ---- time, and a log that can be held up

/** Lets simulated time pass until it is so. */
async function until(what: string, condition: () => boolean, limitMs = LIMIT_MS): Promise<void> {
  for (let passed = 0; !condition(); passed += STEP_MS) {
    if (passed > limitMs) throw new Error(`not within ${limitMs} simulated ms: ${what}`);
    await time.pass(STEP_MS);
  }
}

const allEnded = () => until('every evaluation has ended', () => evals().every((e) => !['pending'].includes(e.Status)));
const failing = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'it worked',
    (error: Error) => error.message,
  );

/** Keeps writes of a type from reaching the log until they are let go, or makes them fail. */
function holdingUp(type: TxnDraft['type']): { readonly waiting: () => number; letGo(error?: Error): void } {
  const propose = plane.state.propose.bind(plane.state);
  let gates: ((error?: Error) => void)[] = [];
  let open = false;
  plane.state.propose = async (draft): Promise<Proposed> => {
    if (draft.type === type && !open)
      await new Promise<void>((resolve, reject) => gates.push((error) => (error ? reject(error) : resolve())));
    return propose(draft);
  };
  return {
    waiting: () => gates.length,
    letGo: (error) => {
      open = true;
      const waiting = gates;
      gates = [];
      for (const go of waiting) go(error);
    },
  };
}

const counters = () => {
  const { totalReady, totalUnacked, totalPending, totalWaiting, totalCancelable, totalBlocked } = plane.broker.stats();
  return { totalReady, totalUnacked, totalPending, totalWaiting, totalCancelable, totalBlocked };
};
const NOTHING = {
  totalReady: 0,
  totalUnacked: 0,
  totalPending: 0,
  totalWaiting: 0,
  totalCancelable: 0,
  totalBlocked: 0,
};

describe('a worker that dies, is slow, or gives up', () => {
  it('F5, EB-88, EB-89, EB-240: of a worker that died while its plan waited the plan is applied; redelivery a whole timeout after the answer', async () => {
    const node = await addNode();
    await register({ TaskGroups: [fixtures.aGroup({ Count: 1 })] });
    const log = holdingUp('ApplyPlanResults');
    const first = await held();
    const answered = submits(planOf(first, { NodeAllocation: placing(node, jobOf()) }));
    await time.pass(2 * NACK_TIMEOUT_MS); // the plan waits for longer than a delivery lasts
    expect(counters()).toMatchObject({ totalUnacked: 1 });
    log.letGo();
    await answered;
    expect(allocs()).toHaveLength(1);
    await time.pass(NACK_TIMEOUT_MS + FIRST_REDELIVERY_MS - 2);
    expect(await next(1)).toBeUndefined();
    await time.pass(1);
    const second = await held();
    expect(second.e.ID).toBe(first.e.ID);
    expect(second.token).not.toBe(first.token);
    await completes(second);
  });

  it('F6, EB-80, EB-241: slower than the nack timeout, its plan and its ack are refused', async () => {
    const node = await addNode();
    await register();
    const slow = await held();
    await time.pass(NACK_TIMEOUT_MS + FIRST_REDELIVERY_MS);
    const fast = await held();
    expect(fast.e.ID).toBe(slow.e.ID);
    expect(await failing(submits(planOf(slow, { NodeAllocation: placing(node, jobOf()) })))).toBe(
      'evaluation token does not match',
    );
    expect(await failing(acks(slow))).toBe('Token does not match for Evaluation ID');
    expect(allocs()).toEqual([]);
    await completes(fast);
  });

  it('F7, EB-85, EB-101, EB-103: at the delivery limit it fails, with a delayed follow-up, and its job goes on', async () => {
    const evaluation = await register();
    for (let i = 0; i < 3; i++) {
      await until('it is ready', () => counters().totalReady === 1);
      await nacks(await held());
    }
    await until('it has failed', () => statusOf(evaluation.ID) === 'failed');
    const failed = evalOf(evaluation.ID);
    const followUp = evalOf(failed.NextEval);
    expect(failed.StatusDescription).toContain('delivery limit');
    expect(followUp).toMatchObject({ TriggeredBy: 'failed-follow-up', PreviousEval: evaluation.ID, Status: 'pending' });
    expect(followUp.Wait).toBeGreaterThanOrEqual(60e9);
    expect(followUp.Wait).toBeLessThan(360e9);
    const other = await commitEval();
    expect((await held()).e.ID).toBe(other.ID);
  });

  it('F8, EB-102: at the limit after its job was purged it has no follow-up', async () => {
    await register();
    for (let i = 0; i < 2; i++) {
      await until('it is ready', () => counters().totalReady === 1);
      await nacks(await held());
    }
    await until('it is ready', () => counters().totalReady === 1);
    const last = await held();
    await stopJob(true);
    await nacks(last);
    await until(
      'the failed queue is empty',
      () => counters().totalUnacked === 0 && evals().every((e) => e.ID !== last.e.ID || e.Status !== 'pending'),
    );
    expect(evals().filter((e) => e.TriggeredBy === 'failed-follow-up')).toEqual([]);
  });

  it('F9: an ack at the limit is an ack like any other', async () => {
    const evaluation = await register();
    for (let i = 0; i < 2; i++) {
      await until('it is ready', () => counters().totalReady === 1);
      await nacks(await held());
    }
    await until('it is ready', () => counters().totalReady === 1);
    await completes(await held());
    await time.pass(NACK_TIMEOUT_MS);
    expect(statusOf(evaluation.ID)).toBe('complete');
    expect(counters()).toEqual(NOTHING);
  });

  it('F10: what waits behind an evaluation at its limit is promoted only after the reaper has acked that', async () => {
    const first = await register();
    const second = await commitEval();
    const log = holdingUp('EvalUpdate');
    for (let i = 0; i < 3; i++) {
      await until('it is ready', () => counters().totalReady === 1);
      const delivery = await held();
      expect(delivery.e.ID).toBe(first.ID);
      await nacks(delivery);
    }
    await until('the reaper writes', () => log.waiting() === 1);
    expect(await next()).toBeUndefined();
    log.letGo();
    await until('it has failed', () => statusOf(first.ID) === 'failed');
    expect((await held()).e.ID).toBe(second.ID);
  });

  it('F32, EB-199: a worker far behind hands back within 5 s and asks for nothing for 50 s; others go on', async () => {
    await register({ TaskGroups: [fixtures.aGroup({ Count: 0 })] });
    const { state } = plane;
    let asked = 0;
    const behind = new Worker({
      rpc: {
        ask: (call, request, options) => {
          if (call.name === dequeue.name) asked++;
          return plane.ask(call, request, options);
        },
      },
      state: {
        tables: state.tables,
        appliedIndex: 0,
        propose: (draft) => state.propose(draft),
        onApplied: () => () => {},
        waitFor: (_index, timeoutMs) =>
          new Promise((_resolve, reject) => time.after(timeoutMs, () => reject(new Error('far behind')))),
      },
      clock: time,
      timers: time,
      newId: plane.newId,
      logger: silentLogger,
      tracer: () => tracerFor('test'),
    });
    behind.start();
    await time.pass(5_000);
    expect(counters()).toMatchObject({ totalUnacked: 0, totalWaiting: 1 });
    const before = asked;
    await time.pass(FIRST_REDELIVERY_MS);
    plane.addWorkers(1);
    await allEnded();
    expect(asked).toBe(before);
    await time.pass(50_000);
    expect(asked).toBeGreaterThan(before);
    const stopped = behind.stop();
    await time.pass(10_000);
    await stopped;
  });

  it('F37, EB-208: a worker that is stopped with an evaluation in hand has handed it back within 5 s', async () => {
    const log = holdingUp('ApplyPlanResults');
    await addNode();
    plane.addWorkers(1);
    await register();
    await until('its plan waits', () => log.waiting() === 1);
    let isStopped = false;
    const stopping = plane.stop().then(() => (isStopped = true));
    log.letGo(new Error('the log is away'));
    await time.pass(5_000);
    await stopping;
    expect(isStopped).toBe(true);
    expect(counters()).toEqual(NOTHING);
    expect(evals()[0]?.Status).toBe('pending');
    await plane.takeOver();
    plane.addWorkers(1);
    await allEnded();
    expect(running()).toHaveLength(1);
  });
});

describe('pause', () => {
  it('F11, EB-114, EB-119, EB-136: everything leaves memory, the state stays; unpaused, all is back and delays keep their due time', async () => {
    const dueAt = time.nowMs() + 3_600_000;
    const delayed = await register({ ID: 'delayed' }, { WaitUntil: new Date(dueAt).toISOString() });
    await commitEval({ JobID: 'blocked', Status: 'blocked' });
    await register({ ID: 'worked-on' });
    await held();
    await commitEval({ JobID: 'worked-on' });
    await register({ ID: 'ready' });
    const before = evals();
    expect(counters()).toEqual({
      ...NOTHING,
      totalReady: 1,
      totalUnacked: 1,
      totalPending: 1,
      totalWaiting: 1,
      totalBlocked: 1,
    });
    await pause(true);
    expect(counters()).toEqual(NOTHING);
    expect(evals()).toEqual(before);
    await time.pass(60_000);
    await pause(false);
    expect(counters()).toEqual({ ...NOTHING, totalReady: 2, totalPending: 1, totalWaiting: 1, totalBlocked: 1 });
    await time.pass(dueAt - time.nowMs() - 1);
    expect(counters().totalWaiting).toBe(1);
    await time.pass(1);
    expect(counters().totalWaiting).toBe(0);
    expect(statusOf(delayed.ID)).toBe('pending');
  });

  it('F13, EB-134, EB-237, OP-254: paused while a plan waits: it is applied, its evaluation comes again, nothing is placed twice', async () => {
    const node = await addNode();
    const evaluation = await register();
    const log = holdingUp('ApplyPlanResults');
    const first = await held();
    const answered = submits(planOf(first, { NodeAllocation: placing(node, jobOf()) }));
    await time.pass(10);
    await pause(true);
    log.letGo();
    expect((await answered).AllocIndex).toBeGreaterThan(0);
    expect(await failing(updates(first, { Status: 'complete' }))).toBe('evaluation is not outstanding');
    await pause(false);
    plane.addWorkers(1);
    await allEnded();
    expect(statusOf(evaluation.ID)).toBe('complete');
    expect(allocs()).toHaveLength(1);
  });

  it('F14, EB-123, OP-26, OP-253: a hundred pauses while evaluations come, and a new holder: each one is tracked once at the end', async () => {
    for (let i = 0; i < 100; i++) {
      if (i === 50) {
        await pause(true);
        await plane.broker.stop();
        await pause(false);
        await plane.takeOver();
      }
      await Promise.all([
        pause(true),
        register({ ID: `job-${i}` }),
        pause(false),
        commitEval({ JobID: `job-${i}`, Status: 'blocked' }),
      ]);
    }
    expect([...tables().scheduler_config.all()].map((config) => config.PauseEvalBroker)).toEqual([false]);
    expect(counters()).toEqual({ ...NOTHING, totalReady: 100, totalBlocked: 100 });
    const seen = new Set<string>();
    for (let delivery = await next(); delivery; delivery = await next()) {
      expect(seen.has(delivery.e.ID)).toBe(false);
      seen.add(delivery.e.ID);
    }
    expect(seen.size).toBe(100);
  });

  it('F15, EB-115: paused when a delay runs out: nothing is counted below zero', async () => {
    await register({}, { WaitUntil: new Date(time.nowMs() + 1_000).toISOString() });
    await time.pass(999);
    time.freeze(1); // it is due, and the timer has not run
    await pause(true);
    await time.pass(10_000);
    expect(counters()).toEqual(NOTHING);
    await pause(false);
    expect(counters()).toEqual({ ...NOTHING, totalReady: 1 });
  });
});

describe('blocked evaluations', () => {
  /** A blocked evaluation that was scheduled at the present index. */
  const blocked = (over: Partial<Evaluation> = {}) =>
    fixtures.anEval({
      Status: 'blocked',
      TriggeredBy: 'queued-allocs',
      EscapedComputedClass: true,
      SnapshotIndex: plane.state.appliedIndex,
      CreateTime: time.nowMs() * 1e6,
      ...over,
    });

  it('F16, EB-159: what was unblocked between snapshot and block goes to the broker at once', async () => {
    await register();
    const delivery = await held();
    const waiting = blocked({ PreviousEval: delivery.e.ID });
    await addNode();
    await plane.ask(createEval, { Evals: [waiting], Token: delivery.token });
    await completes({ ...delivery, e: { ...delivery.e, FailedTGAllocs: { web: {} as never } } });
    expect(counters()).toMatchObject({ totalBlocked: 0 });
    expect((await held()).e.ID).toBe(waiting.ID);
  });

  it.each(['unblock first', 'block first'])(
    'F17: unblock and block at once, %s: it ends up in the broker',
    async (order) => {
      await register({ TaskGroups: [fixtures.aGroup({ Count: 0 })] });
      await completes(await held());
      const waiting = blocked();
      const writes = [() => addNode(), () => plane.write('EvalUpdate', { Evals: [waiting] })];
      if (order === 'block first') writes.reverse();
      await Promise.all(writes.map((write) => write()));
      expect(counters()).toEqual({ ...NOTHING, totalReady: 1 });
      expect((await held()).e.ID).toBe(waiting.ID);
    },
  );

  /** A blocked evaluation in the hands of a worker. */
  async function blockedInHand(): Promise<Held> {
    await register();
    await completes(await held());
    await plane.write('EvalUpdate', { Evals: [blocked()] });
    await addNode();
    return held();
  }

  it('F18, EB-92: unblocked between reblock and ack, it is ready again after the ack', async () => {
    const delivery = await blockedInHand();
    await reblocks(delivery);
    expect(counters()).toMatchObject({ totalBlocked: 1, totalUnacked: 1 });
    await addNode();
    expect(counters()).toMatchObject({ totalBlocked: 0, totalReady: 0, totalUnacked: 1 });
    await acks(delivery);
    expect((await held()).e.ID).toBe(delivery.e.ID);
  });

  it.each([false, true])(
    'F19: reblocked, then nacked (unblocked in between: %s): it comes once, never as two runs at once',
    async (unblocked) => {
      const delivery = await blockedInHand();
      await reblocks(delivery);
      if (unblocked) await addNode();
      await nacks(delivery);
      await time.pass(FIRST_REDELIVERY_MS);
      const again = await held();
      expect(again.e.ID).toBe(delivery.e.ID);
      await addNode(); // wakes what may still be tracked
      expect(await next()).toBeUndefined();
      await completes(again);
      await time.pass(NACK_TIMEOUT_MS);
      expect(await next()).toBeUndefined();
      expect(statusOf(delivery.e.ID)).toBe('complete');
    },
  );

  it.each(['newer first', 'older first'])('F20: of two blocked ones of a job the newer stays, %s', async (order) => {
    const [older, newer] = [blocked({ SnapshotIndex: 1 }), blocked({ SnapshotIndex: plane.state.appliedIndex })];
    // The order in which they are committed is the order in which the tracker meets them; the later snapshot counts.
    for (const e of order === 'newer first' ? [newer, older] : [older, newer])
      await plane.write('EvalUpdate', { Evals: [{ ...e, SnapshotIndex: e === newer ? 1_000 : 1 }] });
    await until('one is canceled', () => evals().some((e) => e.Status === 'canceled'));
    expect(statusOf(older.ID)).toBe('canceled');
    expect(statusOf(newer.ID)).toBe('blocked');
    expect(counters()).toMatchObject({ totalBlocked: 1 });
  });

  it('F21, EB-18, EB-337: when the job needs nothing any more, its blocked one is canceled and untracked, and stays so in a worker’s hands', async () => {
    const delivery = await blockedInHand();
    const waiting = blocked({ JobID: 'other' });
    await plane.write('EvalUpdate', { Evals: [waiting] });
    await plane.write('EvalUpdate', { Evals: [fixtures.anEval({ JobID: 'other', Status: 'complete' })] });
    expect(statusOf(waiting.ID)).toBe('canceled');
    expect(counters()).toMatchObject({ totalBlocked: 0 });
    await plane.write('EvalUpdate', { Evals: [fixtures.anEval({ Status: 'complete' })] });
    expect(statusOf(delivery.e.ID)).toBe('canceled');
    await updates(delivery, { Status: 'complete' });
    await acks(delivery);
    expect(statusOf(delivery.e.ID)).toBe('canceled');
  });

  it('F22, EB-181: a system job places on the node on which capacity is freed, then on the other', async () => {
    const [a, b] = [await addNode(), await addNode()];
    const [onA] = await placed(a, 1, { ID: 'in-a' });
    const [onB] = await placed(b, 1, { ID: 'in-b' });
    plane.addWorkers(1);
    await register({ ID: 'logs', Type: 'system', TaskGroups: [largeGroup(1, 'system')] });
    await allEnded();
    const ofLogs = () =>
      running()
        .filter((x) => x.JobID === 'logs')
        .map((x) => x.NodeID);
    expect(ofLogs()).toEqual([]);
    await report(onA!, 'complete');
    await until('it runs on A', () => ofLogs().length === 1);
    expect(ofLogs()).toEqual([a.ID]);
    await report(onB!, 'complete');
    await until('it runs on B', () => ofLogs().length === 2);
    expect(ofLogs()).toContain(b.ID);
  });

  it('F36: ten thousand blocked, 144 changes that could help, workers that work them off: all drain', async () => {
    const Evals = Array.from({ length: 10_000 }, (_, i) => blocked({ JobID: `gone-${i}` }));
    for (let i = 0; i < Evals.length; i += 1_000) await plane.write('EvalUpdate', { Evals: Evals.slice(i, i + 1_000) });
    expect(counters()).toMatchObject({ totalBlocked: 10_000 });
    await Promise.all(Array.from({ length: 144 }, (_, i) => addNode({ ComputedClass: `v1:${i}` })));
    await until('all are ready', () => counters().totalReady === 10_000);
    expect(counters()).toMatchObject({ totalBlocked: 0 });
    // Some find out that they cannot be placed, and wait again; then everything is helped once more.
    for (let i = 0; i < 500; i++) {
      const delivery = await held();
      await reblocks(delivery);
      await acks(delivery);
    }
    expect(counters()).toMatchObject({ totalBlocked: 500, totalReady: 9_500, totalUnacked: 0 });
    await addNode({ ComputedClass: 'v1:last' });
    await until('all are ready again', () => counters().totalReady === 10_000);
    plane.addWorkers(8);
    await until('all have ended', () => tables().evals.count('status', 'complete') === 10_000);
    expect(counters()).toEqual(NOTHING);
  }, 60_000);

  it('F41, EB-170: blocked by the restore and by the log, it is tracked once and no duplicate of itself', async () => {
    await plane.write('EvalUpdate', { Evals: [blocked()] });
    const committed = plane.state.history.at(-1)!;
    await plane.broker.stop();
    await plane.takeOver();
    plane.broker.applied(committed);
    expect(counters()).toMatchObject({ totalBlocked: 1 });
    await time.pass(10_000);
    expect(evals().map((e) => e.Status)).toEqual(['blocked']);
  });

  it('F42: redelivered while its reblock is still tracked, it reblocks: the entry is replaced, it stays blocked', async () => {
    const delivery = await blockedInHand();
    await reblocks(delivery);
    await nacks(delivery);
    await time.pass(FIRST_REDELIVERY_MS);
    const again = await held();
    await reblocks(again);
    await acks(again);
    await time.pass(10_000);
    expect(counters()).toEqual({ ...NOTHING, totalBlocked: 1 });
    expect(statusOf(delivery.e.ID)).toBe('blocked');
  });
});

describe('plans', () => {
  it('F23, EB-242, EB-253: of two plans for the last slot of a node one is committed, the other learns how far to refresh', async () => {
    const node = await addNode();
    await register({ ID: 'a', TaskGroups: [largeGroup()] });
    await register({ ID: 'b', TaskGroups: [largeGroup()] });
    const both = [await held(), await held()];
    const plans = both.map((d) => planOf(d, { NodeAllocation: placing(node, jobOf(d.e.JobID)) }));
    const [won, lost] = await Promise.all(plans.map((plan) => submits(plan)));
    expect(won).toMatchObject({ RejectedNodes: [], RefreshIndex: 0 });
    expect(lost).toMatchObject({ RejectedNodes: [node.ID], AllocIndex: 0 });
    expect(lost!.RefreshIndex).toBeGreaterThanOrEqual(won!.AllocIndex);
    expect(allocs()).toHaveLength(1);
  });

  it('F24, EB-246, EB-251: a node that went down since is rejected, stops elsewhere are committed', async () => {
    const [a, b] = [await addNode(), await addNode()];
    const [old] = await placed(a);
    await commitEval();
    const delivery = await held();
    const plan = planOf(delivery, { NodeUpdate: { [a.ID]: [stopOf(old!)] }, NodeAllocation: placing(b, jobOf()) });
    await setNodeStatus(b, 'down');
    const result = await submits(plan);
    expect(result.RejectedNodes).toEqual([b.ID]);
    expect(result.AllocIndex).toBeGreaterThan(0);
    expect(allocs().map((x) => x.DesiredStatus)).toEqual(['stop']);
  });

  it('F25, EB-260: a node that goes down between verification and commit: committed, then lost and replaced', async () => {
    const [a, b] = [await addNode(), await addNode({ Status: 'initializing' })];
    await register();
    const log = holdingUp('ApplyPlanResults');
    const delivery = await held();
    const answered = submits(planOf(delivery, { NodeAllocation: placing(a, jobOf()) }));
    await until('it is being committed', () => log.waiting() === 1);
    await setNodeStatus(a, 'down');
    log.letGo();
    await answered;
    expect(allocs().map((x) => [x.NodeID, x.ClientStatus])).toEqual([[a.ID, 'pending']]);
    await completes(delivery);
    await setNodeStatus(b, 'ready');
    plane.addWorkers(1);
    await commitEval({ NodeID: a.ID });
    await allEnded();
    expect(allocs().find((x) => x.NodeID === a.ID)?.ClientStatus).toBe('lost');
    expect(
      running()
        .filter((x) => x.ClientStatus !== 'lost')
        .map((x) => x.NodeID),
    ).toEqual([b.ID]);
  });

  it('F26: placements of a job that was stopped since are left out without a word', async () => {
    const node = await addNode();
    await register();
    const delivery = await held();
    const plan = planOf(delivery, { NodeAllocation: placing(node, jobOf()) });
    await stopJob();
    await submits(plan);
    expect(allocs()).toEqual([]);
    await completes(delivery);
    plane.addWorkers(1);
    await allEnded();
  });

  it('F27, EB-252: all at once over two nodes of which one is full: nothing is committed, and there is an index to refresh to', async () => {
    const [a, b] = [await addNode(), await addNode()];
    await placed(b, 1, { ID: 'full' });
    await register({ AllAtOnce: true, TaskGroups: [largeGroup(2)] });
    const delivery = await held();
    const NodeAllocation = { ...placing(a, jobOf(), 1, 0), ...placing(b, jobOf(), 1, 1) };
    const result = await submits(planOf(delivery, { AllAtOnce: true, NodeAllocation }));
    expect(result).toMatchObject({ AllocIndex: 0, NodeAllocation: {} });
    expect(result.RefreshIndex).toBeGreaterThan(0);
    expect(allocs().filter((x) => x.JobID === 'web')).toEqual([]);
  });

  it('F27, EB-223: rejected at every attempt, it fails after five and leaves a blocked one behind', async () => {
    const node = await addNode();
    // Without a deployment, whose creation would count as progress.
    const evaluation = await register({ TaskGroups: [{ ...largeGroup(), Update: null }] });
    // Each time it has planned, somebody else takes the place.
    let taken = 0;
    let attempts = 0;
    const wrapped = new Proxy(plane, {
      get: (target, name) =>
        name !== 'ask'
          ? Reflect.get(target, name)
          : async (call: { name: string }, request: { Plan?: Plan }, options: never) => {
              if (call.name === submitPlan.name) {
                if (request.Plan?.EvalID === evaluation.ID) attempts++;
                const Job = fixtures.aJob({ ID: `rival-${taken++}`, TaskGroups: [largeGroup()] });
                const Eval = fixtures.anEval({ JobID: Job.ID, Status: 'complete' });
                await plane.write('JobRegister', fixtures.aRegistration(Job, { Eval }));
                const rival = {
                  ...fixtures.anAlloc({ Job: jobOf(Job.ID), NodeID: node.ID }),
                  Job: null,
                  Name: 'rival',
                };
                onPurpose = ['accepted-plan'];
                await plane.write(
                  'ApplyPlanResults',
                  fixtures.aPlanResult({ Job: jobOf(Job.ID), EvalID: Eval.ID, AllocsUpdated: [rival] }),
                );
                const answer = await target.ask(call as never, request as never, options);
                await report(rival as Allocation, 'complete');
                return answer;
              }
              return target.ask(call as never, request as never, options);
            },
    });
    const worker = new Worker({
      rpc: wrapped,
      state: plane.state,
      clock: time,
      timers: time,
      newId: plane.newId,
      logger: silentLogger,
      tracer: () => tracerFor('test'),
    });
    worker.start();
    await until('it has failed', () => statusOf(evaluation.ID) === 'failed');
    const stopped = worker.stop();
    await time.pass(10_000);
    await stopped;
    expect(attempts).toBe(5);
    expect(evalOf(evaluation.ID).StatusDescription).toContain('maximum attempts reached (5)');
    expect(
      evals().filter((e) => e.TriggeredBy === 'max-plan-attempts' && e.PreviousEval === evaluation.ID),
    ).toHaveLength(1);
  });

  it('F28, EB-243: a plan whose snapshot the applier does not reach in 10 s fails; the next one works', async () => {
    const node = await addNode();
    await register();
    const waitFor = plane.state.waitFor.bind(plane.state);
    plane.state.waitFor = (index) =>
      index <= plane.state.appliedIndex
        ? waitFor(index)
        : new Promise((_resolve, reject) => time.after(10_000, () => reject(new Error('behind'))));
    const delivery = await held();
    const late = failing(submits(planOf(delivery, { SnapshotIndex: 1_000, NodeAllocation: placing(node, jobOf()) })));
    await time.pass(9_999);
    const inTime = submits(planOf(delivery, { NodeAllocation: placing(node, jobOf()) }));
    await time.pass(1);
    expect(await late).toMatch(/^timed out after 10s waiting for index=1000/);
    expect((await inTime).AllocIndex).toBeGreaterThan(0);
  });

  it('F29, EB-263: a plan that was verified on top of one whose commit failed neither overcommits nor builds on it', async () => {
    const node = await addNode();
    await register({ ID: 'a', TaskGroups: [largeGroup()] });
    await register({ ID: 'b', TaskGroups: [largeGroup()] });
    const log = holdingUp('ApplyPlanResults');
    const both = [await held(), await held()];
    const answers = both.map((d) => failing(submits(planOf(d, { NodeAllocation: placing(node, jobOf(d.e.JobID)) }))));
    await until('the first is being committed', () => log.waiting() >= 1);
    log.letGo(new Error('the log is away'));
    await time.pass(5_000);
    expect(await answers[0]).toBe('the log is away');
    await answers[1];
    expect(running().length).toBeLessThanOrEqual(1);
    expect(running().every((x) => x.JobID === 'b')).toBe(true);
    plane.addWorkers(1);
    for (const d of both) await nacks(d);
    await allEnded();
    expect(running()).toHaveLength(1);
  });

  it('F30: the lead is lost and regained with a plan in flight: one answer, no deadlock, and the plan is seen', async () => {
    const node = await addNode();
    const evaluation = await register();
    const log = holdingUp('ApplyPlanResults');
    const delivery = await held();
    const answers: unknown[] = [];
    const asked = submits(planOf(delivery, { NodeAllocation: placing(node, jobOf()) }));
    void asked.then(
      (r) => answers.push(r),
      (e: unknown) => answers.push(e),
    );
    await until('it is being committed', () => log.waiting() === 1);
    const stopping = plane.broker.stop();
    log.letGo(); // it reaches the log before anybody else takes the role
    await stopping;
    await plane.takeOver();
    await time.pass(1_000);
    expect(answers).toHaveLength(1);
    expect(allocs()).toHaveLength(1);
    plane.addWorkers(1);
    await allEnded();
    expect(statusOf(evaluation.ID)).toBe('complete');
    expect(allocs()).toHaveLength(1);
  });

  it('F31, EB-144: what a stalled leader publishes after a successor took over has no effect', async () => {
    const node = await addNode();
    const evaluation = await register();
    const log = holdingUp('ApplyPlanResults');
    const delivery = await held();
    const answer = failing(submits(planOf(delivery, { NodeAllocation: placing(node, jobOf()) })));
    await until('it is being committed', () => log.waiting() === 1);
    await plane.write('LeaseAcquired', {
      Role: 'broker',
      Epoch: plane.state.machine.epochOf('broker') + 1,
      Holder: 'successor',
    });
    log.letGo();
    expect(await answer).toContain('stale epoch');
    expect(allocs()).toEqual([]);
    expect(plane.state.history.filter((a) => a.verdict.kind === 'void').map((a) => a.txn.type)).toContain(
      'ApplyPlanResults',
    );
    await plane.broker.stop();
    await plane.takeOver();
    plane.addWorkers(1);
    await allEnded();
    expect(statusOf(evaluation.ID)).toBe('complete');
    expect(allocs()).toHaveLength(1);
  });

  it('F38, EB-280, EB-24: a plan that evicts three allocations of two jobs brings two evaluations with it', async () => {
    const node = await addNode();
    const small = fixtures.aGroup({ Count: 2 });
    const first = await placed(node, 2, { ID: 'low-a', TaskGroups: [small] });
    const second = await placed(node, 1, { ID: 'low-b', TaskGroups: [small] });
    await register({ ID: 'high', Priority: 90 });
    const delivery = await held();
    const NodeAllocation = placing(node, jobOf('high'));
    const by = NodeAllocation[node.ID]![0]!.ID;
    const NodePreemptions = { [node.ID]: [...first, ...second].map(({ ID }) => ({ ID, PreemptedByAllocation: by })) };
    const { AllocIndex } = await submits(planOf(delivery, { NodeAllocation, NodePreemptions }));
    const preempted = evals().filter((e) => e.TriggeredBy === 'preemption');
    expect(preempted.map((e) => `${e.JobID} ${e.CreateIndex}`).toSorted()).toEqual([
      `low-a ${AllocIndex}`,
      `low-b ${AllocIndex}`,
    ]);
    expect(preempted.flatMap((e) => [e.PreviousEval, e.NextEval, e.BlockedEval]).join('')).toBe('');
    expect(allocs().filter((a) => a.DesiredStatus === 'evict')).toHaveLength(3);
  });

  it('F39, EB-256: canaries on a rejected node are not named as placed', async () => {
    const [a, b] = [await addNode(), await addNode()];
    await placed(b, 1, { ID: 'full' });
    await register({ TaskGroups: [largeGroup(2)] });
    const delivery = await held();
    const NodeAllocation = { ...placing(a, jobOf(), 1, 0), ...placing(b, jobOf(), 1, 1) };
    const canaries = Object.values(NodeAllocation).flat();
    const Deployment = fixtures.aDeployment({
      JobCreateIndex: jobOf().CreateIndex,
      TaskGroups: { web: fixtures.aDeploymentState({ DesiredCanaries: 2, PlacedCanaries: canaries.map((x) => x.ID) }) },
    });
    for (const canary of canaries) {
      canary.DeploymentID = Deployment.ID;
      canary.DeploymentStatus = { Healthy: null, Timestamp: null, Canary: true, ModifyIndex: 0 };
    }
    const result = await submits(planOf(delivery, { NodeAllocation, Deployment }));
    expect(result.RejectedNodes).toEqual([b.ID]);
    const stored = tables().deployment.get(Deployment.ID);
    expect(stored?.TaskGroups['web']?.PlacedCanaries).toEqual([NodeAllocation[a.ID]![0]!.ID]);
  });

  it('F43, EB-239: planned for a version that was updated since, allocations are stored with the planned one', async () => {
    const node = await addNode();
    await register();
    const delivery = await held();
    const plan = planOf(delivery, { NodeAllocation: placing(node, jobOf()) });
    await register({ TaskGroups: [fixtures.aGroup({ Tasks: [fixtures.aTask({ Env: { NEW: '1' } })] })] });
    expect(jobOf().Version).toBe(1);
    await submits(plan);
    expect(allocs().map((x) => x.Job?.Version)).toEqual([0]);
    await completes(delivery);
    plane.addWorkers(1);
    await until('the update reached it', () => running().some((x) => x.Job?.Version === 1));
    await allEnded();
  });

  it('F44: a plan that only stops is applied although its job was purged while it waited', async () => {
    const node = await addNode();
    const [alloc] = await placed(node);
    await commitEval();
    const delivery = await held();
    const plan = planOf(delivery, { NodeUpdate: { [node.ID]: [stopOf(alloc!)] } });
    await stopJob(true);
    const outcome = await failing(submits(plan));
    if (tables().allocs.has(alloc!.ID)) {
      expect(outcome).toBe('it worked');
      expect(allocs().map((x) => x.DesiredStatus)).toEqual(['stop']);
    } else expect(outcome).toContain("doesn't exist"); // the purge took it along: nothing is left to stop
    await acks(delivery);
    plane.addWorkers(1);
    await allEnded();
    expect(counters()).toEqual(NOTHING);
  });
});

describe('delivery', () => {
  it('F33, EB-100: eleven flips of a node with one system job: two evaluations complete, nine are canceled', async () => {
    const node = await addNode();
    await register({ ID: 'logs', Type: 'system', TaskGroups: [fixtures.aGroup({}, 'system')] });
    for (let i = 0; i < 10; i++) await commitEval({ JobID: 'logs', Type: 'system', NodeID: node.ID });
    plane.addWorkers(2);
    await allEnded();
    const ended = (status: string) => evals().filter((e) => e.Status === status).length;
    expect([ended('complete'), ended('canceled')]).toEqual([2, 9]);
    expect(counters()).toEqual(NOTHING);
  });

  it('F34: evaluations of the same job id in two namespaces are worked on side by side', async () => {
    await plane.write('EvalUpdate', {
      Evals: [fixtures.anEval({ Namespace: 'default' }), fixtures.anEval({ Namespace: 'other' })],
    });
    const both = [await held(), await held()];
    expect(both.map((d) => d.e.Namespace).toSorted()).toEqual(['default', 'other']);
    for (const delivery of both) await completes(delivery);
  });

  it.each([false, true])(
    'F35, EB-336: a delayed evaluation that is canceled when its time comes (delivered already: %s)',
    async (delivered) => {
      const delayed = await register({}, { WaitUntil: new Date(time.nowMs() + 1_000).toISOString() });
      await time.pass(delivered ? 1_000 : 999);
      const delivery = delivered ? await held() : undefined;
      await plane.write('EvalUpdate', {
        Evals: [{ ...delayed, Status: 'canceled', StatusDescription: 'reconnected' }],
      });
      await time.pass(1_000);
      if (delivery) await completes(delivery);
      else expect(await next()).toBeUndefined();
      expect(evalOf(delayed.ID)).toMatchObject({ Status: 'canceled', StatusDescription: 'reconnected' });
      expect(counters()).toEqual(NOTHING);
    },
  );

  it('F40: a transaction that reaches the broker twice, or is in the log twice, counts once', async () => {
    await register();
    await commitEval({ JobID: 'other', Status: 'blocked' });
    const before = counters();
    const seen = [...plane.state.history];
    for (const applied of seen) plane.broker.applied(applied);
    expect(counters()).toEqual(before);
    const { index: _, ...draft } = seen.at(-2)!.txn;
    expect((await plane.state.propose(draft as TxnDraft)).verdict.kind).toBe('noop');
    expect(counters()).toEqual(before);
    await completes(await held());
    expect(counters()).toEqual({ ...NOTHING, totalBlocked: 1 });
  });

  it('F45, EB-220: a system job on a thousand full nodes waits, and is placed on any one that gets room', async () => {
    const nodes: Node[] = [];
    for (let i = 0; i < 1_000; i++) nodes.push(await addNode({ NodeMaxAllocs: 1 }));
    const job = fixtures.aJob({ ID: 'filler', TaskGroups: [fixtures.aGroup({ Count: 1_000 })] });
    await register({ ...job });
    const delivery = await held();
    const NodeAllocation = Object.assign(
      {},
      ...nodes.map((node, i) => placing(node, jobOf('filler'), 1, i)),
    ) as Plan['NodeAllocation'];
    await submits(planOf(delivery, { NodeAllocation }));
    await completes(delivery);
    plane.addWorkers(1);
    await register({ ID: 'logs', Type: 'system', TaskGroups: [fixtures.aGroup({}, 'system')] });
    await allEnded();
    expect(evals().filter((e) => e.Status === 'blocked')).toHaveLength(1);
    const free = nodes[617]!;
    await report(
      allocs().find((a) => a.NodeID === free.ID)!,
      'complete',
    );
    await until('it runs there', () => running().some((a) => a.JobID === 'logs'));
    expect(
      running()
        .filter((a) => a.JobID === 'logs')
        .map((a) => a.NodeID),
    ).toEqual([free.ID]);
  }, 30_000);
});
