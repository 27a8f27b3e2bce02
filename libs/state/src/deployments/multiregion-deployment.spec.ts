import { describe, expect, it } from 'vitest';
import type { Deployment } from '@waybill/model';
import type { TxnPayloads } from '../log/catalogue.js';
import { fixtures } from '../fixtures.js';
import type { Applied } from '../machine/state-machine.js';

const { aDeployment, aDeploymentState, aJob, aMachine, anEval, aPlanResult, aRegistration, apply } = fixtures;

class Region {
  readonly machine = aMachine();

  write<T extends keyof TxnPayloads>(type: T, payload: TxnPayloads[T]): Applied {
    return apply(this.machine, type, payload, { namespace: 'default', timeNs: (this.machine.appliedIndex + 1) * 1e9 });
  }

  register(id: string, over: { version?: number; spec?: string } = {}): Applied {
    const job = aJob({ Version: over.version ?? 0, Meta: { spec: over.spec ?? id } });
    const Deployment = begun(id);
    return this.write('JobRegister', aRegistration(job, { Eval: anEval({ ID: `eval-${id}` }), Deployment }));
  }

  status(DeploymentID: string, Status: Deployment['Status']): Applied {
    const Update = { DeploymentID, Status, StatusDescription: '' };
    const none = { Eval: null, Job: null, RevertSuffix: '', TrackedVersions: 6 };
    return this.write('DeploymentStatusUpdate', { Update, UpdatedAt: 1e9, ...none });
  }

  planned(DeploymentID: string, Status: Deployment['Status'], Planned: Deployment | null = null): Applied {
    const DeploymentUpdates = [{ DeploymentID, Status, StatusDescription: '' }];
    return this.write('ApplyPlanResults', aPlanResult({ Deployment: Planned, DeploymentUpdates, EvalID: 'eval-d1' }));
  }

  deployment(id: string): Deployment {
    return this.machine.tables.deployment.get(id)!;
  }
}

const begun = (ID: string): Deployment =>
  aDeployment({ ID, Status: 'initializing', StatusDescription: 'waits', IsMultiregion: true, TaskGroups: {} });

describe("a region's part of a multiregion rollout", () => {
  it('API-216, ST-61, ST-62, DP-1107: job, evaluation and deployment begin together; the one before is cancelled', () => {
    const region = new Region();
    region.register('d1', { version: 4 });
    const second = region.register('d2', { version: 7 });
    expect(region.deployment('d1')).toMatchObject({
      Status: 'cancelled',
      StatusDescription: 'Cancelled due to newer version of job',
      ModifyTime: second.index * 1e9,
    });
    const { CreateIndex, JobModifyIndex } = region.machine.tables.jobs.get('default/web')!;
    expect(region.deployment('d2')).toMatchObject({
      Status: 'initializing',
      IsMultiregion: true,
      JobID: 'web',
      JobVersion: 7,
      JobCreateIndex: CreateIndex,
      JobSpecModifyIndex: JobModifyIndex,
      CreateIndex: second.index,
    });
    expect(region.machine.tables.evals.get('eval-d2')).toMatchObject({
      DeploymentID: 'd2',
      JobModifyIndex: second.index,
    });
  });

  it('ST-61: only the newest one before it is cancelled, in whatever order the table has them', () => {
    for (const isReordered of [false, true]) {
      const region = new Region();
      region.register('d1');
      region.register('d2');
      const { deployment } = region.machine.tables;
      const [older, newer] = ['d1', 'd2'].map((id) => ({ ...region.deployment(id), Status: 'running' as const }));
      for (const row of [older!, newer!]) deployment.replace(row.ID, row);
      if (isReordered) {
        deployment.replace('d1', undefined);
        deployment.replace('d1', older);
      }
      region.register('d3');
      expect([region.deployment('d1').Status, region.deployment('d2').Status]).toEqual(['running', 'cancelled']);
    }
  });

  it('ST-61: one before it that is over stays as it ended', () => {
    const region = new Region();
    region.register('d1');
    region.status('d1', 'failed');
    const ended = region.deployment('d1');
    region.register('d2');
    expect(region.deployment('d1')).toBe(ended);
  });

  it('DP-129: its job is running, though nothing was placed', () => {
    const region = new Region();
    region.register('d1');
    expect(region.machine.tables.jobs.get('default/web')!.Status).toBe('running');
  });

  it('DP-1118: whether it ever ran stays with it, whatever a plan from before says', () => {
    const region = new Region();
    region.register('d1');
    region.planned('d1', 'pending', begun('d1'));
    region.status('d1', 'paused');
    expect(region.deployment('d1').HasRun ?? false).toBe(false);
    region.status('d1', 'running');
    region.status('d1', 'paused');
    region.planned('d1', 'pending', { ...begun('d1'), TaskGroups: { web: aDeploymentState() } });
    expect(region.deployment('d1')).toMatchObject({ HasRun: true, Status: 'paused' });
  });

  it.each([
    ['initializing', 'pending', 'pending'],
    ['running', 'pending', 'running'],
    ['paused', 'pending', 'paused'],
    ['running', 'blocked', 'blocked'],
    ['pending', 'blocked', 'pending'],
    ['unblocking', 'blocked', 'unblocking'],
    ['successful', 'blocked', 'successful'],
    ['unblocking', 'cancelled', 'cancelled'],
  ] as const)('DP-201, DP-1122: %s, and a plan that says %s: %s', (before, planned, after) => {
    const region = new Region();
    region.register('d1');
    if (before !== 'initializing') region.status('d1', before);
    expect(region.planned('d1', planned).verdict.kind).toBe('accepted');
    expect(region.deployment('d1').Status).toBe(after);
  });
});
