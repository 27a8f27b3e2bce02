import type { Deployment, Job } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { Rollout, updateOf, waitsForItsTurn } from './rollout.js';

const job = (over: Partial<Job> = {}): Job => fixtures.aJob({ Version: 1, CreateIndex: 10, ...over });
const deployment = (over: Partial<Deployment> = {}): Deployment =>
  fixtures.aDeployment({ ID: 'now', JobVersion: 1, JobCreateIndex: 10, ...over });
const state = fixtures.aDeploymentState;

describe('which deployment is over', () => {
  it.each<[string, Job | null, Partial<Deployment>, string]>([
    ['of a purged job', null, {}, 'Cancelled because job is stopped'],
    ['of a stopped job', job({ Stop: true }), {}, 'Cancelled because job is stopped'],
    ['of an older version', job(), { JobVersion: 0 }, 'Cancelled due to newer version of job'],
    ['of a former job', job(), { JobCreateIndex: 9 }, 'Cancelled due to newer version of job'],
  ])('SC-232, SC-233: one %s is cancelled, if it was not over', (_which, given, over, StatusDescription) => {
    const rollout = new Rollout(given, deployment(over), true);
    expect([rollout.old?.ID, rollout.current, rollout.activeId]).toEqual(['now', null, '']);
    expect(rollout.updates).toEqual([{ DeploymentID: 'now', Status: 'cancelled', StatusDescription }]);
    expect(new Rollout(given, deployment({ ...over, Status: 'failed' }), true).updates).toEqual([]);
  });

  it('SC-234: one that succeeded is old, one that failed stays current and is not active', () => {
    const [done, failed] = (['successful', 'failed'] as const).map(
      (Status) => new Rollout(job(), deployment({ Status }), true),
    );
    expect([done?.old?.ID, done?.current]).toEqual(['now', null]);
    expect([failed?.old, failed?.current?.ID, failed?.isFailed, failed?.activeId]).toEqual([null, 'now', true, '']);
  });

  it('SC-244: where there are none, none is read', () => {
    const off = new Rollout(job({ Stop: true }), deployment(), false);
    expect([off.old, off.current, off.updates]).toEqual([null, null, []]);
    expect(off.newStateFor(fixtures.aGroup())).toBeUndefined();
  });
});

describe('a deployment that waits', () => {
  it.each<[Deployment['Status'], boolean]>([
    ['running', false],
    ['paused', true],
    ['pending', true],
    ['initializing', true],
    ['blocked', false],
    ['unblocking', false],
    ['failed', false],
  ])('SC-235: %s holds back: %s', (Status, isPaused) => {
    expect(new Rollout(job(), deployment({ Status }), true).isPaused).toBe(isPaused);
  });

  it('DP-1110, DP-1118: waits for its turn until it has run', () => {
    const waits = (Status: Deployment['Status'], over: Partial<Deployment> = {}) =>
      waitsForItsTurn({ ...deployment(over), Status });
    expect([waits('initializing'), waits('pending'), waits('running'), waits('paused')]).toEqual([
      true,
      true,
      false,
      false,
    ]);
    expect(waits('paused', { IsMultiregion: true })).toBe(true);
    expect(waits('paused', { IsMultiregion: true, HasRun: true })).toBe(false);
    expect(waits('running', { IsMultiregion: true })).toBe(false);
  });

  it('SC-242: becomes pending in the attempt that sees it first, and is written without a change of a group', () => {
    const rollout = new Rollout(job(), deployment({ Status: 'initializing' }), true);
    expect(rollout.updates).toMatchObject([{ DeploymentID: 'now', Status: 'pending' }]);
    expect(rollout.result({ Priority: 50 }, () => 'new', 0)).toMatchObject({ ID: 'now' });
    const running = new Rollout(job(), deployment(), true);
    expect(running.result({ Priority: 50 }, () => 'new', 0)).toBeNull();
  });
});

describe('a deployment that is done', () => {
  const completed = (over: Partial<Deployment>) => {
    const rollout = new Rollout(job(), deployment(over), true);
    return [rollout.completeDeployment(), rollout.updates.map(({ Status }) => Status)];
  };

  it('SC-241: succeeds, unless it is over or its turn has not come', () => {
    expect(completed({})).toEqual(['now', ['successful']]);
    expect(completed({ Status: 'failed' })).toEqual([undefined, []]);
    expect(completed({ Status: 'pending' })).toEqual([undefined, []]);
    expect(new Rollout(job(), null, true).completeDeployment()).toBeUndefined();
  });

  it('SC-241: of several regions is blocked, once', () => {
    const IsMultiregion = true;
    expect(completed({ IsMultiregion })).toEqual([undefined, ['blocked']]);
    expect(completed({ IsMultiregion, Status: 'blocked' })).toEqual([undefined, []]);
    expect(completed({ IsMultiregion, Status: 'unblocking' })).toEqual([undefined, []]);
  });
});

describe('the groups of a deployment', () => {
  it('SC-215: canaries are unneeded if their deployment is over and they were not promoted', () => {
    const TaskGroups = {
      web: state({ PlacedCanaries: ['a'] }),
      more: state({ PlacedCanaries: ['b'], Promoted: true }),
    };
    const unneeded = (over: Partial<Deployment>) => [
      ...new Rollout(job(), deployment({ TaskGroups, ...over }), true).unneededCanaries(),
    ];
    expect(unneeded({})).toEqual([]);
    for (const over of [{ Status: 'failed' as const }, { Status: 'successful' as const }, { JobVersion: 0 }])
      expect(unneeded(over)).toEqual(['a']);
  });

  it('SC-237, SC-238: those that are attached are added to the current one, and its own stay', () => {
    const latest = deployment({ TaskGroups: { web: state({ DesiredTotal: 4 }) } });
    const rollout = new Rollout(job(), latest, true);
    rollout.attachGroup('more', state({ DesiredTotal: 2 }));
    expect(rollout.result({ Priority: 50 }, () => 'new', 0)).toMatchObject({
      ID: 'now',
      TaskGroups: { web: { DesiredTotal: 4 }, more: { DesiredTotal: 2 } },
    });
    expect(Object.keys(latest.TaskGroups)).toEqual(['web']);
  });

  it('SC-238: those that are attached without a current one are the groups of a new one', () => {
    const rollout = new Rollout(job({ Priority: 70 }), null, true);
    expect(rollout.result({ Priority: 50 }, () => 'new', 7)).toBeNull();
    rollout.attachGroup('web', state({ DesiredTotal: 4 }));
    expect(rollout.result({ Priority: 50 }, () => 'new', 7)).toMatchObject({
      ID: 'new',
      JobVersion: 1,
      JobCreateIndex: 10,
      IsMultiregion: false,
      Status: 'running',
      StatusDescription: 'Deployment is running',
      EvalPriority: 50,
      CreateIndex: 0,
      ModifyIndex: 0,
      CreateTime: 7,
      ModifyTime: 7,
      TaskGroups: { web: { DesiredTotal: 4 } },
    });
    const gone = new Rollout(null, null, true);
    gone.attachGroup('web', state());
    expect(gone.result({ Priority: 50 }, () => 'new', 7)).toBeNull();
  });

  it('SC-236: what a group begins with in a deployment', () => {
    const Update = { ...fixtures.aGroup().Update!, MaxParallel: 1, AutoRevert: true, ProgressDeadline: 9, Canary: 2 };
    expect(new Rollout(job(), null, true).newStateFor(fixtures.aGroup({ Update }))).toEqual({
      AutoRevert: true,
      AutoPromote: false,
      ProgressDeadline: 9,
      RequireProgressBy: null,
      Promoted: false,
      PlacedCanaries: [],
      DesiredCanaries: 0,
      DesiredTotal: 0,
      PlacedAllocs: 0,
      HealthyAllocs: 0,
      UnhealthyAllocs: 0,
    });
  });

  it('SC-236: a group has a state only under its own name', () => {
    const rollout = new Rollout(job(), deployment(), true);
    expect(rollout.stateOf('web')).toMatchObject({ DesiredTotal: 1 });
    expect(rollout.stateOf('toString')).toBeUndefined();
    expect(new Rollout(job(), null, true).stateOf('web')).toBeUndefined();
  });

  it('SC-236: no update block and no parallelism are the same', () => {
    const update = (MaxParallel: number) => ({ Update: { ...fixtures.aGroup().Update!, MaxParallel } });
    expect(updateOf(undefined)).toBeUndefined();
    expect(updateOf({ Update: null })).toBeUndefined();
    expect(updateOf(update(0))).toBeUndefined();
    expect(updateOf(update(1))).toMatchObject({ MaxParallel: 1 });
  });
});
