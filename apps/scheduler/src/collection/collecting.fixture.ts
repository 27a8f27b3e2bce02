import {
  coreEvaluation,
  rfc3339FromNs,
  SimulatedTime,
  type AclToken,
  type Allocation,
  type CoreTask,
  type CSIPlugin,
  type CSIVolume,
  LOOK_AT_VOLUME,
  type Deployment,
  type Evaluation,
  type Job,
  type Node,
} from '@waybill/model';
import type { Reap } from '@waybill/rpc';
import { fixtures, type Applied, type StateMachine } from '@waybill/state';
import { runCoreTask, type CoreSchedulerDeps } from './core-scheduler.js';
import { DEFAULT_THRESHOLDS } from './thresholds.js';

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;

/**
 * A state with records of any age, for tests, and the core scheduler over it. What it asks to be deleted is recorded,
 * and deleted as the broker would.
 */
export class CollectingFixture {
  readonly state: StateMachine = fixtures.aMachine();
  readonly time = new SimulatedTime();
  readonly reaps: Reap[] = [];
  readonly applied: Applied[] = [];
  /** How often the collection let other work of its process run. */
  rests = 0;
  /** Something that happens between the look and a deletion. */
  before: (reap: Reap) => void = () => {};

  get tables() {
    return this.state.tables;
  }

  /** Unix ns so many milliseconds ago. */
  ago(ms: number): number {
    return (this.time.nowMs() - ms) * 1e6;
  }

  /** Running and old, unless it says otherwise. */
  job(over: Partial<Job> = {}): Job {
    const job = fixtures.aJob({
      Status: 'running',
      SubmitTime: this.ago(100 * HOUR_MS),
      CreateIndex: 1,
      ModifyIndex: 1,
      JobModifyIndex: 1,
      ...over,
    });
    this.tables.jobs.replace(`${job.Namespace}/${job.ID}`, job);
    this.tables.job_version.replace(`${job.Namespace}/${job.ID}@${job.Version}`, job);
    return job;
  }

  /** Complete and old, unless it says otherwise. */
  evaluation(job: Pick<Job, 'ID' | 'Type'>, over: Partial<Evaluation> = {}): Evaluation {
    const evaluation = fixtures.anEval({
      JobID: job.ID,
      Type: job.Type,
      Status: 'complete',
      ModifyTime: this.ago(100 * HOUR_MS),
      ModifyIndex: 1,
      ...over,
    });
    this.tables.evals.replace(evaluation.ID, evaluation);
    return evaluation;
  }

  /** Complete and old, unless it says otherwise. */
  alloc(evaluation: Pick<Evaluation, 'ID' | 'JobID'>, over: Partial<Allocation> = {}): Allocation {
    const alloc = fixtures.anAlloc({
      EvalID: evaluation.ID,
      JobID: evaluation.JobID,
      ClientStatus: 'complete',
      DesiredStatus: 'run',
      ModifyTime: this.ago(100 * HOUR_MS),
      ModifyIndex: 1,
      CreateIndex: 2,
      ...over,
    });
    this.tables.allocs.replace(alloc.ID, alloc);
    return alloc;
  }

  /** Failed and old, unless it says otherwise. */
  deployment(over: Partial<Deployment> = {}): Deployment {
    const deployment = fixtures.aDeployment({
      Status: 'failed',
      ModifyTime: this.ago(100 * HOUR_MS),
      ModifyIndex: 1,
      ...over,
    });
    this.tables.deployment.replace(deployment.ID, deployment);
    return deployment;
  }

  /** Down for long, unless it says otherwise. */
  node(over: Partial<Node> = {}): Node {
    const node = fixtures.aNode({
      Status: 'down',
      StatusUpdatedAt: (this.time.nowMs() - 100 * HOUR_MS) / 1000,
      ModifyIndex: 1,
      ...over,
    });
    this.tables.nodes.replace(node.ID, node);
    return node;
  }

  /** Unclaimed and old, unless it says otherwise. */
  volume(over: Partial<CSIVolume> = {}): CSIVolume {
    const volume = fixtures.aCSIVolume({ ModifyTime: this.ago(100 * HOUR_MS), ModifyIndex: 1, ...over });
    this.tables.csi_volumes.replace(`${volume.Namespace}/${volume.ID}`, volume);
    return volume;
  }

  /** Nobody's and old, unless it says otherwise. */
  plugin(over: Partial<CSIPlugin> = {}): CSIPlugin {
    const plugin = fixtures.aCSIPlugin({
      Nodes: {},
      NodesHealthy: 0,
      ModifyTime: this.ago(100 * HOUR_MS),
      ModifyIndex: 1,
      ...over,
    });
    this.tables.csi_plugins.replace(plugin.ID, plugin);
    return plugin;
  }

  /** Expired and old, unless it says otherwise. */
  token(over: Partial<AclToken> = {}): AclToken {
    const [CreateTime, ExpirationTime] = [rfc3339FromNs(this.ago(3 * HOUR_MS)) ?? '', rfc3339FromNs(this.ago(HOUR_MS))];
    const token = fixtures.aToken({ CreateTime, ExpirationTime, ModifyIndex: 1, ...over });
    this.tables.acl_token.replace(token.AccessorID, token);
    return token;
  }

  run(task: CoreTask | (string & {}), over: Partial<CoreSchedulerDeps> = {}): Promise<void> {
    const evaluation = coreEvaluation('eval-gc', { id: 'core', index: 0, nowNs: 0, leaderAcl: '' });
    return runCoreTask(
      { ...evaluation, JobID: task },
      {
        tables: this.tables,
        appliedIndex: this.state.appliedIndex,
        clock: this.time,
        thresholds: DEFAULT_THRESHOLDS,
        rest: async () => void (this.rests += 1),
        reap: async (reap, scanIndex) => {
          this.before(reap);
          this.reaps.push(reap);
          this.applied.push(...this.delete(reap, scanIndex));
        },
        ...over,
      },
    );
  }

  /** Names of the tables that still have rows of what is collected, with how many. */
  left(): Record<string, number> {
    const { jobs, evals, allocs, deployment, nodes } = this.tables;
    const sizes = { jobs, evals, allocs, deployment, nodes };
    return Object.fromEntries(
      Object.entries(sizes).flatMap(([name, { size }]) => (size > 0 ? [[name, size] as const] : [])),
    );
  }

  private delete(reap: Reap, ScanIndex: number): Applied[] {
    const { state } = this;
    switch (reap.Kind) {
      case 'evaluations': {
        const [EvalIDs, AllocIDs] = [[...reap.EvalIDs], [...reap.AllocIDs]];
        return [fixtures.apply(state, 'EvalDelete', { EvalIDs, AllocIDs, ScanIndex, UserInitiated: false })];
      }
      case 'jobs':
        return [fixtures.apply(state, 'JobBatchDeregister', { Jobs: [...reap.Jobs], ScanIndex })];
      case 'deployments':
        return [fixtures.apply(state, 'DeploymentDelete', { DeploymentIDs: [...reap.DeploymentIDs], ScanIndex })];
      case 'nodes':
        return [fixtures.apply(state, 'NodeBatchDeregister', { NodeIDs: [...reap.NodeIDs], ScanIndex })];
      case 'tokens': {
        const { ExpiredBy } = reap;
        return [fixtures.apply(state, 'ACLTokenDelete', { AccessorIDs: [...reap.AccessorIDs], ExpiredBy })];
      }
      case 'one-time-tokens':
        return [fixtures.apply(state, 'OneTimeTokenExpire', { Timestamp: reap.ExpiredByNs })];
      case 'root-keys':
        return reap.KeyIDs.map((KeyID) => fixtures.apply(state, 'RootKeyDelete', { KeyID, Force: false }));
      case 'plugins':
        return reap.PluginIDs.map((ID) => fixtures.apply(state, 'CSIPluginDelete', { ID }));
      case 'volume-claims':
        return reap.Volumes.map(({ Namespace, ID }) =>
          fixtures.apply(state, 'CSIVolumeClaim', { VolumeID: ID, Claim: LOOK_AT_VOLUME }, { namespace: Namespace }),
        );
    }
  }
}
