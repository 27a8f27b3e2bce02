import { describe, expect, it } from 'vitest';
import { WatchedCluster } from './watched-rollout.fixture.js';

describe('watchers and the lease', () => {
  it('DP-601 DP-E08: one per active deployment; none when it ends, is superseded or purged', () => {
    const cluster = new WatchedCluster();
    cluster.lead();
    const [a, b, c] = ['a', 'b', 'c'].map((jobId) => cluster.rollout({ web: { placed: 1 } }, { jobId }));
    expect(cluster.watchers.stats()['watched']).toBe(3);
    const end = (id: string, Status: 'successful' | 'cancelled') => ({
      DeploymentUpdates: [{ DeploymentID: id, Status, StatusDescription: '' }],
    });
    cluster.plan(a!.job, end(a!.id, 'successful'));
    cluster.plan(b!.job, end(b!.id, 'cancelled'));
    expect(cluster.watchers.stats()['watched']).toBe(1);
    const purge = { JobID: 'c', Purge: true, NoShutdownDelay: false, SubmitTime: 0, Eval: null, TrackedVersions: 6 };
    cluster.write('JobDeregister', purge);
    expect(cluster.state.tables.deployment.get(c!.id)).toBeUndefined();
    expect(cluster.watchers.stats()).toMatchObject({ watched: 0, timers: 0 });
    expect(cluster.time.pending).toBeLessThanOrEqual(1); // the limiter's, with nobody waiting
  });

  it('DP-602: without the lease commands are refused', async () => {
    const cluster = new WatchedCluster();
    const rollout = cluster.rollout({ web: { placed: 1 } });
    await expect(cluster.commands.fail(rollout.id, {})).rejects.toThrow('deployment watcher not enabled');
  });

  it('DP-603 DP-604 DP-711: what the former holder had begun is dropped, and the next finds it in state', async () => {
    const cluster = new WatchedCluster();
    cluster.lead();
    const rollout = cluster.rollout({ web: { placed: 2 } });
    rollout.report(true, rollout.allocs[0]);
    await cluster.time.pass(1_100); // the window has ended, the transaction is not written
    cluster.follow();
    const index = cluster.state.appliedIndex;
    await cluster.time.pass(60_000);
    expect(cluster.state.appliedIndex).toBe(index);
    expect(cluster.time.pending).toBe(0);
    cluster.lead();
    await cluster.time.pass(2_000);
    expect(rollout.evaluations).toHaveLength(1);
  });

  it('DP-514 DP-S03: a deadline that passed in between is acted upon at once', async () => {
    const cluster = new WatchedCluster();
    const rollout = cluster.rollout({ web: { placed: 1 } });
    await cluster.time.pass(3_600_000);
    cluster.lead();
    await cluster.time.pass(0);
    expect(rollout.deployment.StatusDescription).toBe('Failed due to progress deadline');
  });

  it('DP-605 DP-S04: taken and lost ten times within two seconds: one set of watchers, and it goes on', async () => {
    const cluster = new WatchedCluster();
    const rollout = cluster.rollout({ web: { placed: 1 } });
    rollout.report(true, rollout.allocs[0]);
    for (let i = 0; i < 10; i++) {
      cluster.lead();
      await cluster.time.pass(100);
      cluster.follow();
      await cluster.time.pass(100);
    }
    expect(cluster.watchers.stats()).toMatchObject({ watched: 0, timers: 0 });
    cluster.lead();
    expect(cluster.watchers.stats()).toMatchObject({ watched: 1, timers: 1 });
    await cluster.time.pass(2_000);
    expect(rollout.evaluations).toHaveLength(1);
  });

  it('DP-1805: a write of a former epoch changes nothing', async () => {
    const cluster = new WatchedCluster();
    cluster.lead();
    const rollout = cluster.rollout({ web: { placed: 1 } });
    // Somebody else takes the role and this holder has not noticed.
    cluster.write('LeaseAcquired', { Role: 'deployments', Epoch: 2, Holder: 'other' });
    await expect(cluster.commands.fail(rollout.id, {})).rejects.toThrow();
    await cluster.time.pass(700_000);
    expect(rollout.deployment.Status).toBe('running');
    expect(cluster.written('DeploymentStatusUpdate').length).toBeLessThan(15); // it slows down, it does not hammer
  });

  it('DP-1801: the same transaction seen twice leads to no second write', async () => {
    const cluster = new WatchedCluster();
    cluster.lead();
    const rollout = cluster.rollout({ web: { placed: 1, ProgressDeadline: 0 } });
    const applied = rollout.report(false, rollout.allocs[0]);
    cluster.watchers.applied(applied);
    await cluster.time.pass(5_000);
    cluster.watchers.applied(applied);
    await cluster.time.pass(5_000);
    expect(cluster.written('DeploymentStatusUpdate')).toHaveLength(1);
  });
});
