import type { Job, JobSubmission } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import type { TxnPayloads } from '../log/catalogue.js';
import { fixtures } from '../fixtures.js';
import type { StateMachine } from '../machine/state-machine.js';

const { aGroup, aJob, aMachine, anEval, aRegisteredJob, aRegistration, aTask, apply } = fixtures;

const register = (machine: StateMachine, job: Job, over: Partial<TxnPayloads['JobRegister']> = {}) =>
  apply(machine, 'JobRegister', aRegistration(job, over));
const stored = (machine: StateMachine, id = 'web'): Job => machine.tables.jobs.get(`default/${id}`)!;
const text = (Source: string): JobSubmission => ({
  Source,
  Format: 'hcl2',
  VariableFlags: null,
  Variables: '',
  Namespace: '',
  JobID: '',
  Version: 0,
  JobModifyIndex: 0,
});
const source = (machine: StateMachine, version: number) =>
  machine.tables.job_submission.get(`default/web@${version}`)?.Source;

describe('job registration', () => {
  it('ST-50: namespace and pool must exist', () => {
    const machine = aMachine();
    expect(register(machine, aJob({ Namespace: 'gone' })).verdict).toEqual({
      kind: 'refused',
      code: 'invalid',
      error: 'job "web" is in nonexistent namespace "gone"',
    });
    expect(register(machine, aJob({ NodePool: 'gone' })).verdict).toEqual({
      kind: 'refused',
      code: 'invalid',
      error: 'job "web" is in nonexistent node pool "gone"',
    });
    expect(register(machine, aJob({ NodePool: '' })).verdict.kind).toBe('accepted');
  });

  it('ST-51 ST-178: two dispatches with one token make one child', () => {
    const machine = aMachine();
    const parent = aJob({ ID: 'batch', ParameterizedJob: { Payload: '', MetaRequired: null, MetaOptional: null } });
    register(machine, parent);
    const child = (ID: string) => aJob({ ID, ParentID: 'batch', Dispatched: true, DispatchIdempotencyToken: 'once' });
    expect(register(machine, child('batch/a')).verdict.kind).toBe('accepted');
    expect(register(machine, child('batch/b')).verdict).toEqual({ kind: 'noop', result: { JobID: 'batch/a' } });
    expect(stored(machine, 'batch/b')).toBeUndefined();
    expect(register(machine, { ...child('batch/c'), ParentID: 'other' }).verdict.kind).toBe('accepted');
  });

  it('ST-51: a child that is registered again is a new version of itself; without a token every dispatch is another', () => {
    const machine = aMachine();
    const parent = aJob({ ID: 'batch', ParameterizedJob: { Payload: '', MetaRequired: null, MetaOptional: null } });
    register(machine, parent);
    const child = (ID: string, DispatchIdempotencyToken: string) =>
      aJob({ ID, ParentID: 'batch', Dispatched: true, DispatchIdempotencyToken });
    for (const _ of [1, 2]) expect(register(machine, child('batch/a', 'once')).verdict).toEqual({ kind: 'accepted' });
    expect(stored(machine, 'batch/a').Version).toBe(1);
    for (const id of ['batch/b', 'batch/c'])
      expect(register(machine, child(id, '')).verdict).toEqual({ kind: 'accepted' });
  });

  it('type 4: the scaling event of a registration is stored with the job', () => {
    const machine = aMachine();
    const ScalingEvent = {
      Time: 1,
      Count: 3,
      PreviousCount: 1,
      Message: 'more',
      Error: false,
      Meta: null,
      EvalID: null,
      CreateIndex: 0,
    };
    const { index } = register(machine, aJob(), { Scaling: { TaskGroup: 'web', ScalingEvent } });
    expect(machine.tables.scaling_event.get('default/web')?.ScalingEvents).toEqual({
      web: [{ ...ScalingEvent, CreateIndex: index }],
    });
  });

  it('ST-52 ST-177: EnforceIndex is checked at apply, so of two with the same index one is accepted', () => {
    const machine = aMachine();
    const enforce = (JobModifyIndex: number) =>
      register(machine, aJob(), { EnforceIndex: true, JobModifyIndex }).verdict;
    expect(enforce(7)).toEqual({
      kind: 'refused',
      code: 'conflict',
      error: 'Enforcing job modify index 7: job does not exist',
    });
    expect(enforce(0).kind).toBe('accepted');
    expect(enforce(0)).toEqual({
      kind: 'refused',
      code: 'conflict',
      error: 'Enforcing job modify index 0: job already exists',
    });
    expect(enforce(3).kind).toBe('accepted');
    expect(enforce(3)).toEqual({
      kind: 'refused',
      code: 'conflict',
      error: 'Enforcing job modify index 3: job exists with conflicting job modify index: 5',
    });
  });

  it('ST-53 DP-953: a new job gets its three indexes, version as submitted', () => {
    const machine = aMachine();
    register(machine, aJob());
    expect(stored(machine)).toMatchObject({ CreateIndex: 2, ModifyIndex: 2, JobModifyIndex: 2, Version: 0 });
  });

  it('ST-54 DP-953: an existing job gets the next version unless a higher one is submitted', () => {
    const machine = aMachine();
    register(machine, aJob());
    register(machine, aJob());
    expect(stored(machine)).toMatchObject({ CreateIndex: 2, ModifyIndex: 3, JobModifyIndex: 3, Version: 1 });
    register(machine, aJob({ Version: 9 }));
    expect(stored(machine).Version).toBe(9);
    register(machine, aJob({ Version: 9 }));
    expect(stored(machine).Version).toBe(10);
  });

  it('ST-55: the status is computed, not taken from the payload', () => {
    const machine = aMachine();
    register(machine, aJob({ Status: 'dead' }));
    expect(stored(machine).Status).toBe('pending');
  });

  it('ST-56: counts and resources of the stored job win where asked for, also in the version row', () => {
    const machine = aMachine();
    const task = aTask();
    const big = aTask({ Resources: { ...task.Resources, CPU: 999 } });
    register(machine, aJob({ TaskGroups: [aGroup({ Count: 7, Tasks: [big] })] }));
    const next = aJob({ TaskGroups: [aGroup({ Count: 1, Tasks: [task] }), aGroup({ Name: 'more', Count: 2 })] });
    register(machine, next, { PreserveCounts: true });
    expect(stored(machine).TaskGroups.map((group) => group.Count)).toEqual([7, 2]);
    expect(stored(machine).TaskGroups[0]!.Tasks[0]!.Resources.CPU).toBe(100);
    register(machine, aJob({ TaskGroups: [aGroup({ Count: 3, Tasks: [big] })] }), { PreserveResources: true });
    expect(stored(machine).TaskGroups[0]).toMatchObject({ Count: 3 });
    expect(machine.tables.job_version.get('default/web@2')!.TaskGroups[0]!.Tasks[0]!.Resources.CPU).toBe(100);
  });

  it('ST-57: the summary is made with the job and gains groups, losing none', () => {
    const machine = aMachine();
    const { evaluation } = aRegisteredJob(machine);
    apply(machine, 'EvalUpdate', { Evals: [{ ...evaluation, QueuedAllocations: { web: 4 } }] });
    register(machine, aJob({ TaskGroups: [aGroup({ Name: 'api' })] }));
    const summary = machine.tables.job_summary.get('default/web')!;
    expect(summary).toMatchObject({ CreateIndex: 2, ModifyIndex: 4, Children: null });
    expect(summary.Summary['web']!.Queued).toBe(4);
    expect(summary.Summary['api']).toEqual({
      Queued: 0,
      Complete: 0,
      Failed: 0,
      Running: 0,
      Starting: 0,
      Lost: 0,
      Unknown: 0,
    });
  });

  it('ST-58: a submission is stored once per version, or inherited from the named one', () => {
    const machine = aMachine();
    register(machine, aJob(), { Submission: text('first') });
    expect(machine.tables.job_submission.get('default/web@0')).toMatchObject({
      Namespace: 'default',
      JobID: 'web',
      Version: 0,
      JobModifyIndex: 2,
    });
    register(machine, aJob());
    expect(source(machine, 1)).toBeUndefined();
    register(machine, aJob(), { SubmissionFrom: 0 });
    expect(source(machine, 2)).toBe('first');
    register(machine, aJob(), { Submission: text('fourth') });
    apply(
      machine,
      'JobDeregister',
      {
        JobID: 'web',
        Purge: false,
        NoShutdownDelay: false,
        SubmitTime: 0,
        Eval: null,
        TrackedVersions: 6,
      },
      { namespace: 'default' },
    );
    expect(source(machine, 4)).toBe('fourth');
  });

  it('ST-62: the evaluation carries the index of its registration', () => {
    const machine = aMachine();
    const { evaluation } = aRegisteredJob(machine);
    expect(evaluation).toMatchObject({ JobModifyIndex: 2, CreateIndex: 2, ModifyIndex: 2 });
  });

  it('ST-5: no status is shown that the transaction does not end with', () => {
    const machine = aMachine();
    const { evaluation } = aRegisteredJob(machine);
    apply(machine, 'EvalUpdate', { Evals: [{ ...evaluation, Status: 'complete' }] });
    expect(stored(machine).Status).toBe('dead');
    const applied = register(machine, aJob(), { Eval: anEval() });
    const jobs = applied.changes.filter((change) => change.table === 'jobs');
    expect(jobs).toHaveLength(1);
    expect(applied.changes[0]!.table).toBe('jobs');
    expect(stored(machine).Status).toBe('pending');
  });

  it('ST-23: delete and re-create gives a new CreateIndex', () => {
    const machine = aMachine();
    register(machine, aJob());
    const purge = { JobID: 'web', Purge: true, NoShutdownDelay: false, SubmitTime: 0, Eval: null, TrackedVersions: 6 };
    apply(machine, 'JobDeregister', purge, { namespace: 'default' });
    register(machine, aJob());
    expect(stored(machine)).toMatchObject({ CreateIndex: 4, Version: 0 });
  });
});
