import type { ScalingPolicy } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import type { TxnPayloads } from '../log/catalogue.js';
import { eventsOf } from '../events.js';
import { fixtures } from '../fixtures.js';
import type { StateMachine } from '../machine/state-machine.js';

const { aDeployment, aGroup, aJob, aMachine, anAlloc, anEval, aPlanResult, aRegisteredJob, aRegistration, apply } =
  fixtures;

const deregister = (machine: StateMachine, over: Partial<TxnPayloads['JobDeregister']> = {}) =>
  apply(
    machine,
    'JobDeregister',
    { JobID: 'web', Purge: false, NoShutdownDelay: false, SubmitTime: 0, Eval: null, TrackedVersions: 6, ...over },
    { namespace: 'default' },
  );
const stored = (machine: StateMachine, id = 'web') => machine.tables.jobs.get(`default/${id}`)!;
const policy: ScalingPolicy = {
  ID: '',
  Type: 'horizontal',
  Target: null,
  Policy: null,
  Min: 1,
  Max: 3,
  Enabled: true,
  CreateIndex: 0,
  ModifyIndex: 0,
};

describe('stopping a job', () => {
  it('ST-63: a stop is a new version with scaling off that keeps the Stable flag', () => {
    const machine = aMachine();
    apply(
      machine,
      'JobRegister',
      aRegistration(aJob({ Stable: true, SubmitTime: 5, TaskGroups: [aGroup({ Scaling: policy })] })),
    );
    deregister(machine, { SubmitTime: 9 });
    expect(stored(machine)).toMatchObject({ Stop: true, Version: 1, JobModifyIndex: 3, Stable: true, SubmitTime: 9 });
    expect(stored(machine).TaskGroups[0]!.Scaling).toEqual({ ...policy, Enabled: false });
    expect(machine.tables.job_version.get('default/web@0')!.TaskGroups[0]!.Scaling!.Enabled).toBe(true);
    deregister(machine);
    expect(stored(machine)).toMatchObject({ Version: 2, SubmitTime: 9 });
  });

  it('API-124, ST-64: NoShutdownDelay marks the allocations of this incarnation', () => {
    const machine = aMachine();
    const { job, evaluation } = aRegisteredJob(machine);
    const [mine, old] = [anAlloc({ Job: job }), anAlloc({ Job: { ...job, CreateIndex: 1 } })];
    apply(machine, 'ApplyPlanResults', aPlanResult({ AllocsUpdated: [mine, old], EvalID: evaluation.ID }));
    deregister(machine, { NoShutdownDelay: true });
    expect(machine.tables.allocs.get(mine.ID)).toMatchObject({
      DesiredTransition: { NoShutdownDelay: true },
      ModifyIndex: 4,
      AllocModifyIndex: 4,
    });
    expect(machine.tables.allocs.get(old.ID)).toMatchObject({
      DesiredTransition: { NoShutdownDelay: null },
      ModifyIndex: 3,
    });
  });

  it('ST-67: an unknown job still gets its evaluation; without one it is refused', () => {
    const machine = aMachine();
    const error = 'job "web" in namespace "default" doesn\'t exist to be deregistered';
    expect(deregister(machine).verdict).toEqual({ kind: 'refused', code: 'not-found', error });
    expect(deregister(machine, { Purge: true }).verdict).toEqual({ kind: 'refused', code: 'not-found', error });
    const Eval = anEval({ TriggeredBy: 'job-deregister' });
    expect(deregister(machine, { Eval }).verdict).toEqual({ kind: 'accepted', error });
    expect(machine.tables.evals.get(Eval.ID)).toMatchObject({ CreateIndex: 4, JobModifyIndex: 4 });
  });
});

describe('purging a job', () => {
  it('ST-65: everything of the job goes, pending evaluations are done, the id starts clean', () => {
    const machine = aMachine();
    const { job, evaluation } = aRegisteredJob(machine);
    const blocked = anEval({ Status: 'blocked' });
    const alloc = anAlloc({ Job: job });
    apply(machine, 'EvalUpdate', { Evals: [blocked] });
    apply(
      machine,
      'ApplyPlanResults',
      aPlanResult({ AllocsUpdated: [alloc], EvalID: evaluation.ID, Deployment: aDeployment() }),
    );
    const service = fixtures.aServiceRegistration({ AllocID: alloc.ID });
    machine.tables.service_registrations.replace(`default/${service.ID}`, service);
    const Eval = anEval({ TriggeredBy: 'job-deregister' });
    const { index } = deregister(machine, { Purge: true, Eval });
    const { jobs, job_version, job_submission, job_summary, deployment, allocs, service_registrations } =
      machine.tables;
    for (const table of [jobs, job_version, job_submission, job_summary, deployment, allocs, service_registrations]) {
      expect([table.name, table.size]).toEqual([table.name, 0]);
    }
    expect(machine.tables.evals.get(evaluation.ID)).toMatchObject({
      Status: 'complete',
      StatusDescription: 'job web deleted',
      ModifyIndex: index,
    });
    expect(machine.tables.evals.get(blocked.ID)!.Status).toBe('blocked');
    expect(machine.tables.evals.get(Eval.ID)!.Status).toBe('pending');
    expect(aRegisteredJob(machine).job).toMatchObject({ Version: 0, CreateIndex: index + 1 });
  });

  it('ST-66: purging a child moves it to Dead on the parent', () => {
    const machine = aMachine();
    apply(
      machine,
      'JobRegister',
      aRegistration(aJob({ ID: 'cron', ParameterizedJob: { Payload: '', MetaRequired: null, MetaOptional: null } })),
    );
    apply(machine, 'JobRegister', aRegistration(aJob({ ID: 'cron/1', ParentID: 'cron', Dispatched: true })));
    const children = () => machine.tables.job_summary.get('default/cron')!.Children;
    expect(children()).toEqual({ Pending: 1, Running: 0, Dead: 0 });
    deregister(machine, { JobID: 'cron/1', Purge: true });
    expect(children()).toEqual({ Pending: 0, Running: 0, Dead: 1 });
  });

  it('ST-180: a job whose name is the beginning of another takes none of its rows', () => {
    const machine = aMachine();
    aRegisteredJob(machine);
    const { job, evaluation } = aRegisteredJob(machine, aJob({ ID: 'web2' }));
    apply(machine, 'ApplyPlanResults', aPlanResult({ AllocsUpdated: [anAlloc({ Job: job })], EvalID: evaluation.ID }));
    deregister(machine, { Purge: true });
    expect(stored(machine, 'web2').Status).toBe('running');
    expect(machine.tables.job_version.has('default/web2@0')).toBe(true);
    expect(machine.tables.allocs.size).toBe(1);
    expect(machine.tables.evals.get(evaluation.ID)!.Status).toBe('pending');
  });

  it('EV-11: a stop is a Job event without Deleted, a purge one with it and the row as it was', () => {
    const machine = aMachine();
    aRegisteredJob(machine);
    const stop = eventsOf(deregister(machine))!.Events;
    expect(stop.map((event) => [event.Topic, event.Type, 'Deleted' in event.Payload])).toEqual([
      ['Job', 'JobDeregistered', false],
    ]);
    const purge = eventsOf(deregister(machine, { Purge: true }))!.Events;
    expect(purge[0]).toMatchObject({ Topic: 'Job', Key: 'web', Payload: { Deleted: true, Job: { Version: 1 } } });
  });
});
