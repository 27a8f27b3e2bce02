import type { Allocation, Deployment, Job } from '@waybill/model';
import { beforeEach, describe, expect, it } from 'vitest';
import { eventsOf } from '../events.js';
import { fixtures } from '../fixtures.js';
import type { StateMachine } from '../machine/state-machine.js';

const { aDeployment, aJob, anAlloc, anEval, aRegistration, aServiceRegistration, apply } = fixtures;

let machine: StateMachine;

beforeEach(() => {
  machine = fixtures.aMachine();
});

const putAlloc = (over: Partial<Allocation>): Allocation => {
  const alloc = anAlloc({ ClientStatus: 'complete', DesiredStatus: 'stop', ...over });
  machine.tables.allocs.replace(alloc.ID, alloc);
  return alloc;
};

describe('purging collected jobs', () => {
  const stopped = (over: Partial<Job> = {}): Job => {
    const job = aJob({ ID: 'web', ...over });
    apply(machine, 'JobRegister', aRegistration(job));
    apply(
      machine,
      'JobDeregister',
      { JobID: job.ID, Purge: false, NoShutdownDelay: false, SubmitTime: 0, Eval: null, TrackedVersions: 6 },
      { namespace: 'default' },
    );
    return machine.tables.jobs.get(`default/${job.ID}`)!;
  };
  const purge = (ids: readonly string[], ScanIndex = machine.appliedIndex) =>
    apply(machine, 'JobBatchDeregister', { Jobs: ids.map((ID) => ({ Namespace: 'default', ID })), ScanIndex });

  it('GC-48 ST-68: takes with each job all that is only its own, and says so as JobBatchDeregistered', () => {
    const job = stopped();
    const alloc = putAlloc({ JobID: job.ID, Job: job });
    const service = aServiceRegistration({ AllocID: alloc.ID });
    machine.tables.service_registrations.replace(`default/${service.ID}`, service);
    const deployment = aDeployment({ JobID: job.ID, Status: 'failed' });
    machine.tables.deployment.replace(deployment.ID, deployment);
    stopped({ ID: 'api' });
    const applied = purge(['web', 'api']);
    for (const table of [
      'jobs',
      'job_version',
      'job_summary',
      'job_submission',
      'allocs',
      'deployment',
      'service_registrations',
      'scaling_event',
      'periodic_launch',
    ] as const)
      expect([table, machine.tables[table].size]).toEqual([table, 0]);
    const events = eventsOf(applied)!.Events.filter(({ Topic }) => Topic === 'Job');
    expect(events.map(({ Type, Key, Payload }) => [Type, Key, Payload['Deleted']])).toEqual([
      ['JobBatchDeregistered', 'web', true],
      ['JobBatchDeregistered', 'api', true],
    ]);
  });

  it('GC-49 GC-125: what still waited to be scheduled is over, under the same type of event', () => {
    const job = stopped();
    const evaluation = anEval({ JobID: job.ID, Status: 'pending' });
    machine.tables.evals.replace(evaluation.ID, evaluation);
    const applied = purge(['web']);
    expect(machine.tables.evals.get(evaluation.ID)).toMatchObject({
      Status: 'complete',
      StatusDescription: 'job web deleted',
    });
    expect(eventsOf(applied)!.Events.map(({ Type, Topic }) => `${Topic} ${Type}`)).toEqual([
      'Job JobBatchDeregistered',
      'Evaluation JobBatchDeregistered',
    ]);
  });

  it('GC-52 ST-68: one that is gone loses the others nothing', () => {
    stopped();
    expect(purge(['nowhere', 'web']).verdict).toEqual({ kind: 'accepted' });
    expect(machine.tables.jobs.size).toBe(0);
    expect(purge(['web']).verdict).toEqual({ kind: 'noop' });
  });

  it('GC-47 ST-16: one that was submitted again since the scan lives, and only that one', () => {
    const job = stopped();
    stopped({ ID: 'api' });
    const scan = machine.appliedIndex;
    apply(machine, 'JobRegister', aRegistration({ ...job, Stop: false }));
    purge(['web', 'api'], scan);
    expect([...machine.tables.jobs.all()].map(({ ID }) => ID)).toEqual(['web']);
    expect(machine.tables.job_version.size).toBeGreaterThan(0);
  });

  it('GC-40 GC-47 ST-90: one of which a version was tagged since the scan stays with all versions', () => {
    stopped();
    const scan = machine.appliedIndex;
    const tag = { JobID: 'web', Version: 0, Latest: false, Name: 'gold', TrackedVersions: 6 };
    const Tag = { Name: 'gold', Description: '', TaggedTime: 0 };
    apply(machine, 'JobVersionTag', { ...tag, Tag }, { namespace: 'default' });
    const versions = machine.tables.job_version.size;
    purge(['web'], scan);
    purge(['web']);
    expect(machine.tables.job_version.size).toBe(versions);
    apply(machine, 'JobVersionTag', { ...tag, Tag: null }, { namespace: 'default' });
    purge(['web']);
    expect(machine.tables.jobs.size).toBe(0);
  });

  it.each([
    ['an allocation', () => void putAlloc({ JobID: 'web', ClientStatus: 'running', ModifyIndex: 1_000 })],
    [
      'an evaluation',
      () => {
        const evaluation = anEval({ JobID: 'web', ModifyIndex: 1_000 });
        machine.tables.evals.replace(evaluation.ID, evaluation);
      },
    ],
  ])('GC-47: one of which %s was written since the scan stays', (_what, write) => {
    stopped();
    write();
    purge(['web']);
    expect(machine.tables.jobs.has('default/web')).toBe(true);
  });

  it.each([
    ['dead', { Pending: 0, Running: 0, Dead: 1 }],
    ['running', { Pending: 0, Running: 0, Dead: 1 }],
    ['pending', { Pending: 0, Running: 0, Dead: 1 }],
  ] as const)('GC-50: a child that was %s counts as dead for its parent', (Status, Children) => {
    const parent = aJob({ ID: 'cron', ParameterizedJob: { Payload: '', MetaRequired: null, MetaOptional: null } });
    apply(machine, 'JobRegister', aRegistration(parent));
    const child = stopped({ ID: 'cron/1', ParentID: 'cron', Dispatched: true });
    machine.tables.jobs.replace('default/cron/1', { ...child, Status });
    const before = machine.tables.job_summary.get('default/cron')!;
    const counted = { Pending: 0, Running: 0, Dead: 0 };
    counted[({ dead: 'Dead', running: 'Running', pending: 'Pending' } as const)[Status]] = 1;
    machine.tables.job_summary.replace('default/cron', { ...before, Children: counted });
    purge(['cron/1']);
    expect(machine.tables.job_summary.get('default/cron')!.Children).toEqual(Children);
  });

  it('GC-45: a parent that is purged leaves its children', () => {
    const ParameterizedJob = { Payload: '', MetaRequired: null, MetaOptional: null };
    stopped({ ID: 'cron', ParameterizedJob });
    stopped({ ID: 'cron/1', ParentID: 'cron', Dispatched: true });
    purge(['cron']);
    expect([...machine.tables.jobs.all()].map(({ ID }) => ID)).toEqual(['cron/1']);
  });

  it('GC-51: no volume is asked for, the transaction is the whole of it', () => {
    stopped();
    const tables = new Set(purge(['web']).changes.map(({ table }) => table));
    expect([...tables].toSorted()).toEqual(['job_summary', 'job_version', 'jobs']);
  });
});

describe('deleting collected deployments', () => {
  const put = (over: Partial<Deployment>): Deployment => {
    const deployment = aDeployment({ ModifyIndex: 1, ...over });
    machine.tables.deployment.replace(deployment.ID, deployment);
    return deployment;
  };
  const remove = (deployments: readonly Pick<Deployment, 'ID'>[], ScanIndex = machine.appliedIndex) =>
    apply(machine, 'DeploymentDelete', { DeploymentIDs: deployments.map(({ ID }) => ID), ScanIndex });

  it('GC-55 GC-124 DP-1403: one that is gone is no error; nothing is said in public', () => {
    const applied = remove([{ ID: 'nowhere' }, put({ Status: 'failed' })]);
    expect(applied.verdict).toEqual({ kind: 'accepted' });
    expect(machine.tables.deployment.size).toBe(0);
    expect(eventsOf(applied)).toBeNull();
  });

  it('GC-47 GC-131: what was written since the scan, is active or has an allocation that lives, stays', () => {
    const written = put({ Status: 'failed', ModifyIndex: 1_000 });
    const active = put({ Status: 'running' });
    const living = put({ Status: 'successful' });
    putAlloc({ DeploymentID: living.ID, DesiredStatus: 'run', ClientStatus: 'running' });
    expect(remove([written, active, living]).verdict).toEqual({ kind: 'noop' });
    expect(machine.tables.deployment.size).toBe(3);
  });
});

describe('deleting collected evaluations and allocations', () => {
  it('GC-32 GC-34: services go with their allocation; what is gone moves no index', () => {
    const alloc = putAlloc({ JobID: 'web' });
    const service = aServiceRegistration({ AllocID: alloc.ID });
    machine.tables.service_registrations.replace(`default/${service.ID}`, service);
    const reap = (AllocIDs: string[]) =>
      apply(machine, 'EvalDelete', {
        EvalIDs: [],
        AllocIDs,
        ScanIndex: machine.appliedIndex + 1,
        UserInitiated: false,
      });
    const { index } = reap([alloc.ID]);
    expect(machine.tables.service_registrations.size).toBe(0);
    expect(machine.tables.allocs.tableIndex).toBe(index);
    expect(reap([alloc.ID]).verdict).toEqual({ kind: 'noop' });
    expect(machine.tables.allocs.tableIndex).toBe(index);
    expect(machine.tables.evals.tableIndex).toBe(0);
  });

  it('GC-33 GC-135: a job that is dead already is not written, so that the purge finds it as it was scanned', () => {
    const { job, evaluation } = fixtures.aRegisteredJob(machine);
    apply(
      machine,
      'JobDeregister',
      { JobID: job.ID, Purge: false, NoShutdownDelay: false, SubmitTime: 0, Eval: null, TrackedVersions: 6 },
      { namespace: 'default' },
    );
    apply(machine, 'EvalUpdate', { Evals: [{ ...evaluation, Status: 'complete' }] });
    const { ModifyIndex, Status } = machine.tables.jobs.get('default/web')!;
    expect(Status).toBe('dead');
    const ScanIndex = machine.appliedIndex;
    apply(machine, 'EvalDelete', { EvalIDs: [evaluation.ID], AllocIDs: [], ScanIndex, UserInitiated: false });
    expect(machine.tables.evals.size).toBe(0);
    expect(machine.tables.jobs.get('default/web')!.ModifyIndex).toBe(ModifyIndex);
    apply(machine, 'JobBatchDeregister', { Jobs: [{ Namespace: 'default', ID: 'web' }], ScanIndex });
    expect(machine.tables.jobs.size).toBe(0);
  });

  it('GC-33: a job whose last evaluation goes is dead, not pending again', () => {
    const { evaluation } = fixtures.aRegisteredJob(machine);
    apply(machine, 'EvalUpdate', { Evals: [{ ...evaluation, Status: 'complete' }] });
    const ScanIndex = machine.appliedIndex;
    apply(machine, 'EvalDelete', { EvalIDs: [evaluation.ID], AllocIDs: [], ScanIndex, UserInitiated: false });
    expect(machine.tables.jobs.get('default/web')!.Status).toBe('dead');
  });

  /** A job of which one allocation was told to stop, and its agent has not said that it has. */
  const aStoppingAllocation = (ClientStatus: Allocation['ClientStatus']): Allocation => {
    const EvalID = fixtures.aRegisteredJob(machine).evaluation.ID;
    const Job = machine.tables.jobs.get('default/web')!;
    const placed = anAlloc({ Job, EvalID });
    const AllocsUpdated = [{ ...placed, Job: null }];
    apply(machine, 'ApplyPlanResults', fixtures.aPlanResult({ Job, EvalID, AllocsUpdated }));
    if (ClientStatus !== 'pending')
      apply(machine, 'AllocClientUpdate', {
        Allocs: [fixtures.aClientUpdate(placed, { ClientStatus })],
        Evals: [],
        After: {},
      });
    return placed;
  };
  const countersOfWeb = () => {
    const counters = machine.tables.job_summary.get('default/web')!.Summary['web']!;
    return Object.entries(counters).flatMap(([name, count]) => (count > 0 ? [`${name} ${count}`] : []));
  };

  it.each([
    ['pending', ['Starting 1'], []],
    ['running', ['Running 1'], []],
    ['unknown', ['Unknown 1'], []],
    ['complete', ['Complete 1'], ['Complete 1']],
    ['failed', ['Failed 1'], ['Failed 1']],
    ['lost', ['Lost 1'], ['Lost 1']],
  ] as const)(
    'ST-77 ST-96: what was %s when it is collected is counted as %j and then as %j: there is nothing of it any more',
    (status, before, after) => {
      const { ID } = aStoppingAllocation(status);
      const deletion = { EvalIDs: [], AllocIDs: [ID], ScanIndex: machine.appliedIndex, UserInitiated: false };
      expect(countersOfWeb()).toEqual(before);
      apply(machine, 'EvalDelete', deletion);
      expect(countersOfWeb()).toEqual(after);
      apply(machine, 'EvalDelete', deletion);
      expect(countersOfWeb()).toEqual(after);
    },
  );

  it('GC-47: an allocation that a newer evaluation took over is left as it is, and the evaluation that kept one stays', () => {
    const { evaluation, job } = fixtures.aRegisteredJob(machine);
    apply(machine, 'EvalUpdate', { Evals: [{ ...evaluation, Status: 'complete' }] });
    const ScanIndex = machine.appliedIndex;
    const moved = putAlloc({ JobID: job.ID, EvalID: 'newer', ModifyIndex: ScanIndex + 1 });
    const back = putAlloc({ JobID: job.ID, EvalID: evaluation.ID, ModifyIndex: ScanIndex + 1 });
    apply(machine, 'EvalDelete', {
      EvalIDs: [evaluation.ID],
      AllocIDs: [moved.ID, back.ID],
      ScanIndex,
      UserInitiated: false,
    });
    expect(machine.tables.allocs.get(moved.ID)).toBe(moved);
    expect(machine.tables.allocs.get(back.ID)).toBe(back);
    expect(machine.tables.evals.has(evaluation.ID)).toBe(true);
  });

  describe('of a batch job that is over', () => {
    const evaluationsAndResults = () => {
      const { job, evaluation } = fixtures.aRegisteredJob(machine, aJob({ Type: 'batch' }));
      apply(machine, 'EvalUpdate', { Evals: [{ ...evaluation, Status: 'complete' }] });
      const done = {
        JobID: job.ID,
        EvalID: evaluation.ID,
        DesiredStatus: 'run',
        CreateIndex: machine.appliedIndex,
      } as const;
      const results = [putAlloc(done), putAlloc(done)];
      const ScanIndex = machine.appliedIndex;
      const AllocIDs = results.map(({ ID }) => ID);
      return { evaluation, results, deletion: { EvalIDs: [evaluation.ID], AllocIDs, ScanIndex, UserInitiated: false } };
    };
    const left = () => [machine.tables.evals.size, machine.tables.allocs.size];
    /** An evaluation of a user, as it comes and as it ends. */
    const evaluated = (Status: 'pending' | 'complete') =>
      apply(machine, 'EvalUpdate', { Evals: [fixtures.anEval({ JobID: 'web', Type: 'batch', Status })] });

    it('GC-38: everything listed goes', () => {
      apply(machine, 'EvalDelete', evaluationsAndResults().deletion);
      expect(left()).toEqual([0, 0]);
    });

    it.each<[string, (of: ReturnType<typeof evaluationsAndResults>) => unknown, number]>([
      ['one of its allocations', ({ results: [, b] }) => putAlloc({ ...b, ModifyIndex: machine.appliedIndex + 1 }), 1],
      ['nothing, but it is to be evaluated,', () => evaluated('pending'), 2],
      [
        'nothing, but it was evaluated and is over again,',
        () => {
          evaluated('pending');
          const waiting = [...machine.tables.evals.all()].find(({ Status }) => Status === 'pending')!;
          apply(machine, 'EvalUpdate', { Evals: [{ ...waiting, Status: 'complete' }] });
        },
        2,
      ],
    ])(
      'GC-38 GC-47: %s was written since the scan: nothing goes, and none of it is done again',
      (_what, write, evals) => {
        const of = evaluationsAndResults();
        write(of);
        expect(apply(machine, 'EvalDelete', of.deletion).verdict.kind).toBe('noop');
        expect(left()).toEqual([evals, 2]);
      },
    );

    it('GC-47: once it is stopped its results matter no more: what was not written since goes', () => {
      const { results, deletion } = evaluationsAndResults();
      putAlloc({ ...results[1]!, ModifyIndex: machine.appliedIndex + 2 });
      apply(
        machine,
        'JobDeregister',
        { JobID: 'web', Purge: false, NoShutdownDelay: false, SubmitTime: 0, Eval: null, TrackedVersions: 6 },
        { namespace: 'default' },
      );
      apply(machine, 'EvalDelete', deletion);
      expect(left()).toEqual([1, 1]);
    });

    it('ST-8: a deletion of an older program takes what it took', () => {
      const { results, deletion } = evaluationsAndResults();
      putAlloc({ ...results[1]!, ModifyIndex: machine.appliedIndex + 1 });
      machine.apply({ ...fixtures.aTxn(machine.appliedIndex + 1, 'EvalDelete', deletion), schemaVersion: 2 });
      expect(left()).toEqual([1, 1]);
    });
  });
});
