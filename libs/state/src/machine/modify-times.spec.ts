import type { Deployment, DeploymentStatus } from '@waybill/model';
import { beforeEach, describe, expect, it } from 'vitest';
import { fixtures } from '../fixtures.js';
import type { StateMachine } from './state-machine.js';

const { aDeployment, aDeploymentState, anAlloc, apply, timeNs } = fixtures;
const AT = timeNs + 60e9;

let machine: StateMachine;
let deployment: Deployment;

beforeEach(() => {
  machine = fixtures.aMachine();
  deployment = aDeployment({
    ModifyTime: 1,
    TaskGroups: { web: aDeploymentState({ DesiredCanaries: 0, DesiredTotal: 1 }) },
  });
  machine.tables.deployment.replace(deployment.ID, deployment);
});

const modifyTime = (): number => machine.tables.deployment.get(deployment.ID)!.ModifyTime;

/** Collection goes by these times: without them it would take a record too early. */
describe('a deployment that is written knows when', () => {
  it.each<DeploymentStatus>(['paused', 'running', 'failed', 'cancelled', 'successful', 'blocked'])(
    'GC-16, DP-1402: as it becomes %s',
    (Status) => {
      const Update = { DeploymentID: deployment.ID, Status, StatusDescription: '' };
      const rest = { Eval: null, Job: null, RevertSuffix: '', TrackedVersions: 6 };
      apply(machine, 'DeploymentStatusUpdate', { Update, UpdatedAt: AT, ...rest });
      expect(modifyTime()).toBe(AT);
    },
  );

  it('GC-16, DP-1402: as it is promoted', () => {
    const promotion = { DeploymentID: deployment.ID, All: true, Groups: [], PromotedAt: AT, Eval: null };
    expect(apply(machine, 'DeploymentPromote', promotion).verdict.kind).toBe('accepted');
    expect(modifyTime()).toBe(AT);
  });

  it('GC-16, DP-1402: as the health of an allocation is decided', () => {
    const alloc = anAlloc({ DeploymentID: deployment.ID });
    machine.tables.allocs.replace(alloc.ID, alloc);
    const health = {
      DeploymentID: deployment.ID,
      HealthyAllocationIDs: [alloc.ID],
      UnhealthyAllocationIDs: [],
      Timestamp: AT,
      DeploymentUpdate: null,
      Eval: null,
      Job: null,
      RevertSuffix: '',
      SubmissionFrom: null,
      TrackedVersions: 6,
    };
    expect(apply(machine, 'DeploymentAllocHealth', health).verdict.kind).toBe('accepted');
    expect(modifyTime()).toBe(AT);
    expect(machine.tables.allocs.get(alloc.ID)!.ModifyTime).toBe(AT);
  });
});
