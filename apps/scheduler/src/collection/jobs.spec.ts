import type { Job } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { beforeEach, describe, expect, it } from 'vitest';
import { CollectingFixture, HOUR_MS } from './collecting.fixture.js';

let world: CollectingFixture;

beforeEach(() => {
  world = new CollectingFixture();
});

const collect = (): Promise<void> => world.run('job-gc');
const jobs = (): string[] => [...world.tables.jobs.all()].map(({ ID }) => ID).toSorted();

const Periodic: Job['Periodic'] = {
  Enabled: true,
  Spec: '@daily',
  Specs: [],
  SpecType: 'cron',
  ProhibitOverlap: false,
  TimeZone: 'UTC',
};
const ParameterizedJob: Job['ParameterizedJob'] = { Payload: '', MetaRequired: null, MetaOptional: null };
const VersionTag = { Name: 'gold', Description: '', TaggedTime: 0 };

describe('which jobs are collected', () => {
  it.each<[what: string, job: Partial<Job>, goes: boolean]>([
    ['a service that is dead and stopped', { Status: 'dead', Stop: true }, true],
    ['a service that is merely dead', { Status: 'dead' }, false],
    ['a service that runs', { Status: 'running' }, false],
    ['a service that is stopped and still runs', { Status: 'running', Stop: true }, false],
    ['a service that waits', { Status: 'pending' }, false],
    ['a system job that is dead and stopped', { Type: 'system', Status: 'dead', Stop: true }, true],
    ['a system job that is merely dead', { Type: 'system', Status: 'dead' }, false],
    ['a batch job that is dead', { Type: 'batch', Status: 'dead' }, true],
    ['a batch job that runs', { Type: 'batch', Status: 'running' }, false],
    ['a sysbatch job that is dead', { Type: 'sysbatch', Status: 'dead' }, true],
    ['a sysbatch job that waits', { Type: 'sysbatch', Status: 'pending' }, false],
    ['a periodic parent', { Type: 'batch', Periodic, Status: 'dead' }, false],
    ['a periodic parent that is stopped', { Type: 'batch', Periodic, Status: 'running', Stop: true }, true],
    [
      'a periodic parent that is switched off and runs',
      { Type: 'batch', Periodic: { ...Periodic, Enabled: false }, Status: 'running' },
      false,
    ],
    ['a parameterized parent', { Type: 'batch', ParameterizedJob, Status: 'dead' }, false],
    ['a parameterized parent that is stopped', { Type: 'batch', ParameterizedJob, Stop: true }, true],
    ['a dispatched child that is dead', { Type: 'batch', ParameterizedJob, Dispatched: true, Status: 'dead' }, true],
    ['one that is tagged', { Status: 'dead', Stop: true, VersionTag }, false],
    ['one without a time', { Status: 'dead', Stop: true, SubmitTime: 0 }, true],
  ])('GC-36 GC-39 GC-101: %s', async (_what, over, goes) => {
    world.job(over);
    await collect();
    expect(world.tables.jobs.size).toBe(goes ? 0 : 1);
  });

  it.each([
    [4 * HOUR_MS, 0],
    [4 * HOUR_MS - 1, 1],
  ])('GC-37: one submitted %s ms ago', async (age, left) => {
    world.job({ Status: 'dead', Stop: true, SubmitTime: world.ago(age) });
    await collect();
    expect(world.tables.jobs.size).toBe(left);
  });

  it('GC-40 ST-90: a tag on any version keeps the job with all its versions, also under force; untagged it goes', async () => {
    const old = world.job({ Version: 0, Status: 'dead', Stop: true, VersionTag });
    world.job({ Version: 1, Status: 'dead', Stop: true });
    await collect();
    await world.run('force-gc');
    expect([world.tables.jobs.size, world.tables.job_version.size]).toEqual([1, 2]);
    world.tables.job_version.replace('default/web@0', { ...old, VersionTag: null });
    await collect();
    expect([world.tables.jobs.size, world.tables.job_version.size]).toEqual([0, 0]);
  });

  it('GC-102: of a job that stays every version stays', async () => {
    for (const Version of [0, 1, 2, 3, 4, 5, 6, 7]) world.job({ Version });
    await collect();
    await world.run('force-gc');
    expect(world.tables.job_version.size).toBe(8);
  });
});

describe('a job is collected as a whole', () => {
  const dead = (over: Partial<Job> = {}): Job => world.job({ Status: 'dead', Stop: true, ...over });

  it('GC-38 GC-41: with its evaluations and allocations, which go before it', async () => {
    const evaluation = world.evaluation(dead());
    world.alloc(evaluation);
    await collect();
    expect(world.reaps.map(({ Kind }) => Kind)).toEqual(['evaluations', 'jobs']);
    expect(world.left()).toEqual({});
    const made = world.applied.flatMap(({ changes }) => changes).filter(({ after }) => after);
    expect(made).toEqual([]);
  });

  it.each([
    ['is not over', { Status: 'pending' }],
    ['is blocked', { Status: 'blocked' }],
    ['is too new', { ModifyTime: -1 }],
  ] as const)('GC-38 GC-43: nothing of it goes while one of its evaluations %s', async (_why, over) => {
    const job = dead({ Type: 'batch', Stop: false });
    world.alloc(world.evaluation(job));
    const other = world.evaluation(job, 'ModifyTime' in over ? { ModifyTime: world.ago(HOUR_MS) } : over);
    await collect();
    expect(world.left()).toEqual({ jobs: 1, evals: 2, allocs: 1 });
    world.evaluation(job, { ID: other.ID });
    await collect();
    expect(world.left()).toEqual({});
  });

  it('GC-44: of a dead batch job nothing goes while one of its allocations runs, not even the complete one', async () => {
    const evaluation = world.evaluation(dead({ Type: 'batch', Stop: false }));
    world.alloc(evaluation);
    world.alloc(evaluation, { ClientStatus: 'running' });
    await collect();
    expect(world.left()).toEqual({ jobs: 1, evals: 1, allocs: 2 });
  });

  it('GC-38 GC-100: for a batch job it is enough to be dead', async () => {
    const job = dead({ Type: 'batch', Stop: false, JobModifyIndex: 1 });
    world.alloc(world.evaluation(job), { CreateIndex: 2 });
    await collect();
    expect(world.left()).toEqual({});
  });

  it('GC-38: by the threshold of jobs, for every type of evaluation', async () => {
    const job = dead({ Type: 'batch', Stop: false });
    const ModifyTime = world.ago(5 * HOUR_MS);
    world.alloc(world.evaluation(job, { ModifyTime }), { ModifyTime });
    await collect();
    expect(world.left()).toEqual({});
  });

  it.each(['service', 'batch', 'sysbatch', 'system'] as const)(
    'GC-42: a %s job: running, stopped with tasks that are still up, then over',
    async (Type) => {
      const job = world.job({ Type });
      const evaluation = world.evaluation(job);
      const alloc = world.alloc(evaluation, { ClientStatus: 'running' });
      await collect();
      expect(world.left()).toEqual({ jobs: 1, evals: 1, allocs: 1 });
      dead({ Type });
      world.alloc(evaluation, { ID: alloc.ID, DesiredStatus: 'stop', ClientStatus: 'running' });
      await collect();
      await world.run('force-gc');
      expect(world.left()).toEqual({ jobs: 1, evals: 1, allocs: 1 });
      world.alloc(evaluation, { ID: alloc.ID, DesiredStatus: 'stop' });
      await collect();
      expect(world.left()).toEqual({});
    },
  );

  it('GC-38: an allocation that has no evaluation any more keeps the job just as well', async () => {
    dead();
    const orphan = world.alloc({ ID: 'deleted by hand', JobID: 'web' }, { ClientStatus: 'running' });
    await collect();
    expect(jobs()).toEqual(['web']);
    world.alloc({ ID: 'deleted by hand', JobID: 'web' }, { ID: orphan.ID });
    await collect();
    expect(world.left()).toEqual({});
  });
});

describe('children', () => {
  it('GC-45: are jobs of their own: they go, their parent stays and counts them as dead', async () => {
    const parent = world.job({ ID: 'cron', Type: 'batch', ParameterizedJob });
    const children = { Pending: 0, Running: 0, Dead: 2 };
    world.tables.job_summary.replace('default/cron', {
      JobID: 'cron',
      Namespace: 'default',
      Summary: {},
      Children: children,
      CreateIndex: 1,
      ModifyIndex: 1,
    });
    for (const ID of ['cron/1', 'cron/2'])
      world.job({ ID, Type: 'batch', ParentID: parent.ID, ParameterizedJob, Dispatched: true, Status: 'dead' });
    await collect();
    expect(jobs()).toEqual(['cron']);
    expect(world.tables.job_summary.get('default/cron')!.Children).toEqual(children);
  });
});

describe('races', () => {
  it('race 2, GC-47: submitted again between the look and the purge, it lives', async () => {
    world.evaluation(world.job({ Status: 'dead', Stop: true }));
    const other = world.job({ ID: 'api', Status: 'dead', Stop: true });
    world.evaluation(other);
    world.before = ({ Kind }) => {
      if (Kind !== 'jobs') return;
      const job = world.tables.jobs.get('default/web')!;
      fixtures.apply(world.state, 'JobRegister', fixtures.aRegistration({ ...job, Stop: false }));
    };
    await collect();
    expect(jobs()).toEqual(['web']);
  });

  it('race 8: 20,000 dead children go in ten batches of at most 2,048, and others have their turns', async () => {
    for (let n = 0; n < 20_000; n++) world.job({ ID: `cron/${n}`, Type: 'batch', Status: 'dead' });
    await collect();
    const sizes = world.reaps.map((reap) => (reap.Kind === 'jobs' ? reap.Jobs.length : -1));
    expect(sizes).toHaveLength(10);
    expect(Math.max(...sizes)).toBe(2_048);
    expect(world.rests).toBeGreaterThanOrEqual(3);
    expect(world.left()).toEqual({});
  });

  it('race 9: of a batch job of which a new version runs, only what the old one left', async () => {
    const job = world.job({ Type: 'batch', JobModifyIndex: 50 });
    world.alloc(world.evaluation(job), { Name: 'old', CreateIndex: 40 });
    world.alloc(world.evaluation(job), { Name: 'new', CreateIndex: 60 });
    await world.run('force-gc');
    expect([...world.tables.allocs.all()].map(({ Name }) => Name)).toEqual(['new']);
    expect(jobs()).toEqual(['web']);
  });

  it('race 10: a service or system job that is merely dead is never collected', async () => {
    for (const Type of ['service', 'system'] as const) world.job({ ID: Type, Type, Status: 'dead' });
    await collect();
    await world.run('force-gc');
    expect(jobs()).toEqual(['service', 'system']);
  });

  it('race 19: allocations whose evaluation was deleted by hand stay until their job goes', async () => {
    const job = world.job();
    world.alloc({ ID: 'deleted by hand', JobID: job.ID });
    await world.run('force-gc');
    expect(world.left()).toEqual({ jobs: 1, allocs: 1 });
    world.job({ Status: 'dead', Stop: true });
    await world.run('force-gc');
    expect(world.left()).toEqual({});
  });

  it('race 20: while a deployment is blocked, nothing of its job goes', async () => {
    const job = world.job({ Stop: true });
    world.deployment({ JobID: job.ID, Status: 'blocked' });
    world.evaluation(job, { Status: 'blocked' });
    await world.run('force-gc');
    expect(world.left()).toEqual({ jobs: 1, evals: 1, deployment: 1 });
  });
});
