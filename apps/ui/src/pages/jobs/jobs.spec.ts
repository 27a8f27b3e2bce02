import { describe, expect, it } from 'vitest';
import type { Evaluation, JobListStub } from '../../api/contract.js';
import { objectAddress, readObjectAddress } from '../../app/object-address.js';
import { countsOf, groupCounts } from './job-counts.js';
import { filteredJobs, readJobFilter, stateOfJob } from './job-list-filter.js';
import { placementProblems } from './job-problems.js';

const counts = { Queued: 0, Complete: 0, Failed: 0, Running: 0, Starting: 0, Lost: 0, Unknown: 0 };
const job = (ID: string, of: Partial<JobListStub> = {}, group: Partial<typeof counts> = {}): JobListStub =>
  ({
    ID,
    Name: ID,
    ParentID: '',
    Type: 'service',
    Status: 'running',
    Stop: false,
    SubmitTime: 1,
    JobSummary: { Summary: { web: { ...counts, ...group } } },
    ...of,
  }) as JobListStub;

describe('addresses of jobs', () => {
  it.each([
    ['web@default', { id: 'web', namespace: 'default' }],
    ['a@b@prod', { id: 'a@b', namespace: 'prod' }],
  ])('%s', (address, name) => {
    expect(readObjectAddress(address)).toEqual(name);
    expect(objectAddress(name)).toBe(address);
  });

  it('the command line leaves the default namespace out', () => {
    expect(readObjectAddress('web')).toEqual({ id: 'web', namespace: 'default' });
  });
});

describe('the list of jobs', () => {
  it('takes from an address what a filter can be', () => {
    expect(readJobFilter({ search: 'we', status: '', type: ['x'], namespace: '*', other: 'x' })).toEqual({
      search: 'we',
    });
  });

  it('finds jobs by all words, by state and by kind; children are left out, the newest are first', () => {
    const jobs = [
      job('web-old'),
      job('web-new', { SubmitTime: 2 }),
      job('cron', { Periodic: true, Type: 'batch' }),
      job('cron/periodic-1', { ParentID: 'cron' }),
      job('gone', { Status: 'dead', Stop: true }),
    ];
    const ids = (filter: object) => filteredJobs(jobs, filter).map(({ ID }) => ID);
    expect(ids({})).toEqual(['web-new', 'cron', 'gone', 'web-old']);
    expect(ids({ search: 'NEW web' })).toEqual(['web-new']);
    expect(ids({ type: 'periodic' })).toEqual(['cron']);
    expect(ids({ type: 'batch' })).toEqual(['cron']);
    expect(ids({ status: 'stopped' })).toEqual(['gone']);
  });

  it('a job that waits for a place is not called running', () => {
    const state = (of: Partial<JobListStub>, group: Partial<typeof counts>) => {
      const one = job('web', of, group);
      return stateOfJob(one, one.JobSummary);
    };
    expect(state({}, { Running: 2 })).toBe('running');
    expect(state({}, { Queued: 2 })).toBe('not placed');
    expect(state({}, { Queued: 1, Starting: 1 })).toBe('partly placed');
    expect(state({ Status: 'dead' }, { Queued: 1 })).toBe('dead');
    expect(state({ Status: 'dead', Stop: true }, {})).toBe('stopped');
  });

  it('counts allocations over groups, and leaves out states that none is in', () => {
    const Summary = { a: { ...counts, Running: 2 }, b: { ...counts, Running: 1, Failed: 3 } };
    expect(countsOf({ Summary })).toEqual([
      { name: 'running', tone: 'good', count: 3 },
      { name: 'failed', tone: 'bad', count: 3 },
    ]);
  });
});

describe('what keeps a job from running', () => {
  const metric = { NodesEvaluated: 2, ConstraintFiltered: { 'missing drivers': 2 }, CoalescedFailures: 2 };
  const evaluation = (ID: string, of: object): Evaluation =>
    ({ ID, Status: 'complete', CreateIndex: 1, ...of }) as Evaluation;

  it('is what the newest evaluation found that left a blocked one behind', () => {
    const found = placementProblems(
      [
        evaluation('old', { BlockedEval: 'b', FailedTGAllocs: { other: metric } }),
        evaluation('new', { BlockedEval: 'b', CreateIndex: 3, FailedTGAllocs: { web: metric } }),
        evaluation('b', { Status: 'blocked', CreateIndex: 2 }),
      ],
      { TaskGroups: [] },
    );
    expect(found).toMatchObject([{ group: 'web', unplaced: 3, evaluation: 'new' }]);
  });

  it('is nothing once no evaluation is blocked', () => {
    const done = [evaluation('a', { BlockedEval: 'b', FailedTGAllocs: { web: metric } }), evaluation('b', {})];
    expect(placementProblems(done, { TaskGroups: [] })).toEqual([]);
  });
});

it('API-174: counts the allocations of each group that should run, without canaries', () => {
  const alloc = (of: object) => ({
    TaskGroup: 'web',
    DesiredStatus: 'run' as const,
    ClientStatus: 'running' as const,
    DeploymentStatus: null,
    ...of,
  });
  const health = (Healthy: boolean | null, Canary = false) => ({ DeploymentStatus: { Healthy, Canary } });
  const counts = groupCounts([
    alloc(health(true)),
    alloc(health(false)),
    alloc({ ClientStatus: 'pending' }),
    alloc({ ClientStatus: 'failed' }),
    alloc({ DesiredStatus: 'stop' }),
    alloc(health(true, true)),
    alloc({ TaskGroup: 'db', ClientStatus: 'unknown' }),
  ] as Parameters<typeof groupCounts>[0]);
  expect(Object.fromEntries(counts)).toEqual({
    web: { placed: 3, running: 2, healthy: 1 },
    db: { placed: 1, running: 0, healthy: 0 },
  });
});
