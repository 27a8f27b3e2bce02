import type { Allocation, Deployment, DeploymentState, Job, UpdateStrategy } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { SystemRollout, type SystemRolloutInput } from './system-rollout.js';

const NOW_NS = fixtures.timeNs;

/** Version 1 of a system job with one group. */
function jobOf(update: Partial<UpdateStrategy> | null, over: Partial<Job> = {}): Job {
  const given = fixtures.aGroup({}, 'system');
  const Update = update && { ...fixtures.aGroup().Update!, MaxParallel: 3, ...update };
  return fixtures.aJob({ Type: 'system', Version: 1, CreateIndex: 10, TaskGroups: [{ ...given, Update }], ...over });
}

const deploymentOf = (state: Partial<DeploymentState>, over: Partial<Deployment> = {}): Deployment =>
  fixtures.aDeployment({
    ID: 'now',
    JobVersion: 1,
    JobCreateIndex: 10,
    TaskGroups: { web: fixtures.aDeploymentState(state) },
    ...over,
  });

const allocOf = (job: Job, over: Partial<Allocation> = {}, Canary = false, Healthy: boolean | null = null) =>
  fixtures.anAlloc({
    Job: job,
    DeploymentID: 'now',
    DeploymentStatus: { Healthy, Timestamp: null, Canary, ModifyIndex: 0 },
    ...over,
  });

const rolloutOf = (job: Job | null, over: Partial<SystemRolloutInput> = {}): SystemRollout =>
  new SystemRollout({
    job,
    allocs: [],
    latest: null,
    isOn: true,
    isNews: true,
    stopped: new Set(),
    newId: () => 'new',
    ...over,
  });

const result = (rollout: SystemRollout, Priority = 20) => rollout.result(fixtures.anEval({ Priority }), NOW_NS);

describe('the next step of a group', () => {
  const stepOf = (job: Job, over: Partial<SystemRolloutInput>, replaceable = 10, replaced = 0) =>
    rolloutOf(job, over).stepOf(job.TaskGroups[0]!, replaceable, replaced);

  it('SC-288: is not limited where there are no deployments', () => {
    const free = { limit: Infinity, asCanaries: false, canaries: 0 };
    expect(stepOf(jobOf({ Canary: 50 }), { isOn: false })).toEqual(free);
    expect(rolloutOf(null).stepOf(jobOf({}).TaskGroups[0]!, 1, 0)).toEqual(free);
  });

  it('SC-280: without an update block of the group it is that of the job, and without both no limit', () => {
    const ofJob = (MaxParallel: number): Job['Update'] => ({ ...jobOf({}).Update, MaxParallel });
    expect(stepOf(jobOf(null, { Update: ofJob(1) }), {}).limit).toBe(1);
    expect(stepOf(jobOf(null, { Update: ofJob(0) }), {}).limit).toBe(Infinity);
    expect(stepOf(jobOf({ MaxParallel: 2 }, { Update: ofJob(1) }), {}).limit).toBe(2);
  });

  it.each(['paused', 'pending', 'failed'] as const)('SC-299: replaces nothing while the deployment is %s', (Status) => {
    expect(stepOf(jobOf({ Canary: 50 }), { latest: deploymentOf({}, { Status }) })).toEqual({
      limit: 0,
      asCanaries: false,
      canaries: 0,
    });
  });

  it('SC-281: allocations of the deployment whose health is not decided count, and no others', () => {
    const job = jobOf({});
    const counted = allocOf(job);
    const others = [
      allocOf(job, {}, false, true),
      allocOf(job, {}, false, false),
      allocOf(job, { DeploymentID: 'before' }),
      allocOf(job, { ClientStatus: 'failed' }),
      allocOf(job, { TaskGroup: 'other' }),
    ];
    const latest = deploymentOf({});
    expect(stepOf(job, { latest, allocs: others }).limit).toBe(3);
    expect(stepOf(job, { latest, allocs: [...others, counted] }).limit).toBe(2);
    expect(stepOf(job, { latest, allocs: [{ ...counted, DeploymentStatus: null }] }).limit).toBe(2);
    expect(stepOf(job, { latest, allocs: Array.from({ length: 5 }, () => allocOf(job)) }).limit).toBe(0);
  });

  it('SC-281: what belongs to no deployment is not waited for', () => {
    const job = jobOf({});
    expect(stepOf(job, { allocs: [allocOf(job, { DeploymentID: '' })] }).limit).toBe(3);
  });

  it('SC-292, SC-295: canaries that live and that are placed again count, stopped ones and those of others do not', () => {
    const job = jobOf({ Canary: 30 });
    const latest = deploymentOf({});
    const live = allocOf(job, { ID: 'live' }, true);
    expect(stepOf(job, { latest })).toEqual({ limit: 3, asCanaries: true, canaries: 0 });
    expect(stepOf(job, { latest, allocs: [live] }, 9)).toEqual({ limit: 2, asCanaries: true, canaries: 1 });
    expect(stepOf(job, { latest, allocs: [live] }, 8, 1)).toEqual({ limit: 1, asCanaries: true, canaries: 2 });
    expect(stepOf(job, { latest, allocs: [live], stopped: new Set(['live']) })).toMatchObject({ canaries: 0 });
    const others = [
      allocOf(job, { ClientStatus: 'lost' }, true),
      allocOf(job, { DeploymentID: 'before' }, true),
      allocOf(job, { TaskGroup: 'other' }, true),
      allocOf(job),
    ];
    expect(stepOf(job, { latest, allocs: others })).toMatchObject({ canaries: 0 });
  });

  it('SC-292: more canaries than wanted are no debt', () => {
    const job = jobOf({ Canary: 10 });
    const allocs = [allocOf(job, {}, true), allocOf(job, {}, true)];
    expect(stepOf(job, { latest: deploymentOf({}), allocs }, 3)).toMatchObject({ limit: 0, canaries: 2 });
  });

  it('SC-293, SC-294: has no canaries in the first version, once promoted, or without a share', () => {
    const latest = deploymentOf({});
    const none = { limit: 3, asCanaries: false, canaries: 0 };
    const first = jobOf({ Canary: 30 }, { Version: 0 });
    expect(stepOf(first, { latest: deploymentOf({}, { JobVersion: 0 }) })).toEqual(none);
    expect(stepOf(jobOf({ Canary: 30 }), { latest: deploymentOf({ Promoted: true }) })).toEqual(none);
    expect(stepOf(jobOf({ Canary: 0 }), { latest })).toEqual(none);
  });

  it('SC-293: waits for canaries while something is to be replaced, or canaries are wanted already', () => {
    const job = jobOf({ Canary: 30 });
    expect(stepOf(job, { latest: deploymentOf({}) }, 0)).toMatchObject({ asCanaries: false, limit: 3 });
    expect(stepOf(job, { latest: deploymentOf({}) }, 1)).toMatchObject({ asCanaries: true, limit: 1 });
    expect(stepOf(job, { latest: deploymentOf({ DesiredCanaries: 1 }) }, 0)).toMatchObject({
      asCanaries: true,
      limit: 0,
    });
  });
});

describe('whether an allocation was a canary', () => {
  it('SC-295: one of the active deployment whose group is not promoted', () => {
    const job = jobOf({ Canary: 30 });
    const was = (alloc: Allocation | undefined, state: Partial<DeploymentState> = {}, over: Partial<Deployment> = {}) =>
      rolloutOf(job, { latest: deploymentOf(state, over) }).wasCanary(alloc);
    const canary = allocOf(job, {}, true);
    expect(was(canary)).toBe(true);
    expect(was(undefined)).toBe(false);
    expect(was(allocOf(job))).toBe(false);
    expect(was({ ...canary, DeploymentID: 'before' })).toBe(false);
    expect(was({ ...canary, TaskGroup: 'other' })).toBe(false);
    expect(was(canary, { Promoted: true })).toBe(false);
    expect(was(canary, {}, { Status: 'failed' })).toBe(false);
  });
});

describe('the deployment of a system job', () => {
  const wanting = (rollout: SystemRollout, total: number, waiting = false): SystemRollout => {
    rollout.setWanted('web', total, waiting);
    return rollout;
  };

  it("SC-288, DP-112: is created with the job's priority, and says that it runs", () => {
    const rollout = wanting(rolloutOf(jobOf({}, { Priority: 70 })), 4);
    expect(rollout.deploymentId).toBe('new');
    const { deployment, updates } = result(rollout);
    expect(deployment).toMatchObject({
      ID: 'new',
      EvalPriority: 70,
      CreateTime: NOW_NS,
      TaskGroups: { web: { DesiredTotal: 4 } },
    });
    expect(updates).toEqual([{ DeploymentID: 'new', Status: 'running', StatusDescription: 'Deployment is running' }]);
  });

  it('SC-237: is not created where nothing is wanted', () => {
    expect(result(wanting(rolloutOf(jobOf({})), 0))).toEqual({ deployment: null, updates: [] });
  });

  it.each<[string, Partial<SystemRolloutInput>]>([
    ['there is no news', { isNews: false }],
    ['the type has none', { isOn: false }],
    ['the version has had one', { latest: deploymentOf({}, { Status: 'successful' }) }],
    ['the version runs already without one', { allocs: [allocOf(jobOf({}))] }],
  ])('SC-288 to SC-290: is not created if %s', (_why, over) => {
    const rollout = wanting(rolloutOf(jobOf({}), over), 4);
    expect(rollout.deploymentId).toBe('');
    expect(result(rollout).deployment).toBeNull();
  });

  it.each<[string, Partial<SystemRolloutInput>]>([
    ['what runs the version has ended', { allocs: [allocOf(jobOf({}), { ClientStatus: 'complete' })] }],
    ['an older version runs', { allocs: [allocOf(jobOf({}, { Version: 0 }))] }],
    ['a former job of its name runs', { allocs: [allocOf(jobOf({}, { CreateIndex: 9 }))] }],
    ['the last one was of another version', { latest: deploymentOf({}, { JobVersion: 0, Status: 'successful' }) }],
    ['the last one was of a former job', { latest: deploymentOf({}, { JobCreateIndex: 9, Status: 'successful' }) }],
    [
      'one of another version was before, however many run already',
      { latest: deploymentOf({}, { JobVersion: 0, Status: 'successful' }), allocs: [allocOf(jobOf({}))] },
    ],
  ])('SC-288 to SC-290: is created if %s', (_why, over) => {
    expect(result(wanting(rolloutOf(jobOf({}), over), 4)).deployment).toMatchObject({ ID: 'new' });
  });

  it('SC-288: a group joins the deployment that runs, but none that is held', () => {
    const job = jobOf({});
    const added = { ...job, TaskGroups: [...job.TaskGroups, { ...job.TaskGroups[0]!, Name: 'more' }] };
    const joined = (Status: Deployment['Status']) => {
      const rollout = rolloutOf(added, { latest: deploymentOf({ DesiredTotal: 4 }, { Status }) });
      rollout.setWanted('web', 4, false);
      rollout.setWanted('more', 2, false);
      return result(rollout).deployment;
    };
    expect(joined('running')).toMatchObject({ ID: 'now', TaskGroups: { web: {}, more: { DesiredTotal: 2 } } });
    expect(joined('paused')).toBeNull();
  });

  it('SC-291: changes with the wanted allocations and canaries, and not otherwise', () => {
    const job = jobOf({ Canary: 30 });
    const changed = (total: number, replaceable: number) => {
      const rollout = rolloutOf(job, { latest: deploymentOf({ DesiredTotal: 4, DesiredCanaries: 1 }) });
      rollout.stepOf(job.TaskGroups[0]!, replaceable, 0);
      return result(wanting(rollout, total)).deployment?.TaskGroups['web'];
    };
    expect(changed(4, 3)).toBeUndefined();
    expect(changed(5, 3)).toMatchObject({ DesiredTotal: 5, DesiredCanaries: 1 });
    expect(changed(4, 5)).toMatchObject({ DesiredTotal: 4, DesiredCanaries: 2 });
  });

  it('SC-291: one that failed keeps its number', () => {
    const latest = deploymentOf({ DesiredTotal: 4 }, { Status: 'failed' });
    expect(result(wanting(rolloutOf(jobOf({}), { latest }), 9)).deployment).toBeNull();
  });

  it('SC-296: says once that it waits for promotion', () => {
    const job = jobOf({ Canary: 30 });
    const waiting = deploymentOf({ DesiredTotal: 4, DesiredCanaries: 1 });
    const StatusDescription = 'Deployment is running but requires manual promotion';
    expect(result(wanting(rolloutOf(job, { latest: waiting }), 4)).updates).toEqual([
      { DeploymentID: 'now', Status: 'running', StatusDescription },
    ]);
    const said = { ...waiting, StatusDescription };
    expect(result(wanting(rolloutOf(job, { latest: said }), 4)).updates).toEqual([]);
    const paused = { ...waiting, Status: 'paused' as const };
    expect(result(wanting(rolloutOf(job, { latest: paused }), 4)).updates).toEqual([]);
  });

  it.each<[string, boolean, Partial<DeploymentState>, boolean]>([
    ['every wanted allocation is healthy', true, { HealthyAllocs: 4 }, false],
    ['one is not healthy yet', false, { HealthyAllocs: 3 }, false],
    ['updates are still to come', false, { HealthyAllocs: 4 }, true],
    ['canaries wait for promotion', false, { HealthyAllocs: 4, DesiredCanaries: 1 }, false],
    ['its canaries are promoted', true, { HealthyAllocs: 4, DesiredCanaries: 1, Promoted: true }, false],
  ])('SC-298: %s: successful is %s', (_what, isOver, state, waiting) => {
    const latest = deploymentOf({ DesiredTotal: 4, ...state });
    const { updates } = result(wanting(rolloutOf(jobOf({}), { latest }), 4, waiting));
    expect(updates.some(({ Status }) => Status === 'successful')).toBe(isOver);
  });

  it('SC-298: does not succeed with a group that joins only now, or without any group', () => {
    const job = jobOf({});
    const added = { ...job, TaskGroups: [...job.TaskGroups, { ...job.TaskGroups[0]!, Name: 'more' }] };
    const latest = deploymentOf({ DesiredTotal: 4, HealthyAllocs: 4 });
    expect(result(wanting(rolloutOf(added, { latest }), 4)).updates).toEqual([]);
    expect(result(rolloutOf(jobOf(null), { latest: { ...latest, TaskGroups: {} } })).updates).toEqual([]);
  });

  it('SC-232: is cancelled with its job, before anything else is said of it', () => {
    expect(result(rolloutOf(null, { latest: deploymentOf({}) })).updates).toMatchObject([
      { DeploymentID: 'now', Status: 'cancelled' },
    ]);
  });
});
