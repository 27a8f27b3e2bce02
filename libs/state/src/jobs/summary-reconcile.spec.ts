import type { AllocClientStatus, Job } from '@waybill/model';
import { beforeEach, describe, expect, it } from 'vitest';
import { eventsOf } from '../events.js';
import { fixtures } from '../fixtures.js';
import type { StateMachine } from '../machine/state-machine.js';

const { aGroup, aJob, anAlloc, aRegistration, apply } = fixtures;
const NONE = { Queued: 0, Complete: 0, Failed: 0, Running: 0, Starting: 0, Lost: 0, Unknown: 0 };

let machine: StateMachine;

beforeEach(() => {
  machine = fixtures.aMachine();
});

const register = (job: Job): Job => {
  apply(machine, 'JobRegister', aRegistration(job));
  return machine.tables.jobs.get(`default/${job.ID}`)!;
};
const put = (job: Job, ClientStatus: AllocClientStatus, TaskGroup = 'web'): void => {
  const alloc = anAlloc({ JobID: job.ID, Job: job, ClientStatus, TaskGroup });
  machine.tables.allocs.replace(alloc.ID, alloc);
};
const reconcile = (Groups?: Record<string, number>) =>
  apply(machine, 'ReconcileJobSummaries', {
    Queued: Groups ? [{ Namespace: 'default', JobID: 'web', Groups }] : [],
  });
const summary = (id = 'web') => machine.tables.job_summary.get(`default/${id}`);

describe('reconciling summaries', () => {
  it('ST-83 GC-114 GC-119: one that is missing is made, with what a dry run says is queued', () => {
    const job = register(aJob());
    machine.tables.job_summary.replace('default/web', undefined);
    const { index } = reconcile({ web: 10 });
    expect(summary()).toEqual({
      JobID: 'web',
      Namespace: 'default',
      Summary: { web: { ...NONE, Queued: 10 } },
      Children: null,
      CreateIndex: job.CreateIndex,
      ModifyIndex: index,
    });
  });

  it.each([
    ['pending', 'Starting'],
    ['running', 'Running'],
    ['complete', 'Complete'],
    ['failed', 'Failed'],
    ['lost', 'Lost'],
    ['unknown', 'Unknown'],
  ] as const)('GC-114: %s counts as %s', (status, counter) => {
    const job = register(aJob());
    put(job, status);
    put(job, status);
    reconcile();
    expect(summary()!.Summary).toEqual({ web: { ...NONE, [counter]: 2 } });
  });

  it('GC-115: allocations of an earlier job of the same name do not count, those of a group that is gone do', () => {
    const job = register(aJob());
    put({ ...job, CreateIndex: job.CreateIndex - 1 }, 'running');
    put(job, 'complete', 'former');
    put(job, 'complete', 'constructor');
    reconcile();
    const one = { ...NONE, Complete: 1 };
    expect(summary()!.Summary).toEqual({ web: NONE, former: one, constructor: one });
  });

  it('ST-83: what is queued stays where nobody says anything about it', () => {
    register(aJob({ TaskGroups: [aGroup(), aGroup({ Name: 'api' })] }));
    reconcile({ web: 4, api: 2 });
    reconcile({ api: 3 });
    expect(summary()!.Summary).toMatchObject({ web: { Queued: 4 }, api: { Queued: 3 } });
  });

  it('ST-83 GC-117: one that is right already is not written', () => {
    const job = register(aJob());
    put(job, 'running');
    const { index } = reconcile();
    expect(summary()).toMatchObject({ CreateIndex: job.CreateIndex, ModifyIndex: index });
    expect(reconcile().verdict).toEqual({ kind: 'noop' });
    expect(summary()!.ModifyIndex).toBe(index);
  });

  it('ST-83 GC-116: of a parent the children by their status, and its groups stay', () => {
    const ParameterizedJob = { Payload: '', MetaRequired: null, MetaOptional: null };
    register(aJob({ ID: 'cron', ParameterizedJob }));
    const before = summary('cron')!;
    for (const [n, Status] of (['pending', 'running', 'dead', 'dead'] as const).entries()) {
      const child = register(aJob({ ID: `cron/${n}`, ParentID: 'cron', Dispatched: true, ParameterizedJob }));
      machine.tables.jobs.replace(`default/cron/${n}`, { ...child, Status });
    }
    reconcile();
    expect(summary('cron')).toMatchObject({
      Children: { Pending: 1, Running: 1, Dead: 2 },
      Summary: before.Summary,
    });
    machine.tables.job_summary.replace('default/cron', undefined);
    reconcile();
    expect(summary('cron')).toBeUndefined();
  });

  it('GC-120: nothing is said in public', () => {
    register(aJob());
    machine.tables.job_summary.replace('default/web', undefined);
    expect(eventsOf(reconcile())).toBeNull();
  });
});
