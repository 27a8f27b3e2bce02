import type { AllocMetric, EvalStatus } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import type { TxnPayloads } from '../log/catalogue.js';
import { eventsOf } from '../events.js';
import { fixtures } from '../fixtures.js';
import type { StateMachine } from '../machine/state-machine.js';

const { aMachine, anAlloc, anEval, aPlanResult, aRegisteredJob, aServiceRegistration, apply } = fixtures;
const update = (machine: StateMachine, ...Evals: ReturnType<typeof anEval>[]) =>
  apply(machine, 'EvalUpdate', { Evals });
const row = (machine: StateMachine, { ID }: { ID: string }) => machine.tables.evals.get(ID)!;

const remove = (machine: StateMachine, over: Partial<TxnPayloads['EvalDelete']>) =>
  apply(machine, 'EvalDelete', {
    EvalIDs: [],
    AllocIDs: [],
    ScanIndex: machine.appliedIndex,
    UserInitiated: false,
    ...over,
  });

describe('evaluation upsert', () => {
  it('ST-91: new gets both indexes; known keeps its CreateIndex and takes the rest', () => {
    const machine = aMachine();
    const evaluation = anEval();
    update(machine, evaluation);
    expect(row(machine, evaluation)).toMatchObject({ CreateIndex: 2, ModifyIndex: 2 });
    update(machine, { ...evaluation, Priority: 90, StatusDescription: 'x' });
    expect(row(machine, evaluation)).toMatchObject({ CreateIndex: 2, ModifyIndex: 3, Priority: 90 });
  });

  it('ST-91 EB-336: a terminal evaluation is never changed again, the others of the transaction are', () => {
    const machine = aMachine();
    const [done, other] = [anEval({ Status: 'canceled' }), anEval()];
    update(machine, done);
    const applied = update(machine, { ...done, Status: 'complete' }, other);
    expect(row(machine, done)).toMatchObject({ Status: 'canceled', ModifyIndex: 2 });
    expect(row(machine, other).ModifyIndex).toBe(3);
    expect(applied.verdict.kind).toBe('accepted');
  });

  it('ST-92: queued counters and the status of the job follow', () => {
    const machine = aMachine();
    const { evaluation } = aRegisteredJob(machine);
    update(machine, { ...evaluation, Status: 'complete', QueuedAllocations: { web: 3 } });
    expect(machine.tables.job_summary.get('default/web')!.Summary['web']!.Queued).toBe(3);
    expect(machine.tables.jobs.get('default/web')).toMatchObject({ Status: 'dead', ModifyIndex: 3 });
  });

  it('ST-93 EB-18: a complete evaluation without failed groups cancels what is blocked of the job', () => {
    const machine = aMachine();
    const [blocked, other, pending] = [
      anEval({ Status: 'blocked' }),
      anEval({ Status: 'blocked', JobID: 'x' }),
      anEval(),
    ];
    update(machine, blocked, other, pending);
    const complete = anEval({ Status: 'complete', ModifyTime: 77 });
    update(machine, { ...complete, ID: fixtures.freshId(), FailedTGAllocs: { web: {} as AllocMetric } });
    expect(row(machine, blocked).Status).toBe('blocked');
    const { index } = update(machine, complete);
    expect(row(machine, blocked)).toMatchObject({
      Status: 'canceled',
      StatusDescription: `evaluation "${complete.ID}" successful`,
      ModifyIndex: index,
      ModifyTime: 77,
    });
    expect(row(machine, other).Status).toBe('blocked');
    expect(row(machine, pending).Status).toBe('pending');
  });

  it('ST-93: a blocked evaluation that completes itself ends complete', () => {
    const machine = aMachine();
    const blocked = anEval({ Status: 'blocked' });
    update(machine, blocked);
    update(machine, { ...blocked, Status: 'complete' });
    expect(row(machine, blocked)).toMatchObject({ Status: 'complete', StatusDescription: '' });
  });

  it('ST-94: an evaluation of a job that does not exist is stored', () => {
    const machine = aMachine();
    const evaluation = anEval({ JobID: 'gone' });
    expect(update(machine, evaluation).verdict.kind).toBe('accepted');
    expect(row(machine, evaluation).JobID).toBe('gone');
  });

  it('ST-13 ST-95: a status outside the five is refused', () => {
    const machine = aMachine();
    for (const Status of ['blocked', 'pending', 'complete', 'failed', 'canceled'] as const) {
      expect(update(machine, anEval({ Status })).verdict.kind).toBe('accepted');
    }
    for (const Status of ['cancelled', '', 'done']) {
      expect(update(machine, anEval({ Status: Status as EvalStatus })).verdict.kind).toBe('refused');
    }
  });
});

describe('evaluation deletion', () => {
  it('ST-96: deletes evaluations, allocations and their services; unknown ids are ignored', () => {
    const machine = aMachine();
    const { job, evaluation } = aRegisteredJob(machine);
    const alloc = anAlloc({ Job: job, EvalID: evaluation.ID });
    apply(machine, 'ApplyPlanResults', aPlanResult({ AllocsUpdated: [alloc], EvalID: evaluation.ID }));
    const service = aServiceRegistration({ AllocID: alloc.ID });
    machine.tables.service_registrations.replace(`default/${service.ID}`, service);
    expect(remove(machine, { EvalIDs: ['gone'], AllocIDs: ['gone'] }).verdict.kind).toBe('noop');
    expect(machine.tables.evals.tableIndex).toBe(3);
    const { index } = remove(machine, { EvalIDs: [evaluation.ID], AllocIDs: [alloc.ID] });
    expect(machine.tables.evals.size + machine.tables.allocs.size + machine.tables.service_registrations.size).toBe(0);
    expect([machine.tables.evals.tableIndex, machine.tables.allocs.tableIndex]).toEqual([index, index]);
    expect(machine.tables.jobs.get('default/web')!.Status).toBe('dead');
  });

  it('ST-16: what was written since the scan stays, and an evaluation that keeps an allocation', () => {
    const machine = aMachine();
    const { job, evaluation } = aRegisteredJob(machine);
    const alloc = anAlloc({ Job: job, EvalID: evaluation.ID });
    apply(machine, 'ApplyPlanResults', aPlanResult({ AllocsUpdated: [alloc], EvalID: evaluation.ID }));
    const ScanIndex = machine.appliedIndex;
    const newer = anEval({ JobID: 'x' });
    update(machine, newer);
    apply(machine, 'AllocClientUpdate', { Allocs: [fixtures.aClientUpdate(alloc)], Evals: [] });
    const both = { EvalIDs: [evaluation.ID, newer.ID], AllocIDs: [alloc.ID] };
    expect(remove(machine, { ...both, ScanIndex }).verdict.kind).toBe('noop');
    remove(machine, both);
    expect(machine.tables.evals.size + machine.tables.allocs.size).toBe(0);
  });

  it('API-641, ST-97: a user may delete only while the broker is paused', () => {
    const machine = aMachine();
    const evaluation = anEval();
    update(machine, evaluation);
    const byUser = () => remove(machine, { EvalIDs: [evaluation.ID], UserInitiated: true, ScanIndex: 0 }).verdict;
    expect(byUser()).toEqual({
      kind: 'refused',
      code: 'conflict',
      error: 'eval broker is enabled; eval broker must be paused to delete evals',
    });
    const Config = { ...fixtures.aSchedulerConfiguration(), PauseEvalBroker: true };
    apply(machine, 'SchedulerConfig', { Config, CAS: false, ModifyIndex: 0 });
    expect(byUser().kind).toBe('accepted');
    expect(machine.tables.evals.size).toBe(0);
  });

  describe('by filter', () => {
    const paused = (): StateMachine => {
      const machine = aMachine();
      const Config = { ...fixtures.aSchedulerConfiguration(), PauseEvalBroker: true };
      apply(machine, 'SchedulerConfig', { Config, CAS: false, ModifyIndex: 0 });
      return machine;
    };
    const byFilter = (machine: StateMachine, Filter: string, over: Partial<TxnPayloads['EvalDelete']> = {}) =>
      remove(machine, { Filter, PerPage: 100, NextToken: '', UserInitiated: true, ScanIndex: 0, ...over }).verdict;
    const left = (machine: StateMachine) => [...machine.tables.evals.all()].map((e) => e.ID).toSorted();

    it('ST-98, EB-305: pages in the order of creation and id, tells where the next one begins', () => {
      const machine = paused();
      const ids = ['c', 'a', 'b'].map((letter) => `${letter.repeat(8)}-0000-4000-8000-000000000000`);
      update(machine, ...ids.map((ID) => anEval({ ID, JobID: 'gone' })));
      const index = machine.appliedIndex;
      const later = anEval({ ID: `0${ids[0]!.slice(1)}`, JobID: 'gone' });
      update(machine, later, anEval({ JobID: 'gone', Priority: 7 }));
      const first = byFilter(machine, 'Priority == 50', { PerPage: 2 });
      expect(first).toEqual({ kind: 'accepted', result: { Count: 2, NextToken: `${index}.${ids[0]}` } });
      const second = byFilter(machine, 'Priority == 50', { PerPage: 2, NextToken: `${index}.${ids[0]}` });
      expect(second).toEqual({ kind: 'accepted', result: { Count: 2, NextToken: '' } });
      expect(left(machine)).toHaveLength(1);
      expect(machine.tables.evals.tableIndex).toBe(machine.appliedIndex);
    });

    it('ST-98: a page leaves what was created before it, whatever its id', () => {
      const machine = paused();
      const [early, later] = ['f', 'a'].map((letter) => `${letter.repeat(8)}-0000-4000-8000-000000000000`);
      for (const ID of [early!, later!]) update(machine, anEval({ ID, JobID: 'gone' }));
      const NextToken = `${machine.tables.evals.get(later!)!.CreateIndex}.${later}`;
      expect(byFilter(machine, 'Priority == 50', { NextToken })).toMatchObject({ result: { Count: 1 } });
      expect(left(machine)).toEqual([early]);
    });

    it('ST-98, EB-305, EB-307: what is not safe is passed over, allocations stay, the job is judged anew', () => {
      const machine = paused();
      const { job, evaluation } = aRegisteredJob(machine);
      const alloc = anAlloc({ Job: job, EvalID: evaluation.ID });
      apply(machine, 'ApplyPlanResults', aPlanResult({ AllocsUpdated: [alloc], EvalID: evaluation.ID }));
      const client = (ClientStatus: 'running' | 'failed' | 'complete') =>
        apply(machine, 'AllocClientUpdate', { Allocs: [fixtures.aClientUpdate(alloc, { ClientStatus })], Evals: [] });
      client('running');
      expect(byFilter(machine, 'Status is not empty')).toEqual({ kind: 'noop', result: { Count: 0, NextToken: '' } });
      client('failed');
      const result = byFilter(machine, 'Status is not empty');
      expect(result, 'failed, not replaced, and its group reschedules').toMatchObject({ kind: 'noop' });
      const stop = {
        JobID: job.ID,
        Purge: false,
        NoShutdownDelay: false,
        SubmitTime: 1,
        Eval: null,
        TrackedVersions: 6,
      };
      apply(machine, 'JobDeregister', stop, { namespace: 'default' });
      expect(byFilter(machine, 'Status is not empty')).toMatchObject({ kind: 'accepted', result: { Count: 1 } });
      expect(machine.tables.evals.size).toBe(0);
      expect(machine.tables.allocs.size).toBe(1);
      expect(machine.tables.jobs.get('default/web')!.Status).toBe('dead');
    });

    it('ST-98: only in the namespace given; what the filter cannot decide about stays', () => {
      const machine = paused();
      const [here, there] = [anEval({ JobID: 'x' }), anEval({ JobID: 'x', Namespace: 'other' })];
      update(machine, here, there);
      expect(byFilter(machine, 'NoSuchField == 1')).toMatchObject({ kind: 'noop', result: { Count: 0 } });
      byFilter(machine, 'JobID == x', { Namespace: 'default' });
      expect(left(machine)).toEqual([there.ID]);
    });

    it('ST-97, ST-98: refused while the broker is not paused, and when the expression cannot be read', () => {
      const machine = paused();
      expect(byFilter(machine, 'Status ==')).toMatchObject({
        kind: 'refused',
        code: 'invalid',
        error: expect.stringContaining('failed to read filter expression') as string,
      });
      expect(byFilter(machine, 'Status == x', { NextToken: 'nonsense' }).kind).toBe('refused');
      const Config = fixtures.aSchedulerConfiguration();
      apply(machine, 'SchedulerConfig', { Config, CAS: false, ModifyIndex: 0 });
      expect(byFilter(machine, 'Status is not empty', { UserInitiated: false })).toEqual({
        kind: 'refused',
        code: 'conflict',
        error: 'eval broker is enabled; eval broker must be paused to delete evals',
      });
    });
  });

  it('ST-99: deletions emit nothing', () => {
    const machine = aMachine();
    const evaluation = anEval();
    update(machine, evaluation);
    const applied = remove(machine, { EvalIDs: [evaluation.ID] });
    expect(applied.verdict.kind).toBe('accepted');
    expect(eventsOf(applied)).toBeNull();
  });
});
