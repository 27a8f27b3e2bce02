import type { Allocation, Job } from '@waybill/model';
import {
  archiveLines,
  fixtures,
  readArchive,
  StateMachine,
  type Applied,
  type Change,
  type Fence,
  type Txn,
  type Verdict,
} from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { checkLog, LogCheck } from './log-check.js';
import type { InvariantName } from './invariant.js';

const NODE = fixtures.uuid(0xa0de);
const FENCE: Fence = { role: 'broker', epoch: 1 };
const byBroker = { fence: FENCE };

/** A log that is written transaction by transaction, as services would. */
class LogUnderTest {
  readonly machine = new StateMachine();
  readonly txns: Txn[] = [];

  constructor() {
    this.write('Initialise', {});
    this.write('LeaseAcquired', { Role: 'broker', Epoch: 1, Holder: 'b1' });
    this.write('NodeRegister', { Node: fixtures.aNode({ ID: NODE }), CreateNodePool: false });
  }

  get index(): number {
    return this.machine.appliedIndex;
  }

  write: <T extends Txn['type']>(
    type: T,
    payload: Parameters<typeof fixtures.aTxn<T>>[2],
    over?: Parameters<typeof fixtures.aTxn>[3],
  ) => Applied = (type, payload, over) => {
    const txn = fixtures.aTxn(this.index + 1, type, payload, { requestId: `r${this.txns.length}`, ...over });
    this.txns.push(txn);
    return this.machine.apply(txn);
  };

  register(id = 'web', over: Partial<Job> = {}): { job: Job; evalId: string } {
    const job = fixtures.aJob({ ID: id, ...over });
    const Eval = fixtures.anEval({ JobID: id, Type: job.Type });
    this.write('JobRegister', fixtures.aRegistration(job, { Eval }));
    return { job: this.machine.tables.jobs.get(`default/${id}`)!, evalId: Eval.ID };
  }

  alloc(job: Job, over: Partial<Allocation> = {}): Allocation {
    return { ...fixtures.anAlloc({ Job: job, NodeID: NODE, ...over }), Job: null };
  }

  /** As the holder of the role that there is. */
  private get byHolder(): { fence: Fence } {
    return { fence: { role: 'broker', epoch: this.machine.epochOf('broker') } };
  }

  /** And the role taken anew, as its holder does. */
  restore(Tables: ReturnType<typeof readArchive>): Applied {
    const restored = this.write('StateRestore', { Archive: 'a', SHA256: '', Bytes: 0, Index: this.index, Tables });
    this.write('LeaseAcquired', { Role: 'broker', Epoch: this.machine.epochOf('broker') + 1, Holder: 'b1' });
    return restored;
  }

  plan(
    job: Job,
    evalId: string,
    allocs: Allocation[],
    over: Parameters<typeof fixtures.aTxn>[3] = this.byHolder,
  ): Applied {
    return this.write(
      'ApplyPlanResults',
      fixtures.aPlanResult({ Job: job, EvalID: evalId, AllocsUpdated: allocs }),
      over,
    );
  }

  complete(evalId: string, snapshotIndex = this.index): Applied {
    const stored = this.machine.tables.evals.get(evalId)!;
    return this.write(
      'EvalUpdate',
      { Evals: [{ ...stored, Status: 'complete', SnapshotIndex: snapshotIndex }] },
      this.byHolder,
    );
  }

  broken(options = {}): InvariantName[] {
    return [...new Set(checkLog(this.txns, options).violations.map((v) => v.invariant))];
  }
}

/** What the state machine would never do, shown to the checker as if it had. */
function shown(log: LogUnderTest, applied: Partial<Applied> & { txn: Txn }): InvariantName[] {
  const check = new LogCheck();
  const machine = new StateMachine();
  for (const txn of log.txns) check.after(machine.apply(txn), machine.tables);
  const verdict: Verdict = { kind: 'accepted' };
  check.after({ index: applied.txn.index, verdict, changes: [], ...applied }, machine.tables);
  return [...new Set(check.finish(machine.tables).violations.map((v) => v.invariant))];
}

const change = (given: Change): readonly Change[] => [given];

describe('a log in which all is well', () => {
  it('has no violations, and its report counts what happened', () => {
    const log = new LogUnderTest();
    const { job, evalId } = log.register();
    log.plan(job, evalId, [log.alloc(job)]);
    log.complete(evalId);
    log.write('EvalUpdate', { Evals: [fixtures.anEval()] }, { fence: { role: 'broker', epoch: 0 } });
    const report = checkLog(log.txns, { pendingLimitMs: 0 });
    expect(report.violations).toEqual([]);
    expect(report).toMatchObject({
      ok: true,
      lastIndex: log.index,
      plans: 1,
      placements: 1,
      verdicts: { void: 1, refused: 0 },
      rejections: [{ verdict: 'void', type: 'EvalUpdate', error: 'stale epoch', count: 1 }],
      evaluations: { complete: 1 },
      open: [],
    });
  });

  it('OP-46: a restore may take back what it finds, and work begins anew from there', () => {
    const log = new LogUnderTest();
    const { job, evalId } = log.register();
    log.plan(job, evalId, [log.alloc(job)]);
    const archive = readArchive([...archiveLines(log.machine.tables)]);
    log.complete(evalId);
    log.register(); // version 1
    expect(log.restore(archive).changes.length).toBeGreaterThan(2);
    log.plan(log.machine.tables.jobs.get('default/web')!, evalId, []);
    log.complete(evalId);
    const report = checkLog(log.txns, { pendingLimitMs: 0 });
    expect(report.violations).toEqual([]);
    expect(report).toMatchObject({ placements: 1, evaluations: { complete: 2 } });
  });

  it('ST-119, OP-46: after a restore the counters of a deployment are judged from what it brings back', () => {
    const log = new LogUnderTest();
    const { job, evalId } = log.register();
    const TaskGroups = { web: fixtures.aDeploymentState({ DesiredTotal: 2 }) };
    const Deployment = fixtures.aDeployment({ JobID: 'web', TaskGroups });
    const [one, other] = [0, 1].map((n) => log.alloc(job, { Name: `web.web[${n}]`, DeploymentID: Deployment.ID }));
    const plan = fixtures.aPlanResult({ Job: job, EvalID: evalId, Deployment, AllocsUpdated: [one!, other!] });
    log.write('ApplyPlanResults', plan, byBroker);
    const healthy = (id: string): void => {
      const heard = { DeploymentID: Deployment.ID, HealthyAllocationIDs: [id], UnhealthyAllocationIDs: [] };
      const none = { Timestamp: 0, DeploymentUpdate: null, Job: null, Eval: null, SubmissionFrom: null };
      expect(
        log.write('DeploymentAllocHealth', { ...heard, ...none, RevertSuffix: '', TrackedVersions: 6 }).verdict.kind,
      ).toBe('accepted');
    };
    healthy(one!.ID);
    const { allocs, ...others } = readArchive([...archiveLines(log.machine.tables)]);
    healthy(other!.ID);
    // The first one is counted in the archive, and was collected before it was taken.
    const Tables = { ...others, allocs: (allocs ?? []).filter(({ ID }) => ID === other!.ID) };
    log.write('StateRestore', { Archive: 'a', SHA256: '', Bytes: 0, Index: log.index - 1, Tables });
    healthy(other!.ID);
    expect(log.machine.tables.deployment.get(Deployment.ID)?.TaskGroups['web']).toMatchObject({ HealthyAllocs: 2 });
    expect(log.broken()).not.toContain('deployment-counters');
  });

  it.each([1, 2, 3])('finds nothing that the state machine would let through, in a random log (seed %i)', (seed) => {
    const report = checkLog(fixtures.aRandomLog(seed, 400));
    // Its writers keep to no rule, so only what the state machine itself sees to can hold.
    const kept = ['index-order', 'epoch-order', 'row-order', 'job-summary'];
    expect(report.violations.filter((v) => kept.includes(v.invariant))).toEqual([]);
  });
});

describe('a log that was broken on purpose', () => {
  it('index-order: an index is missing, or comes twice', () => {
    const log = new LogUnderTest();
    log.register();
    expect(checkLog(log.txns.filter((_, i) => i !== 2)).violations).toMatchObject([
      { invariant: 'index-order', index: 4 },
    ]);
    expect(checkLog([...log.txns, log.txns.at(-1)!]).violations).toMatchObject([
      { invariant: 'index-order', index: 4 },
    ]);
    expect(shown(log, { txn: fixtures.aTxn(9, 'Ignore', {}) })).toEqual(['index-order']);
  });

  it('epoch-order: an epoch is skipped, goes back, or an old one counts', () => {
    const log = new LogUnderTest();
    const next = log.index + 1;
    const lease = (Epoch: number) => fixtures.aTxn(next, 'LeaseAcquired', { Role: 'broker', Epoch, Holder: 'b2' });
    expect(shown(log, { txn: lease(3) })).toEqual(['epoch-order']);
    expect(shown(log, { txn: lease(1) })).toEqual(['epoch-order']);
    const stale = fixtures.aTxn(next, 'Ignore', {}, { fence: { role: 'broker', epoch: 0 } });
    expect(shown(log, { txn: stale })).toEqual(['epoch-order']);
    expect(shown(log, { txn: lease(2) })).toEqual([]);
  });

  it('explained-verdict: void without cause, refused without reason, rejected and yet changed', () => {
    const log = new LogUnderTest();
    const next = log.index + 1;
    const current = fixtures.aTxn(next, 'Ignore', {}, byBroker);
    expect(shown(log, { txn: current, verdict: { kind: 'void', error: 'stale epoch' } })).toEqual([
      'explained-verdict',
    ]);
    const plain = fixtures.aTxn(next, 'Ignore', {});
    expect(shown(log, { txn: plain, verdict: { kind: 'void', error: 'stale epoch' } })).toEqual(['explained-verdict']);
    expect(shown(log, { txn: plain, verdict: { kind: 'refused', code: 'conflict', error: '' } })).toEqual([
      'explained-verdict',
    ]);
    const node = log.machine.tables.nodes.get(NODE);
    const changes = change({ table: 'nodes', key: NODE, before: node, after: node });
    expect(shown(log, { txn: plain, verdict: { kind: 'refused', code: 'conflict', error: 'no' }, changes })).toEqual([
      'explained-verdict',
    ]);
  });

  it('row-order (EB-330): an index or a version goes back, a CreateIndex changes', () => {
    const log = new LogUnderTest();
    const { job } = log.register();
    const txn = fixtures.aTxn(log.index + 1, 'Ignore', {});
    const jobs = (after: Partial<Job>) =>
      change({
        table: 'jobs',
        key: 'default/web',
        before: { ...job, Version: 3 },
        after: { ...job, Version: 3, ...after },
      });
    expect(shown(log, { txn, changes: jobs({ Version: 2 }) })).toEqual(['row-order']);
    expect(shown(log, { txn, changes: jobs({ ModifyIndex: job.ModifyIndex - 1 }) })).toEqual(['row-order']);
    expect(shown(log, { txn, changes: jobs({ ModifyIndex: txn.index + 1 }) })).toEqual(['row-order']);
    expect(shown(log, { txn, changes: jobs({ CreateIndex: 1 }) })).toEqual(['row-order']);
    expect(shown(log, { txn, changes: jobs({}) })).toEqual([]);
  });

  it('eval-status (EB-332): an evaluation comes back from its end', () => {
    const log = new LogUnderTest();
    const { evalId } = log.register();
    log.complete(evalId);
    const before = log.machine.tables.evals.get(evalId)!;
    const index = log.index + 1;
    const after = { ...before, Status: 'failed' as const, ModifyIndex: index };
    const changes = change({ table: 'evals', key: evalId, before, after });
    expect(shown(log, { txn: fixtures.aTxn(index, 'Ignore', {}), changes })).toEqual(['eval-status']);
  });

  it('eval-end (EB-326): an evaluation is still pending long after it was due', () => {
    const log = new LogUnderTest();
    const { evalId } = log.register();
    log.write('Ignore', {}, { timeNs: fixtures.timeNs + 200_000 * 1e6 });
    const report = checkLog(log.txns);
    expect(report.violations).toEqual([]);
    expect(report.open).toMatchObject([{ id: evalId, status: 'pending', ageMs: 200_000 }]);
    expect(log.broken({ pendingLimitMs: 0 })).toEqual(['eval-end']);
    log.write('Ignore', {}, { timeNs: fixtures.timeNs + 301_000 * 1e6 });
    expect(log.broken()).toEqual(['eval-end']);
  });

  it.each([3_600, 86_400, -3_600, -86_400])(
    'eval-end: a clock that was %d s off for some transactions breaks no log',
    (off) => {
      const wrongNs = fixtures.timeNs + off * 1e9;
      const by = (ID: string) => ({ actor: { Kind: 'role' as const, ID, Name: ID } });
      const log = new LogUnderTest();
      for (const ID of ['nodes', 'scheduler']) log.write('Ignore', {}, by(ID));
      const evaluation = fixtures.anEval({ ID: fixtures.freshId(), CreateTime: wrongNs, ModifyTime: wrongNs });
      log.write('EvalUpdate', { Evals: [evaluation] }, { ...by('broker'), timeNs: wrongNs });
      expect(log.broken()).toEqual([]);
      for (const ID of ['nodes', 'scheduler']) log.write('Ignore', {}, by(ID));
      log.write('Ignore', {}, { ...by('broker'), timeNs: wrongNs });
      expect(log.broken()).toEqual([]);
      for (const ID of ['nodes', 'scheduler', 'broker'])
        log.write('Ignore', {}, { ...by(ID), timeNs: fixtures.timeNs + 400 * 1e9 });
      if (off < 0) expect(log.broken()).toEqual(['eval-end']);
    },
  );

  it('eval-end: one that waits for its time, is blocked, or meets a paused broker has not been forgotten', () => {
    const log = new LogUnderTest();
    const later = { ID: fixtures.freshId(), JobID: 'later', Wait: 60 * 1e9 };
    log.write('EvalUpdate', { Evals: [fixtures.anEval(later), fixtures.anEval({ JobID: 'full', Status: 'blocked' })] });
    expect(log.broken({ pendingLimitMs: 0 })).toEqual([]);
    log.register();
    const Config = { ...fixtures.aSchedulerConfiguration(), PauseEvalBroker: true };
    log.write('SchedulerConfig', { Config, CAS: false, ModifyIndex: 0 });
    expect(log.broken({ pendingLimitMs: 0 })).toEqual([]);
  });

  it('eval-end (EB-325): collection takes an evaluation that has not ended', () => {
    const log = new LogUnderTest();
    const { evalId } = log.register();
    log.write('EvalDelete', { EvalIDs: [evalId], AllocIDs: [], ScanIndex: log.index, UserInitiated: false });
    expect(log.broken()).toContain('eval-end');
  });

  it('node-capacity (EB-328): plans put more on a node than it has', () => {
    const log = new LogUnderTest();
    const job = fixtures.aJob();
    const task = fixtures.aTask();
    const group = fixtures.aGroup({ Count: 2, Tasks: [{ ...task, Resources: { ...task.Resources, CPU: 2_500 } }] });
    const registered = log.register('web', { ...job, TaskGroups: [group] });
    log.plan(registered.job, registered.evalId, [log.alloc(registered.job)]);
    expect(log.broken()).toEqual([]);
    log.plan(registered.job, registered.evalId, [log.alloc(registered.job, { Name: 'web.web[1]' })]);
    expect(checkLog(log.txns).violations).toMatchObject([
      { invariant: 'node-capacity', index: log.index, subject: `node ${NODE}` },
    ]);
  });

  it('node-capacity: what stopped in the same plan makes room', () => {
    const log = new LogUnderTest();
    const task = fixtures.aTask();
    const group = fixtures.aGroup({ Tasks: [{ ...task, Resources: { ...task.Resources, CPU: 2_500 } }] });
    const { job, evalId } = log.register('web', { TaskGroups: [group] });
    const old = log.alloc(job);
    log.plan(job, evalId, [old]);
    const stop = { ID: old.ID, DesiredDescription: '', ClientStatus: '' as const, FollowupEvalID: '' };
    const payload = { Job: job, EvalID: evalId, AllocsUpdated: [log.alloc(job)], AllocsStopped: [stop] };
    log.write('ApplyPlanResults', fixtures.aPlanResult(payload), byBroker);
    expect(log.broken()).toEqual([]);
  });

  it('node-capacity: after a restore a machine may run what the archive says has ended (OP-47)', () => {
    const log = new LogUnderTest();
    const task = fixtures.aTask();
    const group = fixtures.aGroup({ Count: 3, Tasks: [{ ...task, Resources: { ...task.Resources, CPU: 2_500 } }] });
    const { job, evalId } = log.register('web', { TaskGroups: [group] });
    const [first, second, third] = [0, 1, 2].map((n) => log.alloc(job, { Name: `web.web[${n}]` }));
    const says = (ClientStatus: 'complete' | 'running') => {
      const update = fixtures.aClientUpdate({ ID: first!.ID, NodeID: NODE }, { ClientStatus });
      log.write('AllocClientUpdate', { Allocs: [update], Evals: [] });
    };
    log.plan(job, evalId, [first!]);
    says('complete');
    log.plan(job, evalId, [second!]);
    const Tables = readArchive(archiveLines(log.machine.tables));
    log.restore(Tables);
    says('running');
    expect(log.machine.tables.allocs.get(first!.ID)?.ClientStatus).toBe('running');
    expect(log.broken()).not.toContain('node-capacity');
    log.write('AllocClientUpdate', {
      Allocs: [fixtures.aClientUpdate({ ID: second!.ID, NodeID: NODE }, { ClientStatus: 'complete' })],
      Evals: [],
    });
    log.plan(job, evalId, [third!]); // whoever placed it need not have heard of the first one
    expect(log.broken()).not.toContain('node-capacity');
    log.plan(job, evalId, [log.alloc(job, { Name: 'web.web[3]' })]);
    expect(log.broken()).toContain('node-capacity');
  });

  it('node-capacity (ND-110): what a machine said had ended and runs again is no plan’s fault', () => {
    const log = new LogUnderTest();
    const task = fixtures.aTask();
    const group = fixtures.aGroup({ Count: 2, Tasks: [{ ...task, Resources: { ...task.Resources, CPU: 2_500 } }] });
    const { job, evalId } = log.register('web', { TaskGroups: [group] });
    const [first, second] = [0, 1].map((n) => log.alloc(job, { Name: `web.web[${n}]` }));
    const says = (ClientStatus: 'failed' | 'running') =>
      log.write('AllocClientUpdate', {
        Allocs: [fixtures.aClientUpdate({ ID: first!.ID, NodeID: NODE }, { ClientStatus })],
        Evals: [],
      });
    log.plan(job, evalId, [first!]);
    says('failed');
    log.plan(job, evalId, [second!]);
    says('running');
    expect(log.broken()).not.toContain('node-capacity');
    log.plan(job, evalId, [log.alloc(job, { Name: 'web.web[2]' })]);
    expect(log.broken()).toContain('node-capacity');
  });

  it('accepted-plan (EB-327): a plan counts without a holder', () => {
    const unfenced = new LogUnderTest();
    const other = unfenced.register();
    unfenced.plan(other.job, other.evalId, [unfenced.alloc(other.job)], {});
    expect(unfenced.broken()).toEqual(['accepted-plan']);
  });

  it('EB-337: an evaluation that ended with the purge of its job while a worker held it may still be planned', () => {
    const log = new LogUnderTest();
    const { job, evalId } = log.register();
    log.write('JobDeregister', {
      JobID: job.ID,
      Purge: true,
      NoShutdownDelay: false,
      SubmitTime: 0,
      Eval: null,
      TrackedVersions: 6,
    });
    log.register();
    log.plan(job, evalId, [log.alloc(job)]);
    expect(log.broken()).toEqual([]);
  });

  it('no-double-placement (EB-329): a second delivery places what the first one has placed', () => {
    const log = new LogUnderTest();
    const { job, evalId } = log.register();
    log.plan(job, evalId, [log.alloc(job)]);
    log.plan(job, evalId, [log.alloc(job)]);
    expect(checkLog(log.txns).violations).toMatchObject([
      { invariant: 'no-double-placement', index: log.index, subject: 'job default/web' },
    ]);
  });

  it('no-double-placement: a promoted canary keeps the name that it shares (SC-331)', () => {
    const log = new LogUnderTest();
    const { job, evalId } = log.register('web', { TaskGroups: [fixtures.aGroup({ Count: 2 })] });
    const DeploymentStatus = { Healthy: null, Timestamp: null, Canary: true, ModifyIndex: 0 };
    const canary = log.alloc(job, { DeploymentStatus });
    log.plan(job, evalId, [canary]);
    log.plan(job, evalId, [{ ...canary, DeploymentStatus: { ...DeploymentStatus, Canary: false } }]);
    log.plan(job, evalId, [log.alloc(job)]);
    expect(log.broken()).toEqual([]);
    log.plan(job, evalId, [log.alloc(job)]);
    expect(log.broken()).toEqual(['no-double-placement']);
  });

  it('no-double-placement: what replaces a promoted canary has the name that the canary shared (SC-229, SC-331)', () => {
    const log = new LogUnderTest();
    const { job, evalId } = log.register('web', { TaskGroups: [fixtures.aGroup({ Count: 2 })] });
    const DeploymentStatus = { Healthy: null, Timestamp: null, Canary: true, ModifyIndex: 0 };
    const canary = log.alloc(job, { DeploymentStatus });
    log.plan(job, evalId, [canary, log.alloc(job)]);
    log.plan(job, evalId, [log.alloc(job, { PreviousAllocation: canary.ID })]);
    expect(log.broken()).toEqual([]);
    log.plan(job, evalId, [log.alloc(job)]);
    expect(log.broken()).toEqual(['no-double-placement']);
  });

  it('one-outstanding (EB-323): two evaluations of a job are worked on at once', () => {
    const log = new LogUnderTest();
    const { job, evalId } = log.register('web', { TaskGroups: [fixtures.aGroup({ Count: 2 })] });
    const second = fixtures.anEval();
    log.write('EvalUpdate', { Evals: [second] });
    log.plan(job, evalId, [log.alloc(job)]);
    log.plan(job, second.ID, [log.alloc(job, { Name: 'web.web[1]' })]);
    expect(log.broken()).toEqual(['one-outstanding']);
  });

  it('one-outstanding (EB-330): an evaluation was scheduled on a state from before the end of the one before it', () => {
    const log = new LogUnderTest();
    const { evalId } = log.register();
    const second = fixtures.anEval();
    log.write('EvalUpdate', { Evals: [second] });
    const snapshot = log.index;
    log.complete(evalId);
    const good = [...log.txns];
    log.complete(second.ID, snapshot);
    expect(log.broken()).toEqual(['one-outstanding']);
    expect(checkLog(good).ok).toBe(true);
  });

  it('one-outstanding: what a purge ends was not scheduled', () => {
    const log = new LogUnderTest();
    const { evalId } = log.register();
    const second = fixtures.anEval({ Status: 'blocked' });
    log.write('EvalUpdate', { Evals: [second] });
    const snapshot = log.index;
    const purge = { JobID: 'web', Purge: true, NoShutdownDelay: false, SubmitTime: 0, Eval: null, TrackedVersions: 6 };
    log.write('JobDeregister', purge, { namespace: 'default' });
    expect(log.machine.tables.evals.get(evalId)?.Status).toBe('complete');
    log.complete(second.ID, snapshot);
    expect(log.broken()).toEqual([]);
  });

  it('one-outstanding: an end that is written once more after its evaluation was collected is no other delivery', () => {
    const log = new LogUnderTest();
    const { evalId } = log.register();
    const pending = log.machine.tables.evals.get(evalId)!;
    const SnapshotIndex = log.index;
    log.complete(evalId, SnapshotIndex);
    log.write('EvalDelete', { EvalIDs: [evalId], AllocIDs: [], ScanIndex: log.index, UserInitiated: false });
    log.write('EvalUpdate', { Evals: [{ ...pending, Status: 'complete', SnapshotIndex }] }, byBroker);
    expect(log.machine.tables.evals.get(evalId)?.Status).toBe('complete');
    expect(log.broken()).toEqual([]);
  });

  it('one-outstanding: a new holder begins anew, and so does a broker that was paused', () => {
    const log = new LogUnderTest();
    const { job, evalId } = log.register('web', { TaskGroups: [fixtures.aGroup({ Count: 2 })] });
    const second = fixtures.anEval();
    log.write('EvalUpdate', { Evals: [second] });
    log.plan(job, evalId, [log.alloc(job)]);
    log.write('LeaseAcquired', { Role: 'broker', Epoch: 2, Holder: 'b2' });
    log.plan(job, second.ID, [log.alloc(job, { Name: 'web.web[1]' })], { fence: { role: 'broker', epoch: 2 } });
    expect(log.broken()).toEqual([]);
  });

  it('one-blocked (EB-331): two evaluations of a job stay blocked', () => {
    const log = new LogUnderTest();
    const Evals = [1, 2].map(() => fixtures.anEval({ Status: 'blocked' }));
    log.write('EvalUpdate', { Evals });
    expect(log.broken()).toEqual([]);
    log.write('Ignore', {}, { timeNs: fixtures.timeNs + 31_000 * 1e6 });
    expect(log.broken()).toEqual(['one-blocked']);
  });

  it.each([
    ['PlacedAllocs', { PlacedAllocs: 2 }],
    ['HealthyAllocs', { HealthyAllocs: 1 }],
    ['UnhealthyAllocs', { UnhealthyAllocs: 1 }],
    ['PlacedCanaries', { PlacedCanaries: ['nobody'] }],
  ])('deployment-counters (ST-119): %s is not what was placed and said of it', (_, wrong) => {
    const log = new LogUnderTest();
    const { job, evalId } = log.register();
    const Deployment = fixtures.aDeployment({ JobID: 'web', TaskGroups: { web: fixtures.aDeploymentState() } });
    const placed = log.alloc(job, { DeploymentID: Deployment.ID });
    log.write(
      'ApplyPlanResults',
      fixtures.aPlanResult({ Job: job, EvalID: evalId, Deployment, AllocsUpdated: [placed] }),
      byBroker,
    );
    expect(log.broken()).toEqual([]);
    const before = log.machine.tables.deployment.get(Deployment.ID)!;
    const index = log.index + 1;
    const TaskGroups = { web: { ...before.TaskGroups['web']!, ...wrong } };
    const after = { ...before, TaskGroups, ModifyIndex: index };
    const txn = fixtures.aTxn(index, 'Ignore', {});
    expect(shown(log, { txn, changes: change({ table: 'deployment', key: before.ID, before, after }) })).toEqual([
      'deployment-counters',
    ]);
  });

  it('job-summary: a counter is not what the allocations are', () => {
    const log = new LogUnderTest();
    const { job, evalId } = log.register();
    log.plan(job, evalId, [log.alloc(job)]);
    const before = log.machine.tables.allocs.all().next().value!;
    const index = log.index + 1;
    const after = { ...before, ClientStatus: 'running' as const, ModifyIndex: index };
    const changes = change({ table: 'allocs', key: before.ID, before, after });
    expect(shown(log, { txn: fixtures.aTxn(index, 'Ignore', {}), changes })).toEqual(['job-summary']);
  });

  it('job-status: a job is not what its rows make it', () => {
    const log = new LogUnderTest();
    const { evalId } = log.register();
    log.complete(evalId);
    const check = new LogCheck();
    const machine = new StateMachine();
    for (const txn of log.txns) check.after(machine.apply(txn), machine.tables);
    const job = machine.tables.jobs.get('default/web')!;
    machine.tables.jobs.replace('default/web', { ...job, Status: 'running' });
    expect(check.finish(machine.tables).violations.map((v) => v.invariant)).toEqual(['job-status']);
  });
});
