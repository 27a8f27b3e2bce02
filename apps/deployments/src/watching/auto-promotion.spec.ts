import { describe, expect, it } from 'vitest';
import { WatchedCluster } from './watched-rollout.fixture.js';

const AUTO = { DesiredCanaries: 1, AutoPromote: true };

function leading(): WatchedCluster {
  const cluster = new WatchedCluster();
  cluster.lead();
  return cluster;
}

describe('automatic promotion', () => {
  it('DP-858 DP-862 DP-E10: all groups together when every canary group is ready; others do not matter', async () => {
    const cluster = leading();
    const rollout = cluster.rollout({ one: { ...AUTO, placed: 1 }, two: { ...AUTO, placed: 1 }, plain: { placed: 0 } });
    rollout.report(true, rollout.allocs[0]);
    await cluster.time.pass(2_000);
    expect(rollout.deployment.TaskGroups['one']!.Promoted).toBe(false);
    rollout.report(true, rollout.allocs[1]);
    await cluster.time.pass(2_000);
    const { TaskGroups } = rollout.deployment;
    expect(Object.values(TaskGroups).map((state) => state.Promoted)).toEqual([true, true, true]);
    const [promotion, ...more] = cluster.written('DeploymentPromote');
    expect(more).toEqual([]);
    expect(promotion!.Eval).toMatchObject({ TriggeredBy: 'deployment-watcher', DeploymentID: rollout.id });
  });

  it('DP-859: one of three unhealthy, two wanted and healthy: promoted', async () => {
    const cluster = leading();
    const rollout = cluster.rollout({ web: { DesiredCanaries: 2, AutoPromote: true, placed: 3 } });
    rollout.report(false, rollout.allocs[0]);
    rollout.report(true, rollout.allocs[1], rollout.allocs[2]);
    await cluster.time.pass(2_000);
    expect(rollout.deployment.TaskGroups['web']!.Promoted).toBe(true);
  });

  it('DP-E10: a canary that was healthy and is lost neither counts nor blocks', async () => {
    const cluster = leading();
    const rollout = cluster.rollout({ web: { DesiredCanaries: 2, AutoPromote: true, placed: 2 } });
    rollout.report(true, rollout.allocs[0]);
    const stop = {
      ID: rollout.allocs[0]!.ID,
      DesiredDescription: 'lost',
      ClientStatus: 'lost' as const,
      ModifyTime: cluster.nowNs,
      FollowupEvalID: '',
      RescheduleTracker: null,
      AllocStates: [],
    };
    cluster.plan(rollout.job, { AllocsStopped: [stop] });
    rollout.report(true, rollout.allocs[1]);
    await cluster.time.pass(2_000);
    expect(rollout.deployment.TaskGroups['web']!.Promoted).toBe(false);
    const [replacement] = rollout.place('web', 1);
    rollout.report(true, replacement);
    await cluster.time.pass(2_000);
    expect(rollout.deployment.TaskGroups['web']!.Promoted).toBe(true);
  });

  it('DP-860: one group that wants a person keeps all of them back', async () => {
    const cluster = leading();
    const rollout = cluster.rollout({ one: { ...AUTO, placed: 1 }, two: { DesiredCanaries: 1, placed: 1 } });
    rollout.report(true, ...rollout.allocs);
    await cluster.time.pass(2_000);
    expect(cluster.written('DeploymentPromote')).toEqual([]);
  });

  it('DP-858: not while paused, but as soon as it goes on', async () => {
    const cluster = leading();
    const rollout = cluster.rollout({ web: { ...AUTO, placed: 1 } });
    await cluster.commands.pause(rollout.id, true, {});
    rollout.report(true, rollout.allocs[0]);
    await cluster.time.pass(2_000);
    expect(rollout.deployment.TaskGroups['web']!.Promoted).toBe(false);
    await cluster.commands.pause(rollout.id, false, {});
    await cluster.time.pass(2_000);
    expect(rollout.deployment.TaskGroups['web']!.Promoted).toBe(true);
  });

  it('DP-861: an error does not end it', async () => {
    const cluster = leading();
    const rollout = cluster.rollout({ web: { ...AUTO, placed: 1 } });
    cluster.state.failure = undefined;
    rollout.report(true, rollout.allocs[0]);
    cluster.state.failure = new Error('the log is gone');
    await cluster.time.pass(2_000);
    cluster.state.failure = undefined;
    await cluster.time.pass(31_000);
    expect(rollout.deployment.TaskGroups['web']!.Promoted).toBe(true);
  });
});
