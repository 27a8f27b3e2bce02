import type { Deployment, Evaluation, Job } from '@waybill/model';
import { newUuid } from '@waybill/service';
import { fixtures } from '@waybill/state';
import { eventually } from './wait.js';
import { nowNs, WrittenCluster } from './written-cluster.js';

const { aClientUpdate, aDeployment, aDeploymentState, anAlloc, aPlanResult } = fixtures;

/** A job that differs by its priority only. */
const jobOf = (id: string, priority: number) => ({
  ID: id,
  Type: 'service',
  Priority: priority,
  Datacenters: ['*'],
  Update: { MaxParallel: 1, Canary: 1, AutoRevert: true, ProgressDeadline: 0, MinHealthyTime: 1e9 },
  TaskGroups: [
    { Name: 'web', Count: 3, Tasks: [{ Name: 'web', Driver: 'raw_exec', Config: { command: '/bin/true' } }] },
  ],
});

/**
 * The API and the projector in one process, the watchers in another; a test is the scheduler and the machines, and writes their
 * transactions itself.
 */
export class WrittenRollouts extends WrittenCluster {
  static override async start(): Promise<WrittenRollouts> {
    return (await super.start(['projector', 'deployments', 'api'], ['deployments'])) as WrittenRollouts;
  }

  /** Version 0 stable, version 1 with a deployment and its first allocation, a canary. */
  async rollout(id: string, deploymentId = newUuid()): Promise<WrittenRollout> {
    await this.api.register(jobOf(id, 40));
    const stable = await this.put(`/v1/job/${id}/stable`, { JobID: id, JobVersion: 0, Stable: true });
    if (stable.status !== 200) throw new Error(stable.text);
    const { EvalID } = await this.api.register(jobOf(id, 60));
    const job = await eventually('the job is here', () => {
      const row = this.state.tables.jobs.get(`default/${id}`);
      return row?.Version === 1 && row;
    });
    const state = aDeploymentState({ DesiredTotal: 3, DesiredCanaries: 1, AutoRevert: true, ProgressDeadline: 0 });
    const deployment = aDeployment({
      ID: deploymentId,
      JobID: id,
      JobVersion: 1,
      JobCreateIndex: job.CreateIndex,
      StatusDescription: 'Deployment is running but requires manual promotion',
      TaskGroups: { web: state },
    });
    const canary = anAlloc({
      ID: newUuid(),
      EvalID,
      Job: job,
      DeploymentID: deployment.ID,
      DeploymentStatus: { Healthy: null, Timestamp: null, Canary: true, ModifyIndex: 0 },
    });
    const plan = { EvalID, Job: job, Deployment: deployment, AllocsUpdated: [canary], UpdatedAt: nowNs() };
    await this.write('ApplyPlanResults', aPlanResult(plan));
    const evaluation = this.state.tables.evals.get(EvalID);
    if (!evaluation) throw new Error(`no evaluation ${EvalID}`);
    const SnapshotIndex = this.state.appliedIndex;
    await this.write('EvalUpdate', { Evals: [{ ...evaluation, Status: 'complete', SnapshotIndex }] });
    const read = `/v1/deployment/${deployment.ID}`;
    await eventually('it can be read', async () => (await this.get(read)).status === 200);
    return new WrittenRollout(this, job, deployment.ID, canary);
  }
}

/** One of them, and what its machine may report. */
export class WrittenRollout {
  constructor(
    private readonly cluster: WrittenRollouts,
    readonly job: Job,
    readonly id: string,
    readonly canary: ReturnType<typeof anAlloc>,
  ) {}

  async report(Healthy: boolean): Promise<void> {
    const DeploymentStatus = { Healthy, Timestamp: new Date().toISOString() };
    await this.cluster.write('AllocClientUpdate', {
      Allocs: [aClientUpdate(this.canary, { ModifyTime: nowNs(), DeploymentStatus })],
      Evals: [],
    });
  }

  /** What watchers and commands asked for. */
  async evaluations(): Promise<Evaluation[]> {
    const all = await this.cluster.api.get<Evaluation[]>(`/v1/job/${this.job.ID}/evaluations`);
    return all.filter((evaluation) => evaluation.TriggeredBy === 'deployment-watcher');
  }

  read(): Promise<Deployment> {
    return this.cluster.api.get<Deployment>(`/v1/deployment/${this.id}`);
  }
}
