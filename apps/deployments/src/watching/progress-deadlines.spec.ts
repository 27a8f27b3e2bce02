import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { DeploymentWatcher } from './deployment-watcher.js';
import { cutoffMs, isSatisfied } from './progress-deadline.js';
import { WatchedCluster } from './watched-rollout.fixture.js';

const { aDeployment, aDeploymentState, anAlloc } = fixtures;
const T0 = '2026-01-01T00:00:00.000Z';
const MINUTE = 60_000;

function leading(): WatchedCluster {
  const cluster = new WatchedCluster();
  cluster.lead();
  return cluster;
}

describe('the cutoff of a deployment', () => {
  it('DP-506: healthy canaries satisfy a group until it is promoted, then all of it must be healthy', () => {
    const state = aDeploymentState({ DesiredTotal: 3, DesiredCanaries: 1, HealthyAllocs: 1 });
    expect(isSatisfied(state)).toBe(true);
    expect(isSatisfied({ ...state, Promoted: true })).toBe(false);
    expect(isSatisfied({ ...state, Promoted: true, HealthyAllocs: 3 })).toBe(true);
  });

  it('DP-507 DP-512 DP-E07: the earliest of unsatisfied groups whose clock runs; none is none', () => {
    const done = aDeploymentState({ HealthyAllocs: 1, RequireProgressBy: T0 });
    const waiting = aDeploymentState({ RequireProgressBy: null });
    const late = aDeploymentState({ RequireProgressBy: '2026-01-01T00:05:00.000Z' });
    const later = aDeploymentState({ RequireProgressBy: '2026-01-01T00:06:00.000Z' });
    expect(cutoffMs(aDeployment({ TaskGroups: { done, waiting } }))).toBeUndefined();
    expect(cutoffMs(aDeployment({ TaskGroups: { done, waiting, later, late } }))).toBe(Date.parse(T0) + 5 * MINUTE);
    expect(cutoffMs(aDeployment({ Status: 'paused', TaskGroups: { late } }))).toBeUndefined();
  });
});

describe('progress deadlines', () => {
  it('DP-508 DP-801 DP-802 DP-1804: without progress it fails at its deadline, not before, with one evaluation', async () => {
    const cluster = leading();
    const rollout = cluster.rollout({ web: { placed: 1 } });
    await cluster.time.pass(10 * MINUTE - 1);
    expect(rollout.deployment.Status).toBe('running');
    await cluster.time.pass(1);
    expect(rollout.deployment).toMatchObject({
      Status: 'failed',
      StatusDescription: 'Failed due to progress deadline',
    });
    expect(rollout.evaluations).toHaveLength(1);
    expect(cluster.watchers.stats()).toMatchObject({ watched: 0, timers: 0 });
  });

  it('DP-1804: a clock that is set forward does not make a deadline late', async () => {
    const cluster = leading();
    const rollout = cluster.rollout({ web: { placed: 1 } });
    cluster.clockAheadMs = 8 * MINUTE;
    await cluster.time.pass(2 * MINUTE - 1);
    expect(rollout.deployment.Status).toBe('running');
    await cluster.time.pass(1_000);
    expect(rollout.deployment.Status).toBe('failed');
  });

  it('DP-503 DP-511: each healthy one moves it; each group is judged by its own', async () => {
    const cluster = leading();
    const rollout = cluster.rollout({
      fast: { placed: 1, DesiredTotal: 1, ProgressDeadline: 60e9 },
      slow: { placed: 1, DesiredTotal: 2 },
    });
    rollout.report(true, rollout.allocs[0]);
    await cluster.time.pass(9 * MINUTE); // the finished group's own deadline is long past
    expect(rollout.deployment.Status).toBe('running');
    rollout.report(true, rollout.allocs[1]);
    await cluster.time.pass(9 * MINUTE);
    expect(rollout.deployment.Status).toBe('running');
    await cluster.time.pass(MINUTE);
    expect(rollout.deployment.Status).toBe('failed');
  });

  it('DP-509: with its canary lost while it waits for promotion, it has its progress deadline again from then on', async () => {
    const cluster = leading();
    const rollout = cluster.rollout({ web: { placed: 1, DesiredCanaries: 1 } });
    const [canary] = rollout.allocs;
    rollout.report(true, canary);
    await cluster.time.pass(60 * MINUTE);
    expect(rollout.deployment.Status).toBe('running');
    rollout.lose(canary);
    await cluster.time.pass(10 * MINUTE - 1);
    expect(rollout.deployment.Status).toBe('running');
    await cluster.time.pass(1);
    expect(rollout.deployment).toMatchObject({
      Status: 'failed',
      StatusDescription: 'Failed due to progress deadline',
    });
  });

  it('DP-509: with a lost canary replaced by a healthy one, it waits for promotion without end', async () => {
    const cluster = leading();
    const rollout = cluster.rollout({ web: { placed: 1, DesiredCanaries: 1 } });
    rollout.report(true, rollout.allocs[0]);
    rollout.lose(rollout.allocs[0]);
    rollout.report(true, ...rollout.place('web', 1));
    await cluster.time.pass(24 * 60 * MINUTE);
    expect(rollout.deployment.Status).toBe('running');
  });

  it('DP-504: a group that could place nothing waits without end', async () => {
    const cluster = leading();
    const rollout = cluster.rollout({ web: { placed: 0 } });
    await cluster.time.pass(24 * 60 * MINUTE);
    expect(rollout.deployment.Status).toBe('running');
    expect(cluster.watchers.stats()['timers']).toBe(0);
  });

  it('DP-509: healthy canaries wait for promotion beyond any deadline', async () => {
    const cluster = leading();
    const rollout = cluster.rollout({ web: { placed: 1, DesiredCanaries: 1 } });
    rollout.report(true, rollout.allocs[0]);
    await cluster.time.pass(60 * MINUTE);
    expect(rollout.deployment.Status).toBe('running');
  });

  it('DP-505 DP-E02: a late promotion gives every group a fresh deadline', async () => {
    const cluster = leading();
    const canary = { placed: 1, DesiredCanaries: 1, ProgressDeadline: 1e9 };
    const rollout = cluster.rollout({ one: { ...canary, DesiredTotal: 3 }, two: { ...canary, DesiredTotal: 1 } });
    rollout.report(true, rollout.allocs[1]);
    await cluster.time.pass(50);
    rollout.report(true, rollout.allocs[0]);
    await cluster.time.pass(5_000);
    await cluster.commands.promote(rollout.id, { all: true, groups: [], promotedAtNs: 0 }, {});
    await cluster.time.pass(500);
    const more = [1, 2].map(() =>
      anAlloc({
        ID: fixtures.freshId(),
        Job: rollout.job,
        TaskGroup: 'one',
        DeploymentID: rollout.id,
        ModifyTime: cluster.nowNs,
      }),
    );
    cluster.plan(rollout.job, { AllocsUpdated: more });
    rollout.report(true, ...more);
    await cluster.time.pass(60_000);
    expect(rollout.deployment).toMatchObject({
      Status: 'running',
      TaskGroups: { one: { HealthyAllocs: 3 }, two: { HealthyAllocs: 1 } },
    });
  });

  it('DP-513 DP-903 DP-E11: paused and overdue stays paused; resuming gives a fresh deadline', async () => {
    const cluster = leading();
    const rollout = cluster.rollout({ web: { placed: 1 } });
    await cluster.time.pass(9 * MINUTE);
    await cluster.commands.pause(rollout.id, true, {});
    await cluster.time.pass(60 * MINUTE);
    expect(rollout.deployment.Status).toBe('paused');
    expect(cluster.watchers.stats()).toMatchObject({ watched: 1, timers: 0 });
    await cluster.commands.pause(rollout.id, false, {});
    await cluster.time.pass(10 * MINUTE - 1);
    expect(rollout.deployment.Status).toBe('running');
    await cluster.time.pass(1);
    expect(rollout.deployment.Status).toBe('failed');
  });

  it.each(['report', 'deadline'] as const)(
    'DP-204 DP-405: the last report and the deadline in one instant, first the %s: the first one decides, both are counted',
    async (first) => {
      const cluster = leading();
      const rollout = cluster.rollout({ web: { placed: 1, DesiredTotal: 1 } });
      await cluster.time.pass(10 * MINUTE - 1);
      cluster.time.freeze(1); // it is due, and its timer has not run yet
      if (first === 'report') rollout.report(true, rollout.allocs[0]);
      await cluster.time.pass(0);
      if (first === 'deadline') rollout.report(true, rollout.allocs[0]);
      await cluster.time.pass(5_000);
      expect(rollout.deployment.Status).toBe(first === 'report' ? 'running' : 'failed');
      expect(rollout.deployment.TaskGroups['web']).toMatchObject({ HealthyAllocs: 1, UnhealthyAllocs: 0 });
      expect(cluster.written('DeploymentStatusUpdate')).toHaveLength(first === 'report' ? 0 : 1);
      expect(rollout.evaluations).toHaveLength(1);
    },
  );

  it('DP-610: the timer is set anew only when the cutoff moves', async () => {
    const cluster = leading();
    const rollout = cluster.rollout({ web: { placed: 3 } });
    const before = cluster.watchers.stats()['timersArmed']!;
    rollout.report(false, rollout.allocs[0]); // counts, moves no deadline
    await cluster.time.pass(2_000);
    expect(cluster.watchers.stats()['timersArmed']).toBe(before);
    rollout.report(true, rollout.allocs[1]);
    expect(cluster.watchers.stats()).toMatchObject({ timersArmed: before + 1, timers: 1 });
  });

  it('DP-813: a deadline that passed without harm is not the cause of what fails later', async () => {
    const cluster = leading();
    const policy = { ReschedulePolicy: null };
    const rollout = cluster.rollout({
      done: { placed: 1, DesiredTotal: 1, ProgressDeadline: 60e9 },
      slow: { placed: 1, DesiredTotal: 2, ProgressDeadline: 600e9, job: policy },
    });
    rollout.report(true, rollout.allocs[0]);
    await cluster.time.pass(2 * MINUTE); // the deadline of the group that is done is over
    rollout.report(false, rollout.allocs[1]);
    await cluster.time.pass(0);
    expect(rollout.deployment.StatusDescription).toBe('Failed due to unhealthy allocations');
  });

  it('DP-515: a deployment that is gone when its timer fires is let be', async () => {
    const cluster = leading();
    const rollout = cluster.rollout({ web: { placed: 1 } });
    const watcher = new DeploymentWatcher(rollout.id, cluster.watchers.watching);
    watcher.startWatching();
    await cluster.time.pass(MINUTE);
    const purge = { Purge: true, NoShutdownDelay: false, SubmitTime: 0, Eval: null, TrackedVersions: 6 };
    cluster.write('JobDeregister', { JobID: 'web', ...purge }); // which stops the other watcher, not this one
    const { length } = cluster.state.history;
    await cluster.time.pass(10 * MINUTE);
    expect(cluster.state.history).toHaveLength(length);
    expect(watcher.hasTimer).toBe(false);
  });

  it('DP-613: a failure that cannot be written is written later', async () => {
    const cluster = leading();
    const rollout = cluster.rollout({ web: { placed: 1 } });
    cluster.state.failure = new Error('the log is gone');
    await cluster.time.pass(11 * MINUTE);
    expect(rollout.deployment.Status).toBe('running');
    expect(cluster.watchers.stats()['statusWriteRetries']).toBeGreaterThan(0);
    cluster.state.failure = undefined;
    await cluster.time.pass(30_000);
    expect(rollout.deployment.Status).toBe('failed');
    expect(cluster.written('DeploymentStatusUpdate')).toHaveLength(1);
  });

  it('DP-613: the pause before it is tried again doubles, up to half a minute', async () => {
    const cluster = leading();
    cluster.rollout({ web: { placed: 1 } });
    cluster.state.failure = new Error('the log is gone');
    await cluster.time.pass(600_000);
    const retries = () => cluster.watchers.stats()['statusWriteRetries'];
    let tries = 1;
    for (const pauseMs of [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]) {
      await cluster.time.pass(pauseMs - 1);
      expect(retries()).toBe(tries);
      await cluster.time.pass(1);
      expect(retries()).toBe((tries += 1));
    }
  });

  it('DP-603: a failure that cannot be written because the term has ended is not tried again', async () => {
    const cluster = leading();
    const rollout = cluster.rollout({ web: { placed: 1 } });
    const passing = cluster.time.pass(600_000);
    cluster.follow();
    await passing;
    expect([rollout.deployment.Status, cluster.time.pending]).toEqual(['running', 0]);
  });

  it('DP-613: and a clock that is set back does not make that later', async () => {
    const cluster = leading();
    const rollout = cluster.rollout({ web: { placed: 1 } });
    cluster.state.failure = new Error('the log is gone');
    await cluster.time.pass(11 * MINUTE);
    cluster.state.failure = undefined;
    cluster.clockAheadMs = -50_000;
    await cluster.time.pass(30_000);
    expect(rollout.deployment.Status).toBe('failed');
  });
});
