import type { AllocClientStatus, Allocation } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { fixtures } from '../fixtures.js';
import type { StateMachine } from '../machine/state-machine.js';

const { aClientUpdate, aGroup, aJob, aMachine, anAlloc, anEval, aPlanResult, aRegisteredJob, apply } = fixtures;
const counters = (machine: StateMachine) => machine.tables.job_summary.get('default/web')!.Summary['web']!;
const summaryIndex = (machine: StateMachine) => machine.tables.job_summary.get('default/web')!.ModifyIndex;

function placed(machine: StateMachine, over: Partial<Allocation> = {}) {
  const { job, evaluation } = aRegisteredJob(machine);
  const alloc = anAlloc({ Job: job, ...over });
  const place = (AllocsUpdated: Allocation[]) =>
    apply(machine, 'ApplyPlanResults', aPlanResult({ AllocsUpdated, EvalID: evaluation.ID }));
  place([alloc]);
  const report = (...statuses: AllocClientStatus[]) =>
    apply(machine, 'AllocClientUpdate', {
      Allocs: statuses.map((ClientStatus) => aClientUpdate(alloc, { ClientStatus })),
      Evals: [],
    });
  return { job, evaluation, alloc, place, report };
}

describe('summary counters', () => {
  it('ST-76: a new allocation starts and is queued no more, never below zero; another status counts nothing', () => {
    const machine = aMachine();
    const { job, place } = placed(machine);
    expect(counters(machine)).toMatchObject({ Starting: 1, Queued: 0 });
    apply(machine, 'EvalUpdate', { Evals: [anEval({ QueuedAllocations: { web: 2 } })] });
    place([anAlloc({ Job: job }), anAlloc({ Job: job, ClientStatus: 'running' })]);
    expect(counters(machine)).toMatchObject({ Starting: 2, Queued: 1, Running: 0 });
  });

  it('ST-77 ST-181 ND-115: a status change moves one counter to another; failed and complete are never taken back', () => {
    const machine = aMachine();
    const { alloc, place, report } = placed(machine);
    report('running');
    expect(counters(machine)).toMatchObject({ Starting: 0, Running: 1 });
    report('failed');
    expect(counters(machine)).toMatchObject({ Running: 0, Failed: 1 });
    report('running');
    expect(counters(machine)).toMatchObject({ Running: 1, Failed: 1 });
    place([{ ...alloc, ClientStatus: 'unknown' }]);
    expect(counters(machine)).toMatchObject({ Running: 0, Unknown: 1 });
    report('running');
    place([{ ...alloc, ClientStatus: 'lost' }]);
    expect(counters(machine)).toMatchObject({ Running: 0, Unknown: 0, Lost: 1 });
    report('complete');
    expect(counters(machine)).toMatchObject({ Lost: 0, Complete: 1 });
    report('pending');
    expect(counters(machine)).toMatchObject({ Complete: 1, Starting: 1 });
  });

  it('ST-78: the same status again writes nothing', () => {
    const machine = aMachine();
    const { report } = placed(machine);
    const { index } = report('running');
    const again = report('running');
    expect(summaryIndex(machine)).toBe(index);
    expect(again.changes.some((change) => change.table === 'job_summary')).toBe(false);
    expect(machine.tables.job_summary.tableIndex).toBe(index);
  });

  it('ST-79 ST-175: allocations of an earlier incarnation do not count', () => {
    const machine = aMachine();
    const { alloc } = placed(machine);
    const purge = { JobID: 'web', Purge: true, NoShutdownDelay: false, SubmitTime: 0, Eval: null, TrackedVersions: 6 };
    apply(machine, 'JobDeregister', purge, { namespace: 'default' });
    const { job, evaluation } = aRegisteredJob(machine);
    const old = anAlloc({ Job: { ...job, CreateIndex: alloc.Job!.CreateIndex } });
    apply(machine, 'ApplyPlanResults', aPlanResult({ AllocsUpdated: [old], EvalID: evaluation.ID }));
    apply(machine, 'AllocClientUpdate', { Allocs: [aClientUpdate(old)], Evals: [] });
    expect(counters(machine)).toMatchObject({ Starting: 0, Running: 0 });
  });

  it('ST-80: without a summary: ignored if the job is gone, otherwise refused, as is a missing group', () => {
    const machine = aMachine();
    const { job, report } = placed(machine);
    const summary = machine.tables.job_summary.get('default/web')!;
    machine.tables.job_summary.replace('default/web', { ...summary, Summary: {} });
    expect(report('running').verdict).toEqual({
      kind: 'refused',
      code: 'not-found',
      error: 'unable to find task group in the job summary: web',
    });
    machine.tables.job_summary.replace('default/web', undefined);
    expect(report('running').verdict).toEqual({
      kind: 'refused',
      code: 'not-found',
      error: 'job summary for job "web" in namespace "default" is not present',
    });
    machine.tables.jobs.replace(`${job.Namespace}/${job.ID}`, undefined);
    expect(report('running').verdict.kind).toBe('accepted');
  });

  it('ST-81, EB-17: an evaluation sets Queued of the groups it names, in its own transaction, and moves nothing else', () => {
    const machine = aMachine();
    const job = aJob({ TaskGroups: [aGroup(), aGroup({ Name: 'api' })] });
    aRegisteredJob(machine, job);
    const queue = (QueuedAllocations: Record<string, number>) => {
      apply(machine, 'EvalUpdate', { Evals: [anEval({ QueuedAllocations })] });
      return machine.tables.job_summary.get('default/web')!;
    };
    queue({ web: 3, api: 2 });
    const after = queue({ web: 0, gone: 5 });
    expect(after.Summary['web']!.Queued).toBe(0);
    expect(after.Summary['api']!.Queued).toBe(2);
    expect(after.Summary['gone']).toBeUndefined();
    expect(after.ModifyIndex).toBe(machine.appliedIndex);
    expect(queue({ api: 2 })).toBe(after);
  });

  it('ST-82: two updates of one allocation in one transaction count as the final one', () => {
    const machine = aMachine();
    const { report } = placed(machine);
    report('running', 'pending');
    expect(counters(machine)).toMatchObject({ Starting: 1, Running: 0 });
    report('complete', 'running');
    expect(counters(machine)).toMatchObject({ Starting: 0, Running: 1, Complete: 0 });
  });
});
