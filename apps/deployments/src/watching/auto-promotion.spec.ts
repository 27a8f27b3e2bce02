import type { Allocation, DeploymentState } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { mayAutoPromote } from './auto-promotion.js';
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

describe('whether a deployment promotes itself', () => {
  const canary = (ID: string, over: Partial<Allocation> = {}, Healthy: boolean | null = true): Allocation =>
    fixtures.anAlloc({
      ID,
      ClientStatus: 'running',
      DeploymentStatus: { Healthy, Timestamp: null, Canary: true, ModifyIndex: 0 },
      ...over,
    });
  const may = (groups: Partial<DeploymentState>[], allocs: Allocation[]) => {
    const TaskGroups = Object.fromEntries(groups.map((group, i) => [`g${i}`, fixtures.aDeploymentState(group)]));
    const deployment = fixtures.aDeployment({ TaskGroups });
    return mayAutoPromote(deployment, (id) => allocs.find(({ ID }) => ID === id));
  };
  const ready = { ...AUTO, PlacedCanaries: ['a'] };

  it('DP-858, DP-860: all groups with canaries must want it; those without do not matter', () => {
    expect(may([ready], [canary('a')])).toBe(true);
    expect(may([ready, { DesiredCanaries: 0, AutoPromote: false }], [canary('a')])).toBe(true);
    expect(may([ready, { ...ready, AutoPromote: false }], [canary('a')])).toBe(false);
    expect(may([{ DesiredCanaries: 0 }], [])).toBe(false);
    expect(may([{ ...ready, Promoted: true }], [canary('a')])).toBe(false);
  });

  it('DP-859: as many as are wanted must be healthy canaries that live', () => {
    const two = { ...AUTO, DesiredCanaries: 2, PlacedCanaries: ['a', 'b', 'c'] };
    const [a, b, c] = ['a', 'b', 'c'].map((id) => canary(id));
    expect(may([two], [a!, b!, c!])).toBe(true);
    expect(may([two], [a!, canary('b', {}, false), c!])).toBe(true);
    expect(may([two], [a!, canary('b', {}, null), canary('c', {}, false)])).toBe(false);
    expect(may([two], [a!, canary('b', { ClientStatus: 'failed' })])).toBe(false);
    expect(may([two], [a!])).toBe(false);
    expect(may([{ ...two, PlacedCanaries: ['a'] }], [a!, b!])).toBe(false);
  });
});
