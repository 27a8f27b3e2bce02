import { type CSIVolume, type Evaluation, SimulatedTime, volumeResource } from '@waybill/model';
import { fixtures, type StateMachine } from '@waybill/state';
import { silentLogger } from '@waybill/telemetry';
import { beforeEach, describe, expect, it } from 'vitest';
import { BlockedEvals } from './blocked/blocked-evals.js';
import { EvalBroker } from './queue/eval-broker.js';
import { EvaluationRouter } from './evaluation-router.js';
import { EvaluationTraces } from './evaluation-traces.js';

const CLASS = 'v1:123';
const SNAPSHOT = 100;

let machine: StateMachine;
let router: EvaluationRouter;
let evals: EvalBroker;
let blocked: BlockedEvals;
let woken: string[];
let traces: EvaluationTraces;

beforeEach(() => {
  machine = fixtures.aMachine();
  woken = [];
  traces = new EvaluationTraces();
  const time = new SimulatedTime();
  const deps = { clock: time, timers: time };
  const rows = { evaluation: (id: string) => machine.tables.evals.get(id), highestEvalIndex: () => 0 };
  evals = new EvalBroker({ ...deps, newId: () => 'token', random: () => 0, rows });
  const enqueue = (batch: readonly { evaluation: Evaluation }[]) =>
    woken.push(...batch.map((one) => one.evaluation.ID));
  blocked = new BlockedEvals({ ...deps, enqueue, onDuplicate: () => {} });
  router = new EvaluationRouter({
    tables: machine.tables,
    evals,
    blocked,
    traces,
    logger: silentLogger,
    defaultConfiguration: fixtures.aSchedulerConfiguration(),
  });
});

function blockedEval(over: Partial<Evaluation> = {}): Evaluation {
  const evaluation = fixtures.anEval({ Status: 'blocked', SnapshotIndex: SNAPSHOT, ...over });
  machine.tables.evals.replace(evaluation.ID, evaluation);
  return evaluation;
}

const putNode = (over: Partial<ReturnType<typeof fixtures.aNode>> = {}): void => {
  const node = fixtures.aNode({ ID: fixtures.uuid(0xa0de), ComputedClass: CLASS, ModifyIndex: SNAPSHOT + 1, ...over });
  machine.tables.nodes.replace(node.ID, node);
};

describe('EB-159: what made room while nobody handed out evaluations', () => {
  it('a node that came meanwhile sends back what waits for one of its class, or has not seen its class', () => {
    const unseen = blockedEval({ JobID: 'unseen' });
    blockedEval({ JobID: 'elsewhere', ClassEligibility: { [CLASS]: false } });
    blockedEval({ JobID: 'newer', SnapshotIndex: SNAPSHOT + 1 });
    putNode();
    router.applyPauseFlag();
    expect(woken).toEqual([unseen.ID]);
  });

  it.each([
    ['came before', { ModifyIndex: SNAPSHOT }],
    ['is down', { Status: 'down' as const }],
    ['takes nothing', { SchedulingEligibility: 'ineligible' as const }],
  ])('a node that %s does not', (_, over) => {
    blockedEval();
    putNode(over);
    router.applyPauseFlag();
    expect(woken).toEqual([]);
  });

  it.each([
    ['complete', 1],
    ['failed', 1],
    ['running', 0],
  ] as const)('an allocation that is %s meanwhile frees its node: %i wakes', (ClientStatus, wakes) => {
    blockedEval();
    putNode({ ModifyIndex: 1 });
    const alloc = fixtures.anAlloc({ ClientStatus, ModifyIndex: SNAPSHOT + 1 });
    machine.tables.allocs.replace(alloc.ID, alloc);
    router.applyPauseFlag();
    expect(woken).toHaveLength(wakes);
  });

  it('a job that was purged meanwhile may have run anywhere; one that was stopped has still to end', () => {
    const waits = blockedEval({ JobID: 'waits' });
    putNode({ ModifyIndex: 1 });
    const over = { TriggeredBy: 'job-deregister', Status: 'complete', ModifyIndex: SNAPSHOT + 1 } as const;
    const evaluation = fixtures.anEval({ JobID: 'stopped', ...over });
    machine.tables.evals.replace(evaluation.ID, evaluation);
    const job = fixtures.aJob({ ID: 'stopped', Stop: true });
    machine.tables.jobs.replace('default/stopped', job);
    router.applyPauseFlag();
    expect(woken).toEqual([]);
    router.disable();
    machine.tables.jobs.replace('default/stopped', undefined);
    router.applyPauseFlag();
    expect(woken).toEqual([waits.ID]);
  });

  it('a volume that was given back meanwhile', () => {
    const volume: CSIVolume = { ...fixtures.aCSIVolume({ ID: 'disk' }), ModifyIndex: SNAPSHOT + 1 };
    machine.tables.csi_volumes.replace(`default/${volume.ID}`, volume);
    blockedEval({ EscapedComputedClass: true, MissingNonNodeResources: [volumeResource('default', 'disk')] });
    router.applyPauseFlag();
    expect(woken).toHaveLength(1);
  });
});

describe('the pause flag', () => {
  const configured = (PauseEvalBroker: boolean): void => {
    const row = { ...fixtures.aSchedulerConfiguration(), PauseEvalBroker };
    machine.tables.scheduler_config.replace('singleton', row);
  };
  const pendingEval = (JobID: string): Evaluation => {
    const evaluation = fixtures.anEval({ Status: 'pending', JobID });
    machine.tables.evals.replace(evaluation.ID, evaluation);
    return evaluation;
  };

  it('EB-128, EB-136: whoever is un-paused has what is pending and what is blocked, each once', () => {
    configured(true);
    pendingEval('one');
    pendingEval('two');
    blockedEval({ JobID: 'waits' });
    router.applyPauseFlag();
    expect([evals.isEnabled, evals.stats().totalReady, blocked.stats().totalBlocked]).toEqual([false, 0, 0]);
    configured(false);
    router.applyPauseFlag();
    router.applyPauseFlag();
    expect([evals.isEnabled, evals.stats().totalReady, blocked.stats().totalBlocked]).toEqual([true, 2, 1]);
    configured(true);
    router.applyPauseFlag();
    expect([evals.isEnabled, evals.stats().totalReady, blocked.stats().totalBlocked]).toEqual([false, 0, 0]);
  });

  it('EB-136: a term begins with any number of blocked evaluations', () => {
    const one = blockedEval();
    const many = Array<Evaluation>(200_000).fill(one);
    machine.tables.evals.by = (_index, status) => (status === 'blocked' ? many : []).values();
    router.applyPauseFlag();
    expect(blocked.isTracked(one.ID)).toBe(true);
  });

  it('EB-124: a paused one stays paused under a new holder', () => {
    configured(true);
    pendingEval('one');
    router.applyPauseFlag();
    router.disable();
    router.applyPauseFlag();
    expect([evals.isEnabled, evals.stats().totalReady]).toEqual([false, 0]);
  });
});

describe('EB-11: what the log carries goes where it belongs', () => {
  const apply: typeof fixtures.apply = (...args) => {
    const applied = fixtures.apply(...args);
    router.applied(applied);
    return applied;
  };
  const carry = (over: Partial<Evaluation>): Evaluation => {
    const evaluation = fixtures.anEval(over);
    apply(machine, 'EvalUpdate', { Evals: [evaluation] });
    return evaluation;
  };
  const places = () => {
    const { totalReady, totalWaiting } = evals.stats();
    return { ready: totalReady, delayed: totalWaiting, blocked: blocked.stats().totalBlocked };
  };

  beforeEach(() => router.applyPauseFlag());

  it('EB-11: a pending evaluation to the queue, with the trace of its transaction', () => {
    const evaluation = fixtures.anEval();
    apply(machine, 'EvalUpdate', { Evals: [evaluation] }, { traceparent: 'trace' });
    expect(places()).toEqual({ ready: 1, delayed: 0, blocked: 0 });
    expect(traces.traceparentOf(evaluation.ID)).toBe('trace');
    router.disable();
    expect(traces.traceparentOf(evaluation.ID)).toBeUndefined();
  });

  it('EB-11, EB-187: a blocked one to the tracker, until one of its job ends and lacks nothing', () => {
    carry({ Status: 'blocked' });
    expect(places()).toEqual({ ready: 0, delayed: 0, blocked: 1 });
    carry({ Status: 'complete', FailedTGAllocs: { web: {} as never } });
    carry({ Status: 'failed' });
    carry({ Status: 'canceled' });
    carry({ Status: 'complete', JobID: 'other' });
    expect(places().blocked).toBe(1);
    carry({ Status: 'complete' });
    expect(places()).toEqual({ ready: 0, delayed: 0, blocked: 0 });
  });

  it('EB-45: a delayed one out of the queue when it is canceled', () => {
    const delayed = carry({ Wait: 60e9 });
    expect(places().delayed).toBe(1);
    apply(machine, 'EvalUpdate', { Evals: [{ ...delayed, Status: 'canceled' }] });
    expect(places()).toEqual({ ready: 0, delayed: 0, blocked: 0 });
  });

  it('EB-12: one that a transaction carried and did not write goes nowhere', () => {
    const registration = fixtures.aRegistration(fixtures.aJob(), { Eval: fixtures.anEval() });
    apply(machine, 'JobRegister', { ...registration, EnforceIndex: true, JobModifyIndex: 999 });
    expect(places()).toEqual({ ready: 0, delayed: 0, blocked: 0 });
  });

  it('EB-173, EB-181: a node that is ready unblocks its class, and what waits for the node itself', () => {
    const node = fixtures.aNode({ ComputedClass: CLASS });
    apply(machine, 'NodeRegister', { Node: { ...node, Status: 'initializing' }, CreateNodePool: false });
    const waits = carry({ Status: 'blocked', JobID: 'a', ClassEligibility: { [CLASS]: true } });
    const system = { Status: 'blocked', Type: 'system', JobID: 'b', NodeID: node.ID } as const;
    const here = carry({ ...system, ClassEligibility: { [CLASS]: false } });
    carry({ Status: 'blocked', JobID: 'c', ClassEligibility: { [CLASS]: false } });
    expect(woken).toEqual([]);
    const ready = { Status: 'ready', UpdatedAt: 1, NodeEvent: null, IdentitySigningKeyID: '' } as const;
    const { index } = apply(machine, 'NodeUpdateStatus', { NodeID: node.ID, ...ready });
    expect(woken).toEqual([waits.ID, here.ID]);
    carry({ Status: 'blocked', JobID: 'd', SnapshotIndex: index - 1 });
    carry({ Status: 'blocked', JobID: 'e', SnapshotIndex: index });
    expect(woken).toHaveLength(3);
  });

  it('EB-183: a volume that is registered unblocks what misses it', () => {
    const MissingNonNodeResources = [volumeResource('default', 'data')];
    const waits = carry({ Status: 'blocked', EscapedComputedClass: true, MissingNonNodeResources });
    const { index } = apply(machine, 'CSIVolumeRegister', { Volumes: [fixtures.aVolumeRegistration()] });
    expect(woken).toEqual([waits.ID]);
    carry({ Status: 'blocked', JobID: 'late', SnapshotIndex: index - 1, MissingNonNodeResources });
    expect(woken).toHaveLength(2);
  });

  it('EB-128: a stored configuration pauses at once, any other transaction changes nothing', () => {
    carry({});
    const Config = { ...fixtures.aSchedulerConfiguration(), PauseEvalBroker: true };
    apply(machine, 'SchedulerConfig', { Config, CAS: false, ModifyIndex: 0 });
    expect(evals.isEnabled).toBe(false);
  });
});
