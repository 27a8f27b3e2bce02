import type { TaskGroup } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MINUTE, RolloutCluster, tasksOf, UPDATE } from '../support/rollout-cluster.js';

let cluster: RolloutCluster;
beforeEach(async () => {
  cluster = await RolloutCluster.start(5);
});
afterEach(() => cluster.stop());

/** Another kill timeout is an update in place. */
const inPlace = (version: number, KillTimeout: number) => tasksOf(version).map((task) => ({ ...task, KillTimeout }));
const group = (version: number, over: Partial<TaskGroup> = {}): Partial<TaskGroup> => ({
  Tasks: tasksOf(version),
  ...over,
});

async function firstVersion(over: Partial<TaskGroup> = {}): Promise<void> {
  await cluster.register({ web: group(0, over) });
  await cluster.until('successful');
}

const deploymentOf = (version: number) => cluster.deployments().find((d) => d.JobVersion === version);

describe('what begins a deployment, and what is in it', () => {
  it('DP-101: jobs that end by themselves have none', async () => {
    for (const Type of ['batch', 'sysbatch']) {
      const groups = { web: { Tasks: tasksOf(0), Update: null } };
      await cluster.register(groups, { ID: Type, Type });
    }
    await cluster.time.pass(MINUTE);
    expect(cluster.live().map((alloc) => alloc.JobID)).toContain('batch');
    expect(cluster.live().map((alloc) => alloc.JobID)).toContain('sysbatch');
    expect(cluster.deployments()).toEqual([]);
  });

  it('DP-106: a group with max_parallel 0 takes no part, and is replaced at once', async () => {
    const Update = { ...UPDATE, MaxParallel: 0 };
    await cluster.register({ web: group(0, { Update }), db: group(0) });
    await cluster.until('successful');
    await cluster.register({ web: group(1, { Update }), db: group(1) });
    await cluster.time.pass(1_000);
    expect(Object.keys(deploymentOf(1)!.TaskGroups)).toEqual(['db']);
    const updated = cluster.live(1).map((alloc) => alloc.TaskGroup);
    expect(updated.toSorted()).toEqual(['db', 'web', 'web', 'web']);
  });

  it('DP-107: what is lost begins none; the first run and a change of the specification do', async () => {
    await firstVersion();
    await cluster.nodeIs(cluster.live()[0]!.NodeID, 'down');
    await cluster.time.pass(MINUTE);
    expect(cluster.live()).toHaveLength(3);
    expect(cluster.deployments()).toHaveLength(1);
    expect(cluster.live().map((alloc) => alloc.DeploymentID)).toContain(''); // DP-121: placed while none is active
    await cluster.register({ web: group(1) });
    await cluster.until('successful');
    expect(cluster.deployments().map((d) => d.JobVersion)).toEqual([1, 0]);
  });

  it('DP-108, DP-121: a group that did not change is in it, in place, and proves its health again', async () => {
    await cluster.register({ web: group(0), db: group(0) });
    await cluster.until('successful');
    const kept = cluster
      .live()
      .filter((alloc) => alloc.TaskGroup === 'db')
      .map((alloc) => alloc.ID);
    await cluster.register({ web: group(1), db: group(0) });
    await cluster.time.pass(1_000);
    const { ID, TaskGroups } = deploymentOf(1)!;
    expect(TaskGroups['db']).toMatchObject({ DesiredTotal: 3, PlacedAllocs: 3, HealthyAllocs: 0 });
    const moved = cluster.live().filter((alloc) => alloc.TaskGroup === 'db');
    expect(moved.map((alloc) => alloc.ID).toSorted()).toEqual(kept.toSorted());
    expect(moved.map((alloc) => [alloc.DeploymentID, alloc.DeploymentStatus])).toEqual(moved.map(() => [ID, null]));
    expect((await cluster.until('successful')).TaskGroups['db']!.HealthyAllocs).toBe(3);
  });

  it('DP-109: what it owes is fixed when it begins', async () => {
    await firstVersion();
    await cluster.register({ web: group(1) });
    await cluster.time.pass(1_000);
    await cluster.nodeIs(cluster.live(0)[0]!.NodeID, 'down');
    for (let i = 0; i < 8; i++) {
      await cluster.time.pass(1_000);
      expect(deploymentOf(1)!.TaskGroups['web']!.DesiredTotal).toBe(3);
    }
    await cluster.until('successful');
  });

  it('DP-110: an update in place has no canaries and waits for nobody', async () => {
    await firstVersion();
    const before = cluster.live().map((alloc) => alloc.ID);
    await cluster.register({ web: { Tasks: inPlace(0, 9e9), Update: { ...UPDATE, Canary: 1 } } });
    const ended = await cluster.until('successful');
    expect(ended).toMatchObject({ StatusDescription: 'Deployment completed successfully' });
    expect(ended.TaskGroups['web']).toMatchObject({ DesiredCanaries: 0, HealthyAllocs: 3 });
    expect(cluster.live().map((alloc) => alloc.ID)).toEqual(before);
  });

  it.each([
    ['all promote by themselves', true, 'Deployment is running pending automatic promotion'],
    ['one does not', false, 'Deployment is running but requires manual promotion'],
  ])('DP-111: with canaries in two groups of three, %s', async (_, AutoPromote, text) => {
    const groups = (version: number) => ({
      web: group(version, { Update: { ...UPDATE, Canary: 1, AutoPromote: true } }),
      db: group(version, { Update: { ...UPDATE, Canary: 1, AutoPromote } }),
      log: group(version),
    });
    await cluster.register(groups(0));
    expect((await cluster.until('successful')).TaskGroups['web']!.DesiredCanaries).toBe(0);
    await cluster.register(groups(1));
    await cluster.time.pass(1_000);
    expect(deploymentOf(1)!.StatusDescription).toBe(text);
  });

  it('DP-112: its evaluations have the priority of the one that began it', async () => {
    await firstVersion();
    await cluster.register({ web: group(1) }, { Priority: 70 }); // registered with an evaluation of priority 50
    await cluster.until('successful');
    expect(deploymentOf(1)!.EvalPriority).toBe(50);
    const asked = [...cluster.tables.evals.by('deployment', deploymentOf(1)!.ID)];
    const byWatcher = asked.filter((e) => e.TriggeredBy === 'deployment-watcher');
    expect(new Set(byWatcher.map((e) => e.Priority))).toEqual(new Set([50]));
  });
});

describe('what a deployment holds back', () => {
  it.each(['paused', 'failed'] as const)(
    'DP-114: while it is %s no canary is placed; what is lost of the old version is replaced',
    async (status) => {
      await firstVersion();
      await cluster.register({ web: group(1, { Update: { ...UPDATE, Canary: 2 } }) });
      await cluster.time.pass(1_000);
      const { ID } = deploymentOf(1)!;
      if (status === 'paused') await cluster.commands.pause(ID, true, {});
      else await cluster.commands.fail(ID, {});
      await cluster.time.pass(5_000);
      const canaries = cluster.live(1).length;
      expect(canaries).toBe(status === 'paused' ? 2 : 0);
      if (canaries > 0) await cluster.nodeIs(cluster.live(1)[0]!.NodeID, 'down');
      await cluster.nodeIs(cluster.live(0)[0]!.NodeID, 'down');
      await cluster.time.pass(MINUTE);
      expect(cluster.live(1).length).toBeLessThanOrEqual(canaries);
      expect(cluster.live(1).every((alloc) => cluster.tables.nodes.get(alloc.NodeID)?.Status === 'ready')).toBe(true);
      expect(cluster.live(0)).toHaveLength(3);
    },
  );

  it('DP-117: one that was healthy first and fails later in the same rollout waits for its end', async () => {
    await firstVersion();
    await cluster.register({ web: group(1, { ReschedulePolicy: fixtures.aGroup().ReschedulePolicy }) });
    const [first] = await cluster.passUntil('one is healthy', () => {
      const healthy = cluster.live(1).filter((alloc) => alloc.DeploymentStatus?.Healthy === true);
      return healthy.length === 1 && healthy;
    });
    const { ID } = deploymentOf(1)!;
    await cluster.commands.pause(ID, true, {});
    await cluster.report(first!, 'failed');
    await cluster.evaluate('web', 'alloc-failure');
    await cluster.time.pass(30 * MINUTE);
    expect(cluster.tables.allocs.get(first!.ID)).toMatchObject({ DesiredStatus: 'run', NextAllocation: '' });
    expect(cluster.deployments()[0]).toMatchObject({ ID, Status: 'paused' });
  });
});
