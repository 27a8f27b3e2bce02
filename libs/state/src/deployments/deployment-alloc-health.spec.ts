import type { Allocation } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import type { TxnPayloads } from '../log/catalogue.js';
import { eventsOf } from '../events.js';
import { fixtures } from '../fixtures.js';

const {
  aClientUpdate,
  aDeployment,
  aJob,
  aMachine,
  anAlloc,
  anEval,
  aPlanResult,
  aRegisteredJob,
  aRegistration,
  apply,
  timeNs,
} = fixtures;
const LATER = timeNs + 60e9;

function rollout() {
  const machine = aMachine();
  const { job, evaluation } = aRegisteredJob(machine, aJob());
  const deployment = aDeployment({ JobCreateIndex: job.CreateIndex, JobVersion: job.Version });
  const AllocsUpdated = [1, 2].map(() => anAlloc({ Job: job, DeploymentID: deployment.ID }));
  const foreign = anAlloc({ Job: job });
  apply(
    machine,
    'ApplyPlanResults',
    aPlanResult({
      EvalID: evaluation.ID,
      Job: job,
      Deployment: deployment,
      AllocsUpdated: [...AllocsUpdated, foreign],
    }),
  );
  const set = (given: Partial<TxnPayloads['DeploymentAllocHealth']>) =>
    apply(machine, 'DeploymentAllocHealth', {
      DeploymentID: deployment.ID,
      HealthyAllocationIDs: [],
      UnhealthyAllocationIDs: [],
      Timestamp: LATER,
      DeploymentUpdate: null,
      Eval: null,
      Job: null,
      RevertSuffix: ' - rolling back to job version 0',
      SubmissionFrom: null,
      TrackedVersions: 6,
      ...given,
    });
  const [first, second] = AllocsUpdated as [Allocation, Allocation];
  const stored = () => machine.tables.deployment.get(deployment.ID)!;
  return { machine, job, deployment, first, second, foreign, set, stored };
}

describe('health set by a user', () => {
  it('ST-132: a canary stays one, whatever health it is given', () => {
    const { machine, job, deployment, set, stored } = rollout();
    const DeploymentStatus = { Healthy: null, Timestamp: null, Canary: true, ModifyIndex: 0 };
    const canary = anAlloc({ Job: job, DeploymentID: deployment.ID, DeploymentStatus });
    const [evaluation] = machine.tables.evals.by('job', 'default/web');
    apply(machine, 'ApplyPlanResults', aPlanResult({ EvalID: evaluation!.ID, Job: job, AllocsUpdated: [canary] }));
    const status = () => machine.tables.allocs.get(canary.ID)!.DeploymentStatus;
    set({ HealthyAllocationIDs: [canary.ID] });
    expect(status()).toMatchObject({ Healthy: true, Canary: true });
    set({ UnhealthyAllocationIDs: [canary.ID] });
    expect(status()).toMatchObject({ Healthy: false, Canary: true });
    expect(stored().TaskGroups['web']!.PlacedCanaries).toEqual([canary.ID]);
  });

  it('API-213, ST-131 DP-907: an unknown or foreign allocation refuses all of it', () => {
    const { machine, deployment, first, foreign, set, stored } = rollout();
    const before = stored();
    expect(set({ HealthyAllocationIDs: [first.ID, 'nobody'] }).verdict).toEqual({
      kind: 'refused',
      code: 'not-found',
      error: 'unknown alloc "nobody"',
    });
    expect(set({ HealthyAllocationIDs: [first.ID], UnhealthyAllocationIDs: [foreign.ID] }).verdict).toEqual({
      kind: 'refused',
      code: 'invalid',
      error: `alloc "${foreign.ID}" is not part of deployment "${deployment.ID}"`,
    });
    expect(stored()).toBe(before);
    expect(machine.tables.allocs.get(first.ID)!.DeploymentStatus).toBeNull();
  });

  it('ST-123, ST-131: that the deployment is over or missing is said first', () => {
    const { set, foreign } = rollout();
    expect(set({ DeploymentID: 'gone', HealthyAllocationIDs: [foreign.ID] }).verdict).toMatchObject({
      code: 'not-found',
      error: 'Deployment ID "gone" couldn\'t be updated as it does not exist',
    });
  });

  it('ST-131 DP-908: health, times and counters; AllocModifyIndex stays; healthy before unhealthy', () => {
    const { machine, first, second, set, stored } = rollout();
    const before = machine.tables.allocs.get(first.ID)!;
    const { index } = set({ HealthyAllocationIDs: [first.ID, second.ID], UnhealthyAllocationIDs: [second.ID] });
    expect(machine.tables.allocs.get(first.ID)).toMatchObject({
      DeploymentStatus: { Healthy: true, Timestamp: '2026-01-01T00:01:00.000Z', Canary: false, ModifyIndex: index },
      ModifyIndex: index,
      ModifyTime: LATER,
      AllocModifyIndex: before.AllocModifyIndex,
    });
    expect(machine.tables.allocs.get(second.ID)!.DeploymentStatus!.Healthy).toBe(false);
    expect(stored().TaskGroups['web']).toMatchObject({
      HealthyAllocs: 1,
      UnhealthyAllocs: 1,
      RequireProgressBy: '2026-01-01T00:11:00.000Z',
    });
    expect(stored()).toMatchObject({ ModifyIndex: index, ModifyTime: LATER });
  });

  it('DP-911: what the agent reported counts once, in either order', () => {
    for (const agentFirst of [true, false]) {
      const { machine, first, set, stored } = rollout();
      const report = () =>
        apply(machine, 'AllocClientUpdate', {
          Allocs: [
            aClientUpdate(first, { DeploymentStatus: { Healthy: true, Timestamp: '2026-01-01T00:00:10.000Z' } }),
          ],
          Evals: [],
        });
      if (agentFirst) report();
      set({ HealthyAllocationIDs: [first.ID] });
      if (!agentFirst) report();
      expect(stored().TaskGroups['web']!.HealthyAllocs).toBe(1);
    }
  });

  it('ST-132 DP-909: the failure keeps the counters, brings the old version back and asks for an evaluation', () => {
    const { machine, job, first, deployment, set, stored } = rollout();
    const Eval = anEval();
    const DeploymentUpdate = {
      DeploymentID: deployment.ID,
      Status: 'failed' as const,
      StatusDescription: 'Failed due to unhealthy allocations',
    };
    const { index } = set({
      UnhealthyAllocationIDs: [first.ID],
      DeploymentUpdate,
      Eval,
      Job: { ...job, Priority: 70 },
    });
    expect(stored()).toMatchObject({
      Status: 'failed',
      StatusDescription: 'Failed due to unhealthy allocations - rolling back to job version 0',
      TaskGroups: { web: { UnhealthyAllocs: 1, PlacedAllocs: 2 } },
    });
    expect(machine.tables.jobs.get('default/web')).toMatchObject({ Version: 1, Priority: 70, ModifyIndex: index });
    expect(machine.tables.evals.has(Eval.ID)).toBe(true);
    expect(set({ HealthyAllocationIDs: [first.ID] }).verdict).toMatchObject({
      error: `Deployment "${deployment.ID}" has terminal status "failed":`,
    });
  });

  it('DP-810 DP-E17: a newer registration wins over the revert', () => {
    const { machine, job, first, deployment, set, stored } = rollout();
    apply(machine, 'JobRegister', aRegistration(aJob({ Priority: 60 })));
    const StatusDescription = 'Failed due to unhealthy allocations';
    const DeploymentUpdate = { DeploymentID: deployment.ID, Status: 'failed' as const, StatusDescription };
    set({ UnhealthyAllocationIDs: [first.ID], DeploymentUpdate, Job: job });
    expect(stored().StatusDescription).toBe(StatusDescription);
    expect(machine.tables.jobs.get('default/web')).toMatchObject({ Version: 1, Priority: 60 });
  });

  it('EV-5 DP-1304: two allocations are three events, the evaluation one more', () => {
    const { first, second, set } = rollout();
    const both = { HealthyAllocationIDs: [first.ID, second.ID] };
    const topics = (applied: ReturnType<typeof set>) =>
      eventsOf(applied)!
        .Events.map((e) => e.Topic)
        .toSorted();
    expect(topics(set(both))).toEqual(['Allocation', 'Allocation', 'Deployment']);
    const other = rollout();
    const ids = { HealthyAllocationIDs: [other.first.ID, other.second.ID] };
    const applied = other.set({ ...ids, Eval: anEval() });
    expect(topics(applied)).toEqual(['Allocation', 'Allocation', 'Deployment', 'Evaluation']);
    expect(eventsOf(applied)!.Events.every((e) => e.Type === 'DeploymentAllocHealth')).toBe(true);
  });
});
