import type { Job } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { autoRevert } from './auto-revert.js';
import { rolledOutJob, watcherEvaluation } from './rolled-out-job.js';
import { WatchedCluster } from './watched-rollout.fixture.js';

const { aDeployment, aJob } = fixtures;

describe('the job of a deployment', () => {
  it('DP-607: is the version it rolls out, whatever is registered since', () => {
    const cluster = new WatchedCluster();
    const rollout = cluster.rollout({ web: {} });
    cluster.register(aJob({ Priority: 90 }));
    expect(rolledOutJob(cluster.state.tables, rollout.deployment)).toMatchObject({ Version: 0, Priority: 50 });
  });

  it('DP-606: one whose job is gone, or another job of that name, is told', () => {
    const cluster = new WatchedCluster();
    const { tables } = cluster.state;
    const orphan = aDeployment({ ID: 'd', JobID: 'web' });
    expect(() => rolledOutJob(tables, orphan)).toThrow('deployment "d" references unknown job "web"');
    cluster.register(aJob());
    expect(() => rolledOutJob(tables, { ...orphan, JobCreateIndex: 1 })).toThrow('unknown job');
  });

  it("DP-712 DP-112: the deployment's priority, or the job's if it has none", () => {
    const cluster = new WatchedCluster();
    const { deployment } = cluster.rollout({ web: {} }, { job: { Priority: 70 } });
    const priority = (EvalPriority: number) =>
      watcherEvaluation(cluster.state.tables, { ...deployment, EvalPriority }, 'e', 1).Priority;
    expect([priority(30), priority(0)]).toEqual([30, 70]);
  });

  it('EB-24: an evaluation of the watcher is linked to no other', () => {
    const cluster = new WatchedCluster();
    const { deployment } = cluster.rollout({ web: {} });
    const made = watcherEvaluation(cluster.state.tables, deployment, 'e', 1);
    expect(made).toMatchObject({ TriggeredBy: 'deployment-watcher', DeploymentID: deployment.ID });
    expect([made.PreviousEval, made.NextEval, made.BlockedEval]).toEqual(['', '', '']);
  });

  it('DP-807: a tag, an index or the time of submission is no difference', () => {
    const cluster = new WatchedCluster();
    const stable = cluster.register(aJob());
    cluster.write('JobStability', { JobID: 'web', JobVersion: 0, Stable: true });
    const rollout = cluster.rollout({ web: { job: stable.TaskGroups[0]! } }, { job: { SubmitTime: 99 } });
    expect(rollout.job.Version).toBe(1);
    const { job_version: versions } = cluster.state.tables;
    const VersionTag = { Name: 'good', Description: '', TaggedTime: 1 };
    versions.replace('default/web@0', { ...versions.get('default/web@0')!, VersionTag });
    expect(autoRevert(cluster.state.tables, rollout.deployment)).toMatchObject({ version: null });
  });

  it('DP-615 DP-713: the first look waits for no change', async () => {
    const cluster = new WatchedCluster();
    const rollout = cluster.rollout({ web: { placed: 1 } });
    rollout.report(true, rollout.allocs[0]);
    cluster.lead();
    await cluster.time.pass(2_000);
    expect(rollout.evaluations).toHaveLength(1);
  });
});

describe('the version to go back to', () => {
  const revert = (versions: Partial<Job>[]) => {
    const { tables } = fixtures.aMachine();
    const base = { CreateIndex: 4, Stable: true };
    for (const over of [...versions, { Version: 9, Priority: 90, Stable: false }]) {
      const job = aJob({ ...base, ...over });
      tables.job_version.replace(`default/web@${job.Version}`, job);
    }
    const deployment = aDeployment({ JobVersion: 9, JobCreateIndex: 4 });
    return autoRevert(tables, deployment);
  };

  it('DP-804: the newest stable one, in whatever order they are stored', () => {
    const versions = [1, 3, 2].map((Version) => ({ Version, Priority: Version }));
    for (const order of [versions, versions.toReversed()]) expect(revert(order).version).toBe(3);
  });

  it('DP-804: neither one that is not stable, or stopped, nor one of an earlier job of that name', () => {
    const good = { Version: 1, Priority: 1 };
    expect(revert([good, { Version: 2, Stable: false }]).version).toBe(1);
    expect(revert([good, { Version: 3, Stop: true }]).version).toBe(1);
    expect(revert([good, { Version: 4, CreateIndex: 2 }]).version).toBe(1);
    expect(revert([])).toMatchObject({ version: null, remark: ' - no stable job version to auto revert to' });
  });

  it('DP-805, DP-806: the job comes back without its tag; what is the same already does not', () => {
    const VersionTag = { Name: 'good', Description: '', TaggedTime: 1 };
    expect(revert([{ Version: 2, Priority: 20, VersionTag }])).toMatchObject({
      payload: {
        Job: { Version: 2, Priority: 20, VersionTag: null },
        RevertSuffix: ' - rolling back to job version 2',
        SubmissionFrom: 2,
      },
      remark: '',
      version: 2,
    });
    expect(revert([{ Version: 2, Priority: 90 }])).toMatchObject({
      payload: { Job: null, RevertSuffix: '', SubmissionFrom: null },
      remark: ' - not rolling back to stable job version 2 as current job has same specification',
      version: null,
    });
  });
});
