import type { Job } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { fixtures } from '../fixtures.js';
import { versionsOf } from './job-versions.js';
import type { StateMachine } from '../machine/state-machine.js';
import { Write } from '../machine/write.js';

const { aDeployment, aJob, aMachine, aPlanResult, aRegisteredJob, aRegistration, apply, timeNs } = fixtures;
const register = (machine: StateMachine, job: Partial<Job> = {}, TrackedVersions = 6) =>
  apply(machine, 'JobRegister', aRegistration(aJob(job), { TrackedVersions }));
const kept = (machine: StateMachine) =>
  versionsOf(new Write(machine.tables, 0, 0), 'default', 'web').map((row) => row.Version);

/** Puts a tag on a stored version, as its transaction will. */
function tag(machine: StateMachine, version: number) {
  const key = `default/web@${version}`;
  const row = machine.tables.job_version.get(key)!;
  machine.tables.job_version.replace(key, {
    ...row,
    VersionTag: { Name: `v${version}`, Description: '', TaggedTime: 1 },
  });
}

describe('job versions', () => {
  it('API-160, ST-84 ST-179 DP-951: the newest untagged versions are kept, tagged ones always', () => {
    const machine = aMachine();
    register(machine);
    tag(machine, 0);
    for (let version = 1; version <= 7; version++) register(machine);
    expect(kept(machine)).toEqual([7, 6, 5, 4, 3, 2, 0]);
    register(machine, {}, 3);
    expect(kept(machine)).toEqual([8, 7, 6, 0]);
  });

  it('ST-84 ST-179 DP-952: the newest stable version is never dropped, and a stopped one is no stable one', () => {
    const machine = aMachine();
    register(machine, { Stable: true });
    for (let version = 1; version <= 3; version++) register(machine, {}, 3);
    expect(kept(machine)).toEqual([3, 2, 0]);
    register(machine, { Stable: true, Stop: true }, 3);
    expect(kept(machine)).toEqual([4, 3, 0]);
    register(machine, { Stable: true }, 3);
    expect(kept(machine)).toEqual([5, 4, 3]);
    register(machine, {}, 1);
    expect(kept(machine)).toEqual([6, 5]);
  });

  it('ST-84: the oldest go first, in whatever order the table has them', () => {
    const machine = aMachine();
    for (let version = 0; version <= 3; version++) register(machine);
    const { job_version } = machine.tables;
    const [oldest] = [...job_version.all()];
    job_version.replace('default/web@0', undefined);
    job_version.replace('default/web@0', oldest);
    register(machine, {}, 4);
    expect(kept(machine)).toEqual([4, 3, 2, 1]);
  });

  it('ST-85: versions are listed newest first', () => {
    const machine = aMachine();
    for (let version = 0; version <= 3; version++) register(machine);
    expect(kept(machine)).toEqual([3, 2, 1, 0]);
  });

  it('ST-86: submissions are bounded by the same number, newest first', () => {
    const machine = aMachine();
    for (let version = 0; version <= 4; version++) {
      const Submission = {
        Source: `v${version}`,
        Format: 'hcl2',
        VariableFlags: null,
        Variables: '',
        Namespace: 'default',
        JobID: 'web',
        Version: version,
        JobModifyIndex: 0,
      };
      const given = version === 3 ? null : Submission;
      apply(machine, 'JobRegister', aRegistration(aJob(), { Submission: given, TrackedVersions: 2 }));
    }
    const sources = [...machine.tables.job_submission.by('job', 'default/web')].map((row) => row.Source);
    expect(sources.toSorted()).toEqual(['v2', 'v4']);
  });

  it('a new version carries no tag', () => {
    const machine = aMachine();
    register(machine, { VersionTag: { Name: 'x', Description: '', TaggedTime: 1 } });
    expect(machine.tables.jobs.get('default/web')!.VersionTag).toBeNull();
  });
});

describe('stability', () => {
  function deployed(machine: StateMachine) {
    const { job, evaluation } = aRegisteredJob(machine);
    const deployment = aDeployment({ JobCreateIndex: job.CreateIndex, JobVersion: job.Version });
    apply(machine, 'ApplyPlanResults', aPlanResult({ EvalID: evaluation.ID, Deployment: deployment }));
    const succeed = () =>
      apply(machine, 'DeploymentStatusUpdate', {
        Update: { DeploymentID: deployment.ID, Status: 'successful', StatusDescription: 'done' },
        UpdatedAt: timeNs,
        Eval: null,
        Job: null,
        RevertSuffix: '',
        TrackedVersions: 6,
      });
    return { job, succeed };
  }

  it('ST-87 ST-125: a successful deployment marks its version stable without a new version', () => {
    const machine = aMachine();
    const { job, succeed } = deployed(machine);
    const { index } = succeed();
    expect(machine.tables.jobs.get('default/web')).toMatchObject({
      Stable: true,
      ModifyIndex: index,
      Version: job.Version,
      JobModifyIndex: job.JobModifyIndex,
    });
    expect(machine.tables.job_version.get('default/web@0')!.Stable).toBe(true);
  });

  it('ST-87 DP-954: marking an older version leaves the current job alone', () => {
    const machine = aMachine();
    const { succeed } = deployed(machine);
    register(machine, { Priority: 70 });
    const current = machine.tables.jobs.get('default/web')!;
    succeed();
    expect(machine.tables.job_version.get('default/web@0')!.Stable).toBe(true);
    expect(machine.tables.jobs.get('default/web')).toBe(current);
    expect(machine.tables.job_version.get('default/web@1')!.Stable).toBe(false);
  });

  it('ST-87: a version that is no longer stored is no error', () => {
    const machine = aMachine();
    const { succeed } = deployed(machine);
    for (let version = 1; version <= 2; version++) register(machine, {}, 1);
    expect(succeed().verdict.kind).toBe('accepted');
    expect(machine.tables.job_version.has('default/web@0')).toBe(false);
  });
});
