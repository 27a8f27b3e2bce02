import { LogUnavailableError } from '@waybill/journal';
import type { TaskGroup } from '@waybill/model';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MINUTE, RolloutCluster, tasksOf, UPDATE } from '../support/rollout-cluster.js';

let cluster: RolloutCluster;
beforeEach(async () => {
  cluster = await RolloutCluster.start();
});
afterEach(() => cluster.stop());

/** Version 0 of `web`, rolled out. */
async function firstVersion(group: Partial<TaskGroup> = {}): Promise<void> {
  await cluster.register({ web: { Tasks: tasksOf('0'), ...group } });
  await cluster.until('successful');
}

describe('rollouts, with scheduler, watcher and machines', () => {
  it('DP-S01: three rounds of one, then successful, and the version is stable', async () => {
    await firstVersion();
    expect(cluster.tables.job_version.get('default/web@0')!.Stable).toBe(true);
    const before = cluster.evaluations('deployment-watcher');
    await cluster.register({ web: { Tasks: tasksOf('1') } });
    const ended = await cluster.until('successful');
    expect(ended).toMatchObject({ JobVersion: 1, TaskGroups: { web: { PlacedAllocs: 3, HealthyAllocs: 3 } } });
    expect(cluster.live(1)).toHaveLength(3);
    expect(cluster.live()).toHaveLength(3);
    expect(cluster.tables.job_version.get('default/web@1')!.Stable).toBe(true);
    expect(cluster.evaluations('deployment-watcher') - before).toBe(3);
  });

  it('DP-S02 DP-S04: the holder goes in the middle, again and again; no round is skipped or doubled', async () => {
    await firstVersion();
    await cluster.register({ web: { Tasks: tasksOf('1') } });
    for (let i = 0; i < 12; i++) {
      await cluster.time.pass(700);
      await cluster.lead();
    }
    const ended = await cluster.until('successful');
    expect(ended.TaskGroups['web']).toMatchObject({ PlacedAllocs: 3, HealthyAllocs: 3 });
    expect(cluster.live(1)).toHaveLength(3);
  });

  it('section 5, DP-S05: a canary waits for its promotion beyond the deadline, then the rest is rolled out', async () => {
    await firstVersion();
    await cluster.register({ web: { Tasks: tasksOf('1'), Update: { ...UPDATE, Canary: 1 } } });
    await cluster.time.pass(30 * MINUTE);
    const waiting = cluster.deployment()!;
    expect(waiting).toMatchObject({
      Status: 'running',
      StatusDescription: 'Deployment is running but requires manual promotion',
      TaskGroups: { web: { DesiredTotal: 3, DesiredCanaries: 1, PlacedAllocs: 1, HealthyAllocs: 1 } },
    });
    expect(cluster.live(1)).toHaveLength(1);
    expect(cluster.live(0)).toHaveLength(3);
    await cluster.commands.promote(waiting.ID, { all: true, groups: [], promotedAtNs: 0 }, {});
    const ended = await cluster.until('successful');
    expect(ended.TaskGroups['web']).toMatchObject({ Promoted: true, PlacedAllocs: 3, HealthyAllocs: 3 });
    expect(cluster.live(1)).toHaveLength(3);
    expect(cluster.live(0)).toHaveLength(0);
  });

  it('DP-858: with auto_promote nobody has to be there', async () => {
    await firstVersion();
    await cluster.register({ web: { Tasks: tasksOf('1'), Update: { ...UPDATE, Canary: 2, AutoPromote: true } } });
    expect((await cluster.until('successful')).JobVersion).toBe(1);
    expect(cluster.live(1)).toHaveLength(3);
  });

  it('DP-S06: a canary that never becomes healthy: failed at the deadline, stopped, and the old version rolled out anew', async () => {
    await firstVersion();
    cluster.health = (alloc) => (alloc.Job?.Version === 1 ? undefined : true);
    const Update = { ...UPDATE, Canary: 1, AutoRevert: true, HealthyDeadline: 20e9, ProgressDeadline: 30e9 };
    await cluster.register({ web: { Tasks: tasksOf('1'), Update } });
    await cluster.time.pass(25_000);
    expect(cluster.deployment()!.Status).toBe('running');
    await cluster.time.pass(10_000);
    const failed = cluster.deployments().find((d) => d.JobVersion === 1)!;
    expect(failed).toMatchObject({
      Status: 'failed',
      StatusDescription: 'Failed due to progress deadline - rolling back to job version 0',
    });
    await cluster.until('successful');
    expect(cluster.live(1)).toHaveLength(0);
    expect(cluster.live(2)).toHaveLength(3); // in place: it is what they run already
    expect(cluster.tables.jobs.get('default/web')).toMatchObject({ Version: 2, Stable: true });
  });

  it('DP-S09 DP-706: a group that cannot be placed does not hold up the other; with room it goes on', async () => {
    const never = { Constraints: [{ LTarget: '${meta.room}', RTarget: 'yes', Operand: '=' }] };
    await cluster.register({ full: { Count: 1, ...never }, web: { Tasks: tasksOf('0') } });
    await cluster.time.pass(60 * MINUTE);
    const waiting = cluster.deployment()!;
    expect(waiting).toMatchObject({ Status: 'running', TaskGroups: { web: { HealthyAllocs: 3 } } });
    await cluster.addNode({ Meta: { room: 'yes' }, ComputedClass: 'v1:roomy' });
    expect((await cluster.until('successful')).ID).toBe(waiting.ID);
  });

  it('DP-S11 DP-208: a newer version in the middle: the old one is cancelled, its canary stopped, the new one completes', async () => {
    await firstVersion();
    await cluster.register({ web: { Tasks: tasksOf('1'), Update: { ...UPDATE, Canary: 1 } } });
    await cluster.time.pass(5_000);
    await cluster.register({ web: { Tasks: tasksOf('2') } });
    expect((await cluster.until('successful')).JobVersion).toBe(2);
    expect(cluster.deployments().find((d) => d.JobVersion === 1)).toMatchObject({
      Status: 'cancelled',
      StatusDescription: 'Cancelled due to newer version of job',
    });
    expect(cluster.live(1)).toHaveLength(0);
    expect(cluster.live(2)).toHaveLength(3);
  });

  it('DP-S12 DP-209: a stopped job ends its deployment', async () => {
    await cluster.register({ web: {} });
    await cluster.time.pass(1_000);
    await cluster.stopJob();
    await cluster.time.pass(5_000);
    expect(cluster.deployment()).toMatchObject({
      Status: 'cancelled',
      StatusDescription: 'Cancelled because job is stopped',
    });
    expect(cluster.live()).toHaveLength(0);
  });

  it('DP-702 DP-S07: an unhealthy one is replaced within the policy, and the rollout ends well', async () => {
    await firstVersion();
    let bad = 1;
    cluster.health = (alloc) => !(alloc.Job?.Version === 1 && bad-- > 0);
    await cluster.register({ web: { Tasks: tasksOf('1') } });
    const ended = await cluster.until('successful', 10 * MINUTE);
    expect(ended.TaskGroups['web']).toMatchObject({ PlacedAllocs: 4, HealthyAllocs: 3, UnhealthyAllocs: 1 });
  });

  it('DP-903 DP-113: paused after the first round it places nothing more until it is resumed', async () => {
    await firstVersion();
    await cluster.register({ web: { Tasks: tasksOf('1') } });
    await cluster.time.pass(1_000);
    const { ID } = cluster.deployment()!;
    await cluster.commands.pause(ID, true, {});
    await cluster.time.pass(60 * MINUTE);
    expect(cluster.deployment()!.Status).toBe('paused');
    expect(cluster.live(1)).toHaveLength(1);
    await cluster.commands.pause(ID, false, {});
    await cluster.until('successful');
    expect(cluster.live(1)).toHaveLength(3);
  });

  it('DP-S10: a group that is partly placed and has no room for the rest fails at its deadline', async () => {
    const one = { Constraints: [{ LTarget: '', RTarget: 'true', Operand: 'distinct_hosts' }] };
    await cluster.register({ web: { Count: 2, ...one } });
    await cluster.time.pass(9 * MINUTE);
    expect(cluster.deployment()).toMatchObject({ Status: 'running', TaskGroups: { web: { HealthyAllocs: 1 } } });
    await cluster.time.pass(2 * MINUTE);
    expect(cluster.deployment()).toMatchObject({
      Status: 'failed',
      StatusDescription: 'Failed due to progress deadline',
    });
  });

  it('DP-S13 DP-708: two thousand jobs at once all end well, in few transactions, with reads that grow with them', async () => {
    const JOBS = 2_000;
    for (let i = 0; i < 100; i++) await cluster.addNode();
    for (let i = 0; i < JOBS; i++) await cluster.register({ web: { Count: 2 } }, { ID: `job-${i}` });
    await cluster.passUntil('all are successful', () => cluster.active().length === 0 && cluster.deployments().length);
    const deployments = cluster.deployments();
    expect(deployments).toHaveLength(JOBS);
    expect(deployments.every((d) => d.Status === 'successful' && d.TaskGroups['web']!.HealthyAllocs === 2)).toBe(true);
    const { watched, timers, allocationReads, batchesWritten, evaluationsWritten } = cluster.stats;
    expect({ watched, timers }).toEqual({ watched: 0, timers: 0 });
    // Seen first, placed, one health report each; and once more when the update is written.
    expect(allocationReads).toBeLessThan(6 * JOBS);
    expect(evaluationsWritten).toBeLessThanOrEqual(2 * JOBS);
    expect(batchesWritten).toBeLessThan(evaluationsWritten! / 10);
  }, 120_000);

  it('DP-S14 DP-613: while its writes fail for half a minute the rollout stands, then it goes on by itself', async () => {
    await firstVersion();
    await cluster.register({ web: { Tasks: tasksOf('1') } });
    const { state } = cluster.plane;
    const propose = state.propose.bind(state);
    const until = cluster.time.nowMs() + 30_000;
    state.propose = (draft) =>
      draft.fence?.role === 'deployments' && cluster.time.nowMs() < until
        ? Promise.reject(new LogUnavailableError('test'))
        : propose(draft);
    await cluster.time.pass(29_000);
    expect(cluster.live(1)).toHaveLength(1);
    const ended = await cluster.until('successful');
    expect(ended.TaskGroups['web']).toMatchObject({ PlacedAllocs: 3, HealthyAllocs: 3 });
  });

  it('DP-S15: with manual health nothing moves until somebody says so; one word of the contrary ends it', async () => {
    await firstVersion();
    cluster.health = (alloc) => (alloc.Job?.Version === 0 ? true : undefined);
    await cluster.register({ web: { Tasks: tasksOf('1'), Update: { ...UPDATE, HealthCheck: 'manual' } } });
    await cluster.time.pass(5 * MINUTE);
    const { ID } = cluster.deployment()!;
    expect(cluster.live(1)).toHaveLength(1);
    await cluster.commands.setHealth(ID, { healthy: [cluster.live(1)[0]!.ID], unhealthy: [] }, {});
    await cluster.time.pass(5_000);
    expect(cluster.live(1)).toHaveLength(2);
    const unknown = cluster.live(1).find((a) => a.DeploymentStatus?.Healthy !== true)!;
    await cluster.commands.setHealth(ID, { healthy: [], unhealthy: [unknown.ID] }, {});
    await cluster.time.pass(5 * MINUTE);
    expect(cluster.deployment()).toMatchObject({
      Status: 'failed',
      StatusDescription: 'Failed due to unhealthy allocations',
    });
    expect(cluster.live(1)).toHaveLength(2);
  });

  it('DP-S16 DP-116 DP-E23: a machine is lost while canaries wait: old ones by the old version, canaries by canaries', async () => {
    for (let i = 0; i < 4; i++) await cluster.addNode();
    await firstVersion();
    await cluster.register({ web: { Tasks: tasksOf('1'), Update: { ...UPDATE, Canary: 1 } } });
    await cluster.time.pass(5_000);
    const [canary] = cluster.live(1);
    const { ID, TaskGroups } = cluster.deployment()!;
    const old = cluster.live(0).find((a) => a.NodeID !== canary!.NodeID)!;
    await cluster.nodeIs(canary!.NodeID, 'down');
    await cluster.nodeIs(old.NodeID, 'down');
    await cluster.time.pass(5_000);
    expect(cluster.live(1)).toMatchObject([{ DeploymentID: ID, DeploymentStatus: { Canary: true, Healthy: true } }]);
    expect(cluster.live(1)[0]!.ID).not.toBe(canary!.ID);
    expect(TaskGroups['web']!.PlacedCanaries).toEqual([canary!.ID]);
    expect(cluster.live(0)).toHaveLength(3);
    expect(new Set(cluster.live(0).map((a) => a.DeploymentID))).toEqual(new Set([old.DeploymentID]));
    await cluster.commands.promote(ID, { all: true, groups: [], promotedAtNs: 0 }, {});
    await cluster.until('successful');
    expect(cluster.live(1)).toHaveLength(3);
    expect(cluster.live()).toHaveLength(3);
  });

  it('DP-E02 DP-505: two groups promoted late, one long finished: neither old deadline counts any more', async () => {
    const Update = { ...UPDATE, Canary: 1, HealthyDeadline: 5e9, ProgressDeadline: 10e9 };
    await cluster.register({ web: { Tasks: tasksOf('0') }, db: { Count: 1, Tasks: tasksOf('0') } });
    await cluster.until('successful');
    await cluster.register({ web: { Tasks: tasksOf('1'), Update }, db: { Count: 1, Tasks: tasksOf('1'), Update } });
    await cluster.time.pass(5 * MINUTE);
    const { ID } = cluster.deployment()!;
    await cluster.commands.promote(ID, { all: true, groups: [], promotedAtNs: 0 }, {});
    const ended = await cluster.until('successful');
    expect(ended).toMatchObject({ ID, TaskGroups: { web: { HealthyAllocs: 3 }, db: { HealthyAllocs: 1 } } });
  });

  it('DP-811 DP-118: failed, without a way back: its canary goes, nothing else moves, what is lost is replaced', async () => {
    for (let i = 0; i < 4; i++) await cluster.addNode();
    await firstVersion();
    await cluster.register({ web: { Tasks: tasksOf('1'), Update: { ...UPDATE, Canary: 1 } } });
    await cluster.time.pass(5_000);
    await cluster.commands.fail(cluster.deployment()!.ID, {});
    await cluster.time.pass(10 * MINUTE);
    expect(cluster.deployments()).toHaveLength(2);
    expect([cluster.live(0).length, cluster.live(1).length]).toEqual([3, 0]);
    await cluster.nodeIs(cluster.live(0)[0]!.NodeID, 'down');
    await cluster.time.pass(5_000);
    expect([cluster.live(0).length, cluster.live(1).length]).toEqual([3, 0]);
  });

  it('DP-129: a job that rolls out is running, even with nothing alive', async () => {
    const never = { Constraints: [{ LTarget: '${meta.room}', RTarget: 'yes', Operand: '=' }] };
    await cluster.register({ web: { Count: 1, Tasks: tasksOf('0') }, db: { Count: 1, ...never } });
    await cluster.time.pass(5_000);
    for (const alloc of cluster.live()) await cluster.report(alloc, 'failed');
    expect(cluster.deployment()!.Status).toBe('running');
    expect(cluster.tables.jobs.get('default/web')!.Status).toBe('running');
  });
});
