import { describe, expect, it, vi } from 'vitest';
import { ReadLimiter, readsPerSecond } from './read-limiter.js';
import { WatchedCluster } from './watched-rollout.fixture.js';
import { FakeTime } from '@waybill/model';

const UNLIMITED_READS = 1e9;

describe('what watching costs', () => {
  it(
    'DP-608 DP-609 DP-E01, ST-159: reads and timers grow with the changes, not with changes times deployments',
    { timeout: 60_000 },
    async () => {
      const cluster = new WatchedCluster(UNLIMITED_READS);
      cluster.lead();
      const count = 200;
      const rollouts = [];
      for (let i = 0; i < count; i++) {
        rollouts.push(cluster.rollout({ web: { placed: 2 } }, { jobId: `job-${i}` }));
        await cluster.time.pass(0);
      }
      const before = cluster.watchers.stats();
      expect(before).toMatchObject({ watched: count, timers: count });
      expect(before['allocationReads']).toBeLessThanOrEqual(2 * count); // created, then placed
      for (let i = 0; i < 10; i++) for (const rollout of rollouts) rollout.report(false, rollout.allocs[0]); // counts once, then nothing
      await cluster.time.pass(0);
      for (let n = 0; n < 1_000; n++) cluster.write('UpsertNodeEvents', { NodeEvents: {} });
      cluster.register({ ...rollouts[0]!.job, ID: 'unrelated' });
      await cluster.time.pass(0);
      const after = cluster.watchers.stats();
      expect(after['allocationReads']! - before['allocationReads']!).toBe(count);
      expect(after['timersArmed']).toBe(before['timersArmed']);
    },
  );

  it(
    'DP-609 DP-E01: a thousand active, a thousand more one by one with ten other changes each, and all their ends',
    { timeout: 60_000 },
    async () => {
      const cluster = new WatchedCluster(UNLIMITED_READS);
      const created = (i: number) => cluster.rollout({ web: { placed: 1 } }, { jobId: `job-${i}` });
      const rollouts = Array.from({ length: 1_000 }, (_, i) => created(i));
      cluster.lead();
      await cluster.time.pass(0);
      expect(cluster.watchers.stats()).toMatchObject({ watched: 1_000, timers: 1_000, allocationReads: 1_000 });
      for (let i = 1_000; i < 2_000; i++) {
        rollouts.push(created(i));
        for (let n = 0; n < 10; n++) cluster.write('UpsertNodeEvents', { NodeEvents: {} });
        await cluster.time.pass(0);
      }
      const { watched, timers, timersArmed, allocationReads } = cluster.watchers.stats();
      expect({ watched, timers, timersArmed }).toEqual({ watched: 2_000, timers: 2_000, timersArmed: 2_000 });
      expect(allocationReads).toBeLessThanOrEqual(3_000);
      for (const { id, job } of rollouts)
        cluster.plan(job, {
          DeploymentUpdates: [{ DeploymentID: id, Status: 'successful', StatusDescription: '' }],
        });
      await cluster.time.pass(0);
      expect(cluster.watchers.stats()).toMatchObject({ watched: 0, timers: 0, allocationReads });
    },
  );

  it('DP-608: a change of one deployment costs the others nothing', { timeout: 60_000 }, async () => {
    const cluster = new WatchedCluster(UNLIMITED_READS);
    cluster.lead();
    const [first] = Array.from({ length: 50 }, (_, i) =>
      cluster.rollout({ web: { placed: 1 } }, { jobId: `job-${i}` }),
    );
    await cluster.time.pass(5_000);
    const before = cluster.watchers.stats();
    first!.report(true, first!.allocs[0]);
    await cluster.time.pass(0);
    const after = cluster.watchers.stats();
    expect(after['allocationReads']! - before['allocationReads']!).toBe(1);
    expect(after['timersArmed']! - before['timersArmed']!).toBe(1);
  });

  it('DP-611: one that is deleted is looked up, not looked for among all', { timeout: 60_000 }, async () => {
    const cluster = new WatchedCluster(UNLIMITED_READS);
    cluster.lead();
    for (let i = 0; i < 1_000; i++) cluster.rollout({ web: { placed: 0 } }, { jobId: `job-${i}` });
    await cluster.time.pass(0);
    const { deployment } = cluster.state.tables;
    const reads = [vi.spyOn(deployment, 'all'), vi.spyOn(deployment, 'entries'), vi.spyOn(deployment, 'get')];
    const purge = { Purge: true, NoShutdownDelay: false, SubmitTime: 0, Eval: null, TrackedVersions: 6 };
    cluster.write('JobDeregister', { JobID: 'job-500', ...purge });
    await cluster.time.pass(1_000);
    expect(cluster.watchers.stats()['watched']).toBe(999);
    const [all, entries, single] = reads.map((read) => read.mock.calls.length);
    expect([all, entries]).toEqual([0, 0]);
    expect(single).toBeLessThan(10);
  });

  it(
    'DP-1308: what it takes is counted: watchers, timers, reads and their wait, batches and what is in them, retries',
    { timeout: 60_000 },
    async () => {
      const cluster = new WatchedCluster(10);
      cluster.lead();
      const rollouts = Array.from({ length: 20 }, (_, i) =>
        cluster.rollout({ web: { placed: 1 } }, { jobId: `job-${i}` }),
      );
      await cluster.time.pass(0);
      expect(cluster.watchers.stats()).toMatchObject({ watched: 20, timers: 20, timersArmed: 20, allocationReads: 10 });
      expect(cluster.watchers.stats()).toMatchObject({ readersWaiting: 10, batchesWritten: 0, evaluationsWritten: 0 });
      await cluster.time.pass(1_000);
      const waited = cluster.watchers.stats();
      expect(waited).toMatchObject({ readersWaiting: 0, allocationReads: 20 });
      expect(waited['readWaitMs']).toBeGreaterThanOrEqual(1_000); // 100 to 1,000 ms each
      for (const rollout of rollouts.slice(0, 5)) rollout.report(true, rollout.allocs[0]);
      await cluster.time.pass(600);
      expect(cluster.watchers.stats()['updatesWaiting']).toBe(5);
      await cluster.time.pass(5_000);
      const { updatesWaiting, batchesWritten, evaluationsWritten } = cluster.watchers.stats();
      const batches = cluster.written('AllocUpdateDesiredTransition');
      expect({ updatesWaiting, batchesWritten }).toEqual({ updatesWaiting: 0, batchesWritten: batches.length });
      expect(evaluationsWritten).toBe(5);
      expect(batches.length).toBeLessThan(5);
      cluster.state.failure = new Error('the log is gone');
      await cluster.time.pass(600_000);
      expect(cluster.watchers.stats()['statusWriteRetries']).toBeGreaterThanOrEqual(15);
    },
  );

  it(
    'DP-E01: with a thousand of them a health change leads to its evaluation within 5 s',
    { timeout: 60_000 },
    async () => {
      const cluster = new WatchedCluster();
      const rollouts = Array.from({ length: 1_000 }, (_, i) =>
        cluster.rollout({ web: { placed: 1 } }, { jobId: `job-${i}` }),
      );
      cluster.lead();
      await cluster.time.pass(0); // most of them still wait for their first look
      const last = rollouts.at(-1)!;
      last.report(true, last.allocs[0]);
      await cluster.time.pass(5_000);
      expect(last.evaluations).toHaveLength(1);
    },
  );

  it(
    'DP-612: reads are paced, none is lost, each waits once and in order; stopping ends the wait',
    { timeout: 60_000 },
    async () => {
      const time = new FakeTime();
      const limiter = new ReadLimiter({ clock: time, timers: time }, 10);
      const read: number[] = [];
      const readers = Array.from({ length: 30 }, (_, i) => ({ readAllocations: () => void read.push(i) }));
      for (const reader of [...readers, ...readers]) limiter.requestRead(reader);
      await time.pass(0);
      expect(read).toHaveLength(10);
      await time.pass(1_000);
      expect(read).toHaveLength(20);
      await time.pass(1_000);
      expect(read).toEqual(readers.map((_, i) => i));
      for (const reader of readers) limiter.requestRead(reader);
      limiter.stop();
      await time.pass(10_000);
      expect(read).toHaveLength(30);
      expect(time.pending).toBe(0);
    },
  );

  it('DP-612: a hundred per second unless said otherwise', { timeout: 60_000 }, () => {
    expect([readsPerSecond(0), readsPerSecond(7.5)]).toEqual([100, 7.5]);
  });
});
