import {
  FakeTime,
  type Allocation,
  type Evaluation,
  type Job,
  type Node,
  type Plan,
  type PlanResult,
} from '@waybill/model';
import { ack, dequeue, nack, reblockEval, SCHEDULER_VERSION, submitPlan, updateEval } from '@waybill/rpc';
import { fixtures, type Proposed, type TxnDraft } from '@waybill/state';
import { checkLog } from '@waybill/verify';
import { afterEach, beforeEach, expect } from 'vitest';
import { LocalControlPlane } from './local-control-plane.js';

// What the scenarios F1 to F45 of section 18 of docs/reference/evaluations.md are made of where no process has to die
// (test/evaluations/*-faults.test.ts): broker and workers in one process, over a log of its own, under a clock that passes
// only when told to. Those with processes that die: evaluations-crashes.test.ts.

const TYPES = ['service', 'batch', 'system', 'sysbatch'];
export const NACK_TIMEOUT_MS = 60_000;
export const FIRST_REDELIVERY_MS = 1_000;
/** Longest simulated time that anything here may take. */
const LIMIT_MS = 30 * 60_000;
const STEP_MS = 250;

export let time: FakeTime;
export let plane: LocalControlPlane;
/** Invariants that the scenario breaks on purpose. */
let onPurpose: string[];

/** Each test of the file has a control plane and a log of its own, which is checked from the outside after it. */
export function eachOnItsOwnLog(): void {
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
}

/** The test breaks this invariant of the log on purpose. */
export const breaksOnPurpose = (invariant: string): void => void onPurpose.push(invariant);

// ---- the state, and those who change it

export const tables = () => plane.state.tables;
export const evals = () => [...tables().evals.all()];
export const allocs = () => [...tables().allocs.all()];
export const evalOf = (id: string): Evaluation => tables().evals.get(id)!;
export const jobOf = (id = 'web'): Job => tables().jobs.get(`default/${id}`)!;
export const statusOf = (id: string) => tables().evals.get(id)?.Status;
export const running = () => allocs().filter((a) => a.DesiredStatus === 'run');

export async function addNode(over: Partial<Node> = {}): Promise<Node> {
  const node = fixtures.aNode(over);
  await plane.write('NodeRegister', { Node: node, CreateNodePool: false });
  return node;
}

/** A group of which one fits a node. */
export function largeGroup(count = 1, type = 'service') {
  const task = fixtures.aTask();
  return fixtures.aGroup({ Count: count, Tasks: [{ ...task, Resources: { ...task.Resources, CPU: 2_500 } }] }, type);
}

/** Registers a job; answers its evaluation. */
export async function register(over: Partial<Job> = {}, evalOver: Partial<Evaluation> = {}): Promise<Evaluation> {
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

export async function commitEval(over: Partial<Evaluation> = {}): Promise<Evaluation> {
  const evaluation = fixtures.anEval({ TriggeredBy: 'node-update', CreateTime: time.nowMs() * 1e6, ...over });
  await plane.write('EvalUpdate', { Evals: [evaluation] });
  return evalOf(evaluation.ID);
}

export const stopJob = (Purge = false) =>
  plane.write('JobDeregister', {
    JobID: 'web',
    Purge,
    NoShutdownDelay: false,
    SubmitTime: 0,
    Eval: fixtures.anEval({ TriggeredBy: 'job-deregister', CreateTime: time.nowMs() * 1e6 }),
    TrackedVersions: 6,
  });

export const setNodeStatus = (node: Node, Status: Node['Status']) =>
  plane.write('NodeUpdateStatus', { NodeID: node.ID, Status, UpdatedAt: 0, NodeEvent: null, IdentitySigningKeyID: '' });

export const report = (alloc: Allocation, ClientStatus: Allocation['ClientStatus']) =>
  plane.write('AllocClientUpdate', { Allocs: [fixtures.aClientUpdate(alloc, { ClientStatus })], Evals: [] });

export const pause = (PauseEvalBroker: boolean) =>
  plane.write('SchedulerConfig', {
    Config: { ...fixtures.aSchedulerConfiguration(), PauseEvalBroker },
    CAS: false,
    ModifyIndex: 0,
  });

// ---- a worker that is led by hand

export interface Held {
  readonly e: Evaluation;
  readonly token: string;
  readonly waitIndex: number;
}

/** What the broker hands out now, or within `waitMs` of simulated time. */
export async function next(waitMs = 10): Promise<Held | undefined> {
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

export async function held(): Promise<Held> {
  const delivery = await next();
  if (!delivery) throw new Error('the broker hands out nothing');
  return delivery;
}

export const acks = ({ e, token }: Held) => plane.ask(ack, { EvalID: e.ID, Token: token });
export const nacks = ({ e, token }: Held) => plane.ask(nack, { EvalID: e.ID, Token: token });
export const updates = ({ e, token }: Held, over: Partial<Evaluation>) =>
  plane.ask(updateEval, {
    Evals: [{ ...e, ModifyTime: time.nowMs() * 1e6 + 1, SnapshotIndex: plane.state.appliedIndex, ...over }],
    Token: token,
  });
export const completes = async (delivery: Held) => {
  await updates(delivery, { Status: 'complete' });
  await acks(delivery);
};
export const reblocks = ({ e, token }: Held) =>
  plane.ask(reblockEval, { Evals: [{ ...e, SnapshotIndex: plane.state.appliedIndex }], Token: token });

export const planOf = ({ e, token }: Held, over: Partial<Plan> = {}): Plan =>
  fixtures.aPlan({
    EvalID: e.ID,
    EvalToken: token,
    Priority: e.Priority,
    Job: tables().jobs.get(`${e.Namespace}/${e.JobID}`) ?? null,
    SnapshotIndex: plane.state.appliedIndex,
    ...over,
  });

export const submits = async (plan: Plan): Promise<PlanResult> => (await plane.ask(submitPlan, { Plan: plan })).Result;

/** New allocations of a job on a node, from the given index of the group's names on. */
export function placing(node: Node, job: Job, count = 1, from = 0): Record<string, Allocation[]> {
  const allocations = Array.from({ length: count }, (_, i) => {
    const Name = `${job.ID}.${job.TaskGroups[0]!.Name}[${from + i}]`;
    return { ...fixtures.anAlloc({ Job: job, NodeID: node.ID, Name, Namespace: job.Namespace }), Job: null };
  });
  return { [node.ID]: allocations };
}

export const stopOf = (alloc: Allocation) => ({
  ID: alloc.ID,
  DesiredDescription: '',
  ClientStatus: '' as const,
  FollowupEvalID: '',
});

/** Allocations that are there already, placed by an evaluation that is over. */
export async function placed(node: Node, count = 1, over: Partial<Job> = {}): Promise<Allocation[]> {
  await register({ TaskGroups: [largeGroup(count, over.Type)], ...over });
  const delivery = await held();
  await submits(planOf(delivery, { NodeAllocation: placing(node, jobOf(over.ID), count) }));
  await completes(delivery);
  return allocs().filter((a) => a.EvalID === delivery.e.ID || a.JobID === (over.ID ?? 'web'));
}

// ---- time, and a log that can be held up

/** Lets simulated time pass until it is so. */
export async function until(what: string, condition: () => boolean, limitMs = LIMIT_MS): Promise<void> {
  for (let passed = 0; !condition(); passed += STEP_MS) {
    if (passed > limitMs) throw new Error(`not within ${limitMs} simulated ms: ${what}`);
    await time.pass(STEP_MS);
  }
}

export const allEnded = () =>
  until('every evaluation has ended', () => evals().every((e) => !['pending'].includes(e.Status)));
export const failing = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'it worked',
    (error: Error) => error.message,
  );

/** Keeps writes of a type from reaching the log until they are let go, or makes them fail. */
export function holdingUp(type: TxnDraft['type']): { readonly waiting: () => number; letGo(error?: Error): void } {
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

export const counters = () => {
  const { totalReady, totalUnacked, totalPending, totalWaiting, totalCancelable, totalBlocked } = plane.broker.stats();
  return { totalReady, totalUnacked, totalPending, totalWaiting, totalCancelable, totalBlocked };
};
export const NOTHING = {
  totalReady: 0,
  totalUnacked: 0,
  totalPending: 0,
  totalWaiting: 0,
  totalCancelable: 0,
  totalBlocked: 0,
};
