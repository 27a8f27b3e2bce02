import type { Job } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { fixtures } from '../fixtures.js';
import type { StateMachine } from '../machine/state-machine.js';

const {
  aClientUpdate,
  aDeployment,
  aJob,
  aMachine,
  anAlloc,
  anEval,
  aPlanResult,
  aRegisteredJob,
  aRegistration,
  apply,
} = fixtures;
const PERIODIC = {
  Enabled: false,
  Spec: '@daily',
  Specs: null,
  SpecType: 'cron',
  ProhibitOverlap: false,
  TimeZone: 'UTC',
};
const TEMPLATE = { Payload: '', MetaRequired: null, MetaOptional: null };
const status = (machine: StateMachine, id = 'web') => machine.tables.jobs.get(`default/${id}`)!.Status;

/** A registered job with one running allocation and its evaluation complete. */
function running(machine: StateMachine, given: Job = aJob()) {
  const { job, evaluation } = aRegisteredJob(machine, given);
  const alloc = anAlloc({ Job: job });
  apply(machine, 'ApplyPlanResults', aPlanResult({ AllocsUpdated: [alloc], EvalID: evaluation.ID }));
  apply(machine, 'EvalUpdate', { Evals: [{ ...evaluation, Status: 'complete' }] });
  apply(machine, 'AllocClientUpdate', { Allocs: [aClientUpdate(alloc)], Evals: [] });
  return { job, evaluation, alloc };
}

const stop = (machine: StateMachine, JobID = 'web') =>
  apply(
    machine,
    'JobDeregister',
    { JobID, Purge: false, NoShutdownDelay: false, SubmitTime: 0, Eval: null, TrackedVersions: 6 },
    { namespace: 'default' },
  );

describe('job status', () => {
  it('ST-70, EB-20: system, periodic and parameterized jobs run until they are stopped', () => {
    const machine = aMachine();
    const jobs = [
      aJob({ ID: 'sys', Type: 'system' }),
      aJob({ ID: 'cron', Periodic: PERIODIC }),
      aJob({ ID: 'template', ParameterizedJob: TEMPLATE }),
    ];
    for (const job of jobs) {
      apply(machine, 'JobRegister', aRegistration(job));
      expect([job.ID, status(machine, job.ID)]).toEqual([job.ID, 'running']);
      stop(machine, job.ID);
      expect([job.ID, status(machine, job.ID)]).toEqual([job.ID, 'dead']);
    }
    apply(machine, 'JobRegister', aRegistration(aJob({ ID: 'd', ParameterizedJob: TEMPLATE, Dispatched: true })));
    expect(status(machine, 'd')).toBe('pending');
  });

  it('ST-70, EB-20: then a live deployment, a live allocation, an open evaluation, any evaluation decide in this order', () => {
    const machine = aMachine();
    const { evaluation } = aRegisteredJob(machine);
    expect(status(machine)).toBe('pending');
    apply(machine, 'ApplyPlanResults', aPlanResult({ EvalID: evaluation.ID, Deployment: aDeployment() }));
    expect(status(machine)).toBe('running');
    const [deployment] = machine.tables.deployment.all();
    apply(
      machine,
      'ApplyPlanResults',
      aPlanResult({
        EvalID: evaluation.ID,
        DeploymentUpdates: [{ DeploymentID: deployment!.ID, Status: 'cancelled', StatusDescription: '' }],
      }),
    );
    expect(status(machine)).toBe('pending');
    apply(machine, 'EvalUpdate', { Evals: [{ ...evaluation, Status: 'failed' }] });
    expect(status(machine)).toBe('dead');
  });

  it('ST-71: `unknown` is not terminal, `lost` and a desired stop are', () => {
    const machine = aMachine();
    const { evaluation, alloc } = running(machine);
    const plan = (AllocsUpdated: (typeof alloc)[]) =>
      apply(machine, 'ApplyPlanResults', aPlanResult({ AllocsUpdated, EvalID: evaluation.ID }));
    plan([{ ...alloc, ClientStatus: 'unknown' }]);
    expect(status(machine)).toBe('running');
    plan([{ ...alloc, ClientStatus: 'lost' }]);
    expect(status(machine)).toBe('dead');
  });

  it('ST-72: a stopped job with an allocation that shall run is running, and dead once that is stopped', () => {
    const machine = aMachine();
    const { evaluation, alloc } = running(machine);
    stop(machine);
    expect(status(machine)).toBe('running');
    const AllocsStopped = [{ ID: alloc.ID, DesiredDescription: '', ClientStatus: '' as const, FollowupEvalID: '' }];
    apply(machine, 'ApplyPlanResults', aPlanResult({ AllocsStopped, EvalID: evaluation.ID }));
    expect(status(machine)).toBe('dead');
  });

  it('ST-72: sysbatch follows the general rules', () => {
    const machine = aMachine();
    apply(machine, 'JobRegister', aRegistration(aJob({ Type: 'sysbatch' })));
    expect(status(machine)).toBe('pending');
  });

  it('ST-72: a failed batch job is dead, one that waits for a delayed reschedule pending', () => {
    const machine = aMachine();
    const { alloc } = running(machine, aJob({ Type: 'batch' }));
    apply(machine, 'AllocClientUpdate', { Allocs: [aClientUpdate(alloc, { ClientStatus: 'failed' })], Evals: [] });
    expect(status(machine)).toBe('dead');
    apply(machine, 'EvalUpdate', { Evals: [anEval({ WaitUntil: '2026-01-01T01:00:00Z' })] });
    expect(status(machine)).toBe('pending');
  });

  it('ST-72: a job whose evaluations and allocations were all collected is dead', () => {
    const machine = aMachine();
    const { evaluation, alloc } = running(machine);
    apply(machine, 'AllocClientUpdate', { Allocs: [aClientUpdate(alloc, { ClientStatus: 'complete' })], Evals: [] });
    apply(machine, 'EvalDelete', {
      EvalIDs: [evaluation.ID],
      AllocIDs: [alloc.ID],
      ScanIndex: machine.appliedIndex,
      UserInitiated: false,
    });
    expect(machine.tables.evals.size + machine.tables.allocs.size).toBe(0);
    expect(status(machine)).toBe('dead');
  });

  it('ST-73, EB-20: a desired transition and its evaluation do not move it', () => {
    const machine = aMachine();
    const { alloc } = running(machine);
    apply(machine, 'AllocClientUpdate', { Allocs: [aClientUpdate(alloc, { ClientStatus: 'complete' })], Evals: [] });
    expect(status(machine)).toBe('dead');
    const applied = apply(machine, 'AllocUpdateDesiredTransition', {
      Transitions: { [alloc.ID]: { ...alloc.DesiredTransition, Migrate: true } },
      Evals: [anEval()],
    });
    expect(applied.changes.map((change) => change.table)).toEqual(['allocs', 'evals']);
    expect(status(machine)).toBe('dead');
    apply(machine, 'EvalUpdate', { Evals: [anEval()] });
    expect(status(machine)).toBe('pending');
  });

  it('ST-74: a change writes job, version and parent counters; no change writes nothing', () => {
    const machine = aMachine();
    apply(machine, 'JobRegister', aRegistration(aJob({ ID: 'cron', Periodic: PERIODIC })));
    const child = aJob({ ID: 'cron/periodic-1', ParentID: 'cron' });
    const { evaluation, alloc } = running(machine, child);
    const children = () => machine.tables.job_summary.get('default/cron')!.Children;
    expect(children()).toEqual({ Pending: 0, Running: 1, Dead: 0 });
    const before = machine.tables.jobs.get('default/cron/periodic-1')!;
    apply(machine, 'EvalUpdate', { Evals: [{ ...evaluation, ID: fixtures.freshId(), Status: 'complete' }] });
    expect(machine.tables.jobs.get('default/cron/periodic-1')).toBe(before);
    const ended = apply(machine, 'AllocClientUpdate', {
      Allocs: [aClientUpdate(alloc, { ClientStatus: 'complete' })],
      Evals: [],
    });
    const after = machine.tables.jobs.get('default/cron/periodic-1')!;
    expect(after).toMatchObject({ Status: 'dead', ModifyIndex: ended.index, JobModifyIndex: before.JobModifyIndex });
    expect(machine.tables.job_version.get('default/cron/periodic-1@0')).toEqual(after);
    expect(children()).toEqual({ Pending: 0, Running: 0, Dead: 1 });
  });

  it('ST-75: a child without its parent is no error', () => {
    const machine = aMachine();
    running(machine, aJob({ ID: 'orphan', ParentID: 'gone' }));
    expect(status(machine, 'orphan')).toBe('running');
    expect(machine.tables.job_summary.has('default/gone')).toBe(false);
  });

  it('ST-181: flapping children never make a counter negative', () => {
    const machine = aMachine();
    const child = aJob({ ID: 'cron/periodic-1', ParentID: 'cron' });
    const { evaluation } = aRegisteredJob(machine, child);
    apply(machine, 'JobRegister', aRegistration(aJob({ ID: 'cron', Periodic: PERIODIC })));
    apply(machine, 'EvalUpdate', { Evals: [{ ...evaluation, Status: 'complete' }] });
    expect(machine.tables.job_summary.get('default/cron')!.Children).toEqual({ Pending: 0, Running: 0, Dead: 1 });
  });
});
