import type { Deployment, DeploymentStatus, Job } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import type { TxnPayloads } from '../log/catalogue.js';
import { fixtures } from '../fixtures.js';

const {
  aDeployment,
  aDeploymentState,
  aJob,
  aMachine,
  anEval,
  aPlanResult,
  aRegisteredJob,
  aRegistration,
  apply,
  timeNs,
} = fixtures;

function cluster(over: Partial<Deployment> = {}, given: Job = aJob()) {
  const machine = aMachine();
  const { job, evaluation } = aRegisteredJob(machine, given);
  const planned = aDeployment({ JobVersion: job.Version, JobCreateIndex: job.CreateIndex, ...over });
  apply(machine, 'ApplyPlanResults', aPlanResult({ EvalID: evaluation.ID, Deployment: planned }));
  const update = (Status: DeploymentStatus, more: Partial<TxnPayloads['DeploymentStatusUpdate']> = {}) =>
    apply(machine, 'DeploymentStatusUpdate', {
      Update: { DeploymentID: planned.ID, Status, StatusDescription: `now ${Status}` },
      UpdatedAt: timeNs + 60e9,
      Eval: null,
      Job: null,
      RevertSuffix: ' - rolling back to job version 0',
      TrackedVersions: 6,
      ...more,
    });
  const stored = () => machine.tables.deployment.get(planned.ID)!;
  return { machine, job, planned, update, stored };
}

describe('deployment status', () => {
  it('ST-123 DP-202 DP-203: a missing or terminal deployment refuses the whole transaction', () => {
    for (const terminal of ['successful', 'failed', 'cancelled'] as const) {
      const { machine, update, planned } = cluster();
      update(terminal);
      const Eval = anEval();
      expect(update('running', { Eval }).verdict).toEqual({
        kind: 'refused',
        code: 'conflict',
        error: `Deployment "${planned.ID}" has terminal status "${terminal}":`,
      });
      expect(machine.tables.evals.has(Eval.ID)).toBe(false);
    }
    const gone = { DeploymentID: 'gone', Status: 'paused' as const, StatusDescription: '' };
    expect(cluster().update('paused', { Update: gone }).verdict).toEqual({
      kind: 'refused',
      code: 'not-found',
      error: 'Deployment ID "gone" couldn\'t be updated as it does not exist',
    });
  });

  it('API-215, ST-124 DP-205 DP-206: status, description and time; a fresh deadline when it runs or pauses', () => {
    const TaskGroups = {
      web: aDeploymentState({ ProgressDeadline: 600e9 }),
      api: aDeploymentState({ ProgressDeadline: 0 }),
    };
    const { update, stored } = cluster({ TaskGroups });
    const { index } = update('paused');
    expect(stored()).toMatchObject({
      Status: 'paused',
      StatusDescription: 'now paused',
      ModifyIndex: index,
      ModifyTime: timeNs + 60e9,
    });
    expect(stored().TaskGroups['web']!.RequireProgressBy).toBe('2026-01-01T00:11:00.000Z');
    expect(stored().TaskGroups['api']!.RequireProgressBy).toBeNull();
    update('running', { UpdatedAt: timeNs + 120e9 });
    expect(stored().TaskGroups['web']!.RequireProgressBy).toBe('2026-01-01T00:12:00.000Z');
    update('failed', { UpdatedAt: timeNs + 180e9 });
    expect(stored().TaskGroups['web']!.RequireProgressBy).toBe('2026-01-01T00:12:00.000Z');
  });

  it('ST-125 DP-207: only success marks the version as stable, and DP-1118: only a part of a multiregion rollout has run', () => {
    for (const status of ['running', 'paused', 'failed', 'cancelled', 'successful'] as const) {
      const { machine, update, stored } = cluster();
      update(status);
      expect(machine.tables.jobs.get('default/web')!.Stable, status).toBe(status === 'successful');
      expect(stored()).not.toHaveProperty('HasRun');
      const region = cluster({ IsMultiregion: true });
      region.update(status);
      expect(region.stored().HasRun, status).toBe(status === 'running' ? true : undefined);
    }
  });

  it('ST-126 ST-58 DP-810: a revert is a new version with the text of its target', () => {
    const { machine, job, update, stored } = cluster();
    const Submission = {
      Source: 'v0',
      Format: 'hcl2',
      VariableFlags: null,
      Variables: '',
      Namespace: 'default',
      JobID: 'web',
      Version: 0,
      JobModifyIndex: 0,
    };
    machine.tables.job_submission.replace('default/web@0', Submission);
    const Eval = anEval();
    const { index } = update('failed', { Job: { ...job, Priority: 70 }, Eval, SubmissionFrom: 0 });
    expect(stored().StatusDescription).toBe('now failed - rolling back to job version 0');
    expect(machine.tables.jobs.get('default/web')).toMatchObject({
      Version: 1,
      Priority: 70,
      JobModifyIndex: index,
      Status: 'pending',
    });
    expect(machine.tables.job_submission.get('default/web@1')!.Source).toBe('v0');
    expect(machine.tables.evals.get(Eval.ID)!.ModifyIndex).toBe(index);
  });

  it('ST-126 DP-810: a newer registration is never overwritten, the evaluation is written all the same', () => {
    const { machine, job, update, stored } = cluster();
    apply(machine, 'JobRegister', aRegistration(aJob({ Priority: 60 })));
    const current = machine.tables.jobs.get('default/web');
    const Eval = anEval();
    update('failed', { Job: job, Eval });
    expect(stored().StatusDescription).toBe('now failed');
    expect(machine.tables.jobs.get('default/web')).toBe(current);
    expect(machine.tables.evals.has(Eval.ID)).toBe(true);
  });
});
