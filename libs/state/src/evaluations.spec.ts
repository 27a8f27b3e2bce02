import type { AllocMetric, EvalStatus } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import type { TxnPayloads } from './catalogue.js';
import { eventsOf } from './events.js';
import { fixtures } from './fixtures.js';
import type { StateMachine } from './state-machine.js';

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

  it('ST-97: a user may delete only while the broker is paused', () => {
    const machine = aMachine();
    const evaluation = anEval();
    update(machine, evaluation);
    const byUser = () => remove(machine, { EvalIDs: [evaluation.ID], UserInitiated: true, ScanIndex: 0 }).verdict;
    expect(byUser()).toEqual({
      kind: 'refused',
      error: 'eval broker is enabled; eval broker must be paused to delete evals',
    });
    const Config = { ...fixtures.aSchedulerConfiguration(), PauseEvalBroker: true };
    apply(machine, 'SchedulerConfig', { Config, CAS: false, ModifyIndex: 0 });
    expect(byUser().kind).toBe('accepted');
    expect(machine.tables.evals.size).toBe(0);
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
