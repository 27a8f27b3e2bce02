import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { WatchedCluster } from './watched-rollout.fixture.js';

const { anEval } = fixtures;

/** Longer than both windows. */
const WINDOWS_MS = 1_300;

const LIMITED = {
  Attempts: 1,
  Interval: 3600e9,
  Delay: 1e9,
  DelayFunction: 'constant',
  MaxDelay: 0,
  Unlimited: false,
} as const;
const UNLIMITED = { ...LIMITED, Attempts: 0, Unlimited: true };

function leading(): WatchedCluster {
  const cluster = new WatchedCluster();
  cluster.lead();
  return cluster;
}

describe('what health leads to', () => {
  it('DP-705 DP-707 DP-712: healthy allocations within a second lead to one evaluation', async () => {
    const cluster = leading();
    const rollout = cluster.rollout({ web: { placed: 3 } });
    rollout.report(true, rollout.allocs[0]);
    await cluster.time.pass(500);
    rollout.report(true, rollout.allocs[1], rollout.allocs[2]);
    await cluster.time.pass(WINDOWS_MS);
    expect(rollout.evaluations).toHaveLength(1);
    expect(rollout.evaluations[0]).toMatchObject({
      Namespace: 'default',
      JobID: 'web',
      Type: 'service',
      TriggeredBy: 'deployment-watcher',
      DeploymentID: rollout.id,
      Status: 'pending',
      Priority: 50,
    });
    expect(rollout.evaluations[0]!.CreateTime).toBe(rollout.evaluations[0]!.ModifyTime);
    await cluster.time.pass(60_000);
    expect(rollout.evaluations).toHaveLength(1);
  });

  it('DP-705 DP-714: an evaluation that has seen it, or will, makes another needless', async () => {
    const cluster = leading();
    const rollout = cluster.rollout({ web: { placed: 1 } });
    rollout.report(true, rollout.allocs[0]);
    cluster.write('EvalUpdate', { Evals: [anEval({ ID: 'node-eval', TriggeredBy: 'node-update' })] });
    await cluster.time.pass(WINDOWS_MS);
    expect(rollout.evaluations).toHaveLength(0);
    expect(cluster.written('AllocUpdateDesiredTransition')).toHaveLength(0);
  });

  it.each([
    ['after', 0],
    ['before', 1],
  ] as const)(
    'DP-614: only its own allocations are compared with evaluations; one that ran %s them has seen them or not, whatever came since',
    async (order, evaluations) => {
      const cluster = leading();
      const rollout = cluster.rollout({ web: { placed: 2 } });
      const other = cluster.rollout({ web: { placed: 2 } }, { jobId: 'other' });
      const evaluates = () => {
        const SnapshotIndex = cluster.state.appliedIndex;
        cluster.write('EvalUpdate', { Evals: [anEval({ ID: 'ran', Status: 'complete', SnapshotIndex })] });
      };
      if (order === 'before') evaluates();
      rollout.report(true, rollout.allocs[0]);
      if (order === 'after') evaluates();
      other.report(true, other.allocs[0], other.allocs[1]); // the table of allocations is ahead now
      rollout.report(true, rollout.allocs[0]); // the same again: this deployment looks anew
      await cluster.time.pass(WINDOWS_MS);
      expect(rollout.evaluations.map((e) => e.JobID)).toEqual(Array(evaluations).fill('web'));
    },
  );

  it('DP-706 DP-E04: a blocked evaluation of the job withholds nothing', async () => {
    const cluster = leading();
    const rollout = cluster.rollout({ web: { placed: 0 }, api: { placed: 1 } });
    const SnapshotIndex = cluster.state.appliedIndex;
    cluster.write('EvalUpdate', { Evals: [anEval({ ID: 'blocked', Status: 'blocked', SnapshotIndex })] });
    rollout.report(true, rollout.allocs[0]);
    await cluster.time.pass(WINDOWS_MS);
    expect(rollout.evaluations).toHaveLength(1);
  });

  it('DP-708: deployments that are due together share a transaction', async () => {
    const cluster = leading();
    const rollouts = ['a', 'b', 'c'].map((jobId) => cluster.rollout({ web: { placed: 1 } }, { jobId }));
    for (const rollout of rollouts) {
      rollout.report(true, rollout.allocs[0]);
      await cluster.time.pass(50);
    }
    await cluster.time.pass(WINDOWS_MS);
    const batches = cluster.written('AllocUpdateDesiredTransition');
    expect(batches.map((batch) => batch.Evals.map((e) => e.JobID))).toEqual([['a', 'b', 'c']]);
  });

  it('DP-702: an unhealthy allocation that may be tried again gets its transition once, with an evaluation', async () => {
    const cluster = leading();
    const rollout = cluster.rollout({ web: { placed: 2, job: { ReschedulePolicy: UNLIMITED } } });
    rollout.report(false, rollout.allocs[0]);
    await cluster.time.pass(WINDOWS_MS);
    const [batch] = cluster.written('AllocUpdateDesiredTransition');
    expect(Object.keys(batch!.Transitions)).toEqual([rollout.allocs[0]!.ID]);
    expect(batch!.Transitions[rollout.allocs[0]!.ID]).toMatchObject({ Reschedule: true, Migrate: null });
    expect(batch!.Evals).toHaveLength(1);
    expect(rollout.deployment.Status).toBe('running');
    rollout.report(false, rollout.allocs[0]);
    await cluster.time.pass(WINDOWS_MS);
    expect(cluster.written('AllocUpdateDesiredTransition')).toHaveLength(1);
  });

  it('DP-701 DP-704 DP-802: without progress deadline the first unhealthy one fails it, and nothing else follows', async () => {
    const cluster = leading();
    const rollout = cluster.rollout({ web: { placed: 2, ProgressDeadline: 0, job: { ReschedulePolicy: UNLIMITED } } });
    rollout.report(true, rollout.allocs[0]);
    rollout.report(false, rollout.allocs[1]);
    await cluster.time.pass(WINDOWS_MS);
    expect(rollout.deployment).toMatchObject({
      Status: 'failed',
      StatusDescription: 'Failed due to unhealthy allocations',
    });
    expect(rollout.evaluations).toHaveLength(1);
    expect(cluster.written('AllocUpdateDesiredTransition')).toHaveLength(0);
  });

  it('DP-703 DP-E12: no policy, no attempts, or all used up: failed before the deadline', async () => {
    const used = {
      Events: [{ RescheduleTime: 0, PrevAllocID: 'x', PrevNodeID: 'y', Delay: 0 }],
      LastReschedule: 'ok' as const,
    };
    for (const [policy, usedUp] of [
      [null, false],
      [{ ...LIMITED, Attempts: 0 }, false],
      [LIMITED, true],
    ] as const) {
      const cluster = leading();
      const rollout = cluster.rollout({ web: { job: { ReschedulePolicy: policy } } });
      const events = used.Events.map((event) => ({ ...event, RescheduleTime: cluster.nowNs }));
      const RescheduleTracker = usedUp ? { ...used, Events: events } : null;
      const [alloc] = rollout.place('web', 1, { RescheduleTracker });
      rollout.report(false, alloc);
      await cluster.time.pass(1_000);
      expect(rollout.deployment.StatusDescription).toBe('Failed due to unhealthy allocations');
    }
  });

  it('DP-703: an attempt that is left, or was used before the interval, replaces it', async () => {
    const cluster = leading();
    const rollout = cluster.rollout({ web: { job: { ReschedulePolicy: LIMITED } } });
    const event = { RescheduleTime: cluster.nowNs - 3601e9, PrevAllocID: 'x', PrevNodeID: 'y', Delay: 0 };
    const [alloc] = rollout.place('web', 1, { RescheduleTracker: { Events: [event], LastReschedule: 'ok' } });
    rollout.report(false, alloc);
    await cluster.time.pass(WINDOWS_MS);
    expect(rollout.deployment.Status).toBe('running');
    expect(cluster.written('AllocUpdateDesiredTransition')).toHaveLength(1);
  });

  it('DP-614: a change of an allocation is read also if it leaves the deployment as it is', async () => {
    const cluster = leading();
    const rollout = cluster.rollout({ web: { placed: 1 } });
    await cluster.time.pass(WINDOWS_MS);
    const reads = (): number => cluster.watchers.stats()['allocationReads']!;
    const before = [reads(), rollout.deployment.ModifyIndex];
    const Allocs = [fixtures.aClientUpdate(rollout.allocs[0]!, { ClientStatus: 'failed' })];
    cluster.write('AllocClientUpdate', { Allocs, Evals: [] });
    await cluster.time.pass(WINDOWS_MS);
    expect([reads() - 1, rollout.deployment.ModifyIndex]).toEqual(before);
  });

  it('DP-709: a large batch is split, each deployment whole', async () => {
    const cluster = leading();
    const rollouts = ['a', 'b', 'c'].map((jobId) =>
      cluster.rollout({ web: { placed: 1_000, job: { ReschedulePolicy: UNLIMITED } } }, { jobId }),
    );
    for (const rollout of rollouts) rollout.report(false, ...rollout.allocs);
    await cluster.time.pass(WINDOWS_MS);
    const batches = cluster.written('AllocUpdateDesiredTransition');
    expect(batches.length).toBeGreaterThan(1);
    expect(batches.flatMap((batch) => batch.Evals.map((e) => e.JobID)).toSorted()).toEqual(['a', 'b', 'c']);
    for (const batch of batches) expect(Object.keys(batch.Transitions)).toHaveLength(batch.Evals.length * 1_000);
  });

  it('DP-606: a deployment whose job is unknown holds up no other one', async () => {
    const cluster = leading();
    const [gone, there] = ['gone', 'there'].map((jobId) => cluster.rollout({ web: { placed: 1 } }, { jobId }));
    for (const rollout of [gone!, there!]) rollout.report(true, rollout.allocs[0]);
    const { tables } = cluster.state;
    tables.job_version.replace(`default/gone@${gone!.job.Version}`, undefined);
    tables.jobs.replace('default/gone', undefined);
    await cluster.time.pass(WINDOWS_MS);
    const batches = cluster.written('AllocUpdateDesiredTransition');
    expect(batches.map((batch) => batch.Evals.map((e) => e.JobID))).toEqual([['there']]);
  });

  it('DP-613: a batch that cannot be written is written later', async () => {
    const cluster = leading();
    const rollout = cluster.rollout({ web: { placed: 1 } });
    rollout.report(true, rollout.allocs[0]);
    cluster.state.failure = new Error('the log is gone');
    await cluster.time.pass(5_000);
    expect(rollout.evaluations).toHaveLength(0);
    cluster.state.failure = undefined;
    await cluster.time.pass(31_000);
    expect(rollout.evaluations).toHaveLength(1);
  });
});
