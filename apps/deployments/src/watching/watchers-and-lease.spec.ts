import { type Call, jobInThatRegion, type Regions } from '@waybill/rpc';
import { fixtures } from '@waybill/state';
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
    cluster.follow();
    cluster.lead();
    expect(cluster.watchers.stats()['watched']).toBe(1);
    const purge = { JobID: 'c', Purge: true, NoShutdownDelay: false, SubmitTime: 0, Eval: null, TrackedVersions: 6 };
    cluster.write('JobDeregister', purge);
    expect(cluster.state.tables.deployment.get(c!.id)).toBeUndefined();
    expect(cluster.watchers.stats()).toMatchObject({ watched: 0, timers: 0, readersWaiting: 0, updatesWaiting: 0 });
    expect(cluster.time.pending).toBeLessThanOrEqual(1); // the limiter's, with nobody waiting
  });

  it('DP-602: without the lease commands are refused', async () => {
    const cluster = new WatchedCluster();
    const rollout = cluster.rollout({ web: { placed: 1 } });
    await expect(cluster.commands.fail(rollout.id, {})).rejects.toThrow('deployment watcher not enabled');
  });

  it('DP-1308: without the lease all figures are zero', () => {
    const stats = Object.values(new WatchedCluster().watchers.stats());
    expect(stats).toEqual(Array(10).fill(0));
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

describe('a holder with other regions', () => {
  /** West, with the names of the calls that it made to east, which has none of the jobs. */
  function west() {
    const calls: string[] = [];
    const askRegion = async (_region: string, { name }: Call<unknown, unknown>): Promise<unknown> => {
      calls.push(name);
      return { Job: null };
    };
    const cluster = new WatchedCluster(undefined, { own: 'west', names: ['east', 'west'], askRegion } as Regions);
    const register = (...names: string[]) => {
      const Regions = names.map((Name) => ({ Name, Count: 1, Datacenters: null, NodePool: '', Meta: null }));
      cluster.register(fixtures.aJob({ Multiregion: { Strategy: null, Regions } }));
    };
    return { cluster, calls, register };
  }

  it('DP-1113: asks a region that a new version of a job has left, and asks again when a term begins', async () => {
    const { cluster, calls, register } = west();
    cluster.lead();
    register('west', 'east');
    await cluster.time.pass(1_000);
    expect(calls).toEqual([]);
    register('west');
    await cluster.time.pass(1_000);
    expect(calls).toEqual([jobInThatRegion.name]);
    cluster.follow();
    expect(cluster.time.pending).toBe(0);
    cluster.lead();
    await cluster.time.pass(1_000);
    expect(calls).toEqual([jobInThatRegion.name, jobInThatRegion.name]);
  });

  it('DP-1308: counts the calls to each other region, which are none without the role', async () => {
    const { cluster, register } = west();
    expect(cluster.watchers.stats()).toMatchObject({ 'peerCalls east': 0, 'peerErrors east': 0 });
    cluster.lead();
    for (const names of [['west', 'east'], ['west']]) register(...names);
    await cluster.time.pass(1_000);
    expect(cluster.watchers.stats()).toMatchObject({ 'peerCalls east': 1, 'peerErrors east': 0 });
    expect(Object.keys(cluster.watchers.stats())).not.toContain('peerCalls west');
  });

  it('DP-603: a transaction that comes without the role starts nothing', async () => {
    const { cluster, calls, register } = west();
    register('west', 'east');
    register('west');
    for (const applied of cluster.state.history) cluster.watchers.applied(applied);
    await cluster.time.pass(1_000);
    expect([calls, cluster.watchers.stats()['watched'], cluster.time.pending]).toEqual([[], 0, 0]);
  });
});
