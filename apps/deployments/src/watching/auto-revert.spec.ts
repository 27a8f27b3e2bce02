import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { WatchedCluster } from './watched-rollout.fixture.js';

const { aJob } = fixtures;
const MINUTE = 60_000;
const REVERTING = { web: { placed: 1, AutoRevert: true } };

/** Version 0 of job `web`, stable or not, and the rollout of version 1. */
function secondVersion(options: { stable?: boolean; stopped?: boolean } = {}) {
  const cluster = new WatchedCluster();
  cluster.lead();
  const first = cluster.register(aJob({ Priority: 40 }));
  if (options.stable !== false) cluster.write('JobStability', { JobID: 'web', JobVersion: 0, Stable: true });
  if (options.stopped)
    cluster.write('JobDeregister', {
      JobID: 'web',
      Purge: false,
      NoShutdownDelay: false,
      SubmitTime: 0,
      Eval: null,
      TrackedVersions: 6,
    });
  const rollout = cluster.rollout(REVERTING);
  return { cluster, first, rollout };
}

describe('failing and going back', () => {
  it('DP-804 DP-805 DP-808 DP-809: the deadline brings the newest stable version back as a new one', async () => {
    const { cluster, first, rollout } = secondVersion();
    await cluster.time.pass(10 * MINUTE);
    expect(rollout.deployment).toMatchObject({
      Status: 'failed',
      StatusDescription: 'Failed due to progress deadline - rolling back to job version 0',
    });
    expect(rollout.jobNow).toMatchObject({ Version: 2, Priority: first.Priority, Stable: true, VersionTag: null });
    expect(rollout.jobNow.JobModifyIndex).toBe(rollout.deployment.ModifyIndex);
    expect(rollout.evaluations).toHaveLength(1);
  });

  it('DP-803: without a stable version it says so', async () => {
    const { cluster, rollout } = secondVersion({ stable: false });
    await cluster.time.pass(10 * MINUTE);
    expect(rollout.deployment.StatusDescription).toBe(
      'Failed due to progress deadline - no stable job version to auto revert to',
    );
    expect(rollout.jobNow.Version).toBe(1);
  });

  it('DP-803: only the groups that failed decide', async () => {
    const cluster = new WatchedCluster();
    cluster.lead();
    cluster.register(aJob({ Priority: 40 }));
    cluster.write('JobStability', { JobID: 'web', JobVersion: 0, Stable: true });
    const rollout = cluster.rollout({
      late: { placed: 1, ProgressDeadline: 60e9 },
      fine: { placed: 1, AutoRevert: true },
    });
    await cluster.time.pass(MINUTE);
    expect(rollout.deployment.StatusDescription).toBe('Failed due to progress deadline');
    expect(rollout.jobNow.Version).toBe(1);
  });

  it('DP-806 DP-E09: what equals the stable version is not brought back again', async () => {
    const { cluster, rollout } = secondVersion();
    await cluster.time.pass(10 * MINUTE);
    const again = rollout.jobNow;
    const id = 'second';
    cluster.plan(again, {
      Deployment: fixtures.aDeployment({
        ID: id,
        JobVersion: again.Version,
        JobCreateIndex: again.CreateIndex,
        TaskGroups: { web: fixtures.aDeploymentState({ AutoRevert: true }) },
      }),
      AllocsUpdated: [fixtures.anAlloc({ Job: again, DeploymentID: id, ModifyTime: cluster.nowNs })],
    });
    await cluster.time.pass(10 * MINUTE);
    expect(cluster.state.tables.deployment.get(id)).toMatchObject({
      Status: 'failed',
      StatusDescription:
        'Failed due to progress deadline - not rolling back to stable job version 2 as current job has same specification',
    });
    expect(rollout.jobNow.Version).toBe(2);
  });

  it('DP-804 DP-E24: a version that a stop wrote is no stable one', async () => {
    const { cluster, first, rollout } = secondVersion({ stopped: true });
    expect(rollout.job.Version).toBe(2);
    await cluster.time.pass(10 * MINUTE);
    expect(rollout.deployment.StatusDescription).toContain('rolling back to job version 0');
    expect(rollout.jobNow).toMatchObject({ Version: 3, Stop: false, Priority: first.Priority });
  });

  it('DP-810 DP-E17: revert and a newer registration, ordered both ways', async () => {
    const before = secondVersion();
    before.cluster.register(aJob({ Priority: 70 }));
    await before.cluster.time.pass(10 * MINUTE);
    expect(before.rollout.deployment.StatusDescription).toBe('Failed due to progress deadline');
    expect(before.rollout.jobNow).toMatchObject({ Version: 2, Priority: 70 });

    const after = secondVersion();
    await after.cluster.time.pass(10 * MINUTE);
    after.cluster.register(aJob({ Priority: 70 }));
    expect(after.rollout.deployment.StatusDescription).toContain('rolling back');
    expect(after.rollout.jobNow).toMatchObject({ Version: 3, Priority: 70 });
  });

  it('DP-E16 DP-812: operator and deadline at once: one of them wins, exactly one revert', async () => {
    for (const operatorFirst of [true, false]) {
      const { cluster, rollout } = secondVersion();
      await cluster.time.pass(10 * MINUTE - 1);
      cluster.time.freeze(1);
      const ask = () => cluster.commands.fail(rollout.id, {});
      if (operatorFirst) {
        expect(await ask()).toMatchObject({ revertedVersion: 0 });
        await cluster.time.pass(0);
      } else {
        await cluster.time.pass(0);
        await expect(ask()).rejects.toThrow("can't fail terminal deployment");
      }
      await cluster.time.pass(MINUTE);
      expect(cluster.watchers.stats()).toMatchObject({ statusWriteRetries: 0, timers: 0 });
      expect(cluster.written('DeploymentStatusUpdate')).toHaveLength(1);
      expect(rollout.jobNow.Version).toBe(2);
      const cause = operatorFirst ? 'Deployment marked as failed' : 'Failed due to progress deadline';
      expect(rollout.deployment.StatusDescription).toBe(`${cause} - rolling back to job version 0`);
    }
  });

  it('DP-E21: going back alters no stored version', async () => {
    const { cluster, rollout } = secondVersion();
    const stored = cluster.state.tables.job_version.get('default/web@0');
    await cluster.time.pass(10 * MINUTE);
    expect(rollout.jobNow.Version).toBe(2);
    expect(cluster.state.tables.job_version.get('default/web@0')).toBe(stored);
  });
});
