import type {
  AllocMetric,
  Deployment,
  DesiredUpdates,
  Evaluation,
  Job,
  NodePool,
  Plan,
  PlanAnnotations,
  PlanResult,
  SchedulerConfiguration,
} from '@waybill/model';
import { defaultSchedulerConfiguration } from '@waybill/model';
import { SINGLETON_KEY, type NodeLoads, type Tables } from '@waybill/state';

/** All that one scheduling pass may look at. The same input gives the same attempt, byte for byte. */
export interface AttemptInput {
  readonly evaluation: Evaluation;
  readonly tables: Tables;
  /** Index of the state: goes into the seed and into the plan. */
  readonly index: number;
  /** One reading of the clock for the whole attempt (SC-25), unix ns. */
  readonly nowNs: number;
  readonly newId: () => string;
  /** What each node's allocations take (`occupyingLoads`), if whoever calls keeps it; what it says is what the tables say. */
  readonly loads?: NodeLoads;
  /** New allocations in one plan; a dry run takes more, because nothing of it is written. */
  readonly placementLimit?: number;
}

/** What one scheduling pass wants. */
export interface Attempt {
  readonly plan: Plan;
  /** More is wanted than fits one plan: once this one is committed there is more to do. */
  readonly truncated: boolean;
  /** Nothing to commit (EB-227). */
  readonly isNoop: boolean;
  readonly failedGroups: Record<string, AllocMetric>;
  /** Wanted placements per group, before the plan is committed (SC-26). */
  readonly wanted: Record<string, number>;
  readonly annotations: PlanAnnotations;
  /** The deployment in force at the end of the attempt, empty: none. Counts only if the plan was committed (SC-19). */
  readonly deploymentId: string;
  readonly followups: readonly Evaluation[];
  /** What blocked evaluations need to know; one per entry (service and batch: at most one). */
  readonly blocked: readonly BlockedBy[];
}

/** Why something could not be placed, for the blocked evaluation (SC-36). */
export interface BlockedBy {
  readonly classEligibility: Record<string, boolean>;
  readonly escaped: boolean;
  readonly missingResources: string[];
  readonly failedGroups: Record<string, AllocMetric>;
  /** System jobs: first node of the group that was feasible and full (SC-35). */
  readonly nodeId: string;
}

/** The newest of a job (SC-16), by the index of its creation. O(deployments of the job). */
export function latestDeployment(jobKey: string, tables: Tables): Deployment | null {
  let latest: Deployment | null = null;
  for (const deployment of tables.deployment.by('job', jobKey))
    if (!latest || deployment.CreateIndex > latest.CreateIndex) latest = deployment;
  return latest;
}

/** The stored configuration with what the job's pool overrides (1.9). */
export function configFor(job: Job | null, tables: Tables): SchedulerConfiguration {
  const stored = tables.scheduler_config.get(SINGLETON_KEY) ?? defaultSchedulerConfiguration();
  const pool: NodePool | undefined = job ? tables.node_pools.get(job.NodePool) : undefined;
  const override = pool?.SchedulerConfiguration;
  return override ? { ...stored, ...withoutEmpty(override) } : stored;
}

/** SC-132. Without any stored configuration preemption counts as enabled (1.9). */
export function mayPreempt(job: Job, tables: Tables): boolean {
  const config = tables.scheduler_config.get(SINGLETON_KEY)?.PreemptionConfig;
  switch (job.Type) {
    case 'system':
      return config?.SystemSchedulerEnabled ?? true;
    case 'sysbatch':
      return config?.SysBatchSchedulerEnabled ?? true;
    case 'batch':
      return config?.BatchSchedulerEnabled ?? true;
    default:
      return config?.ServiceSchedulerEnabled ?? true;
  }
}

function withoutEmpty(override: object): Partial<SchedulerConfiguration> {
  return Object.fromEntries(Object.entries(override).filter(([, value]) => value !== '' && value !== null));
}

/** SC-26, SC-27: each allocation that the plan newly created is one less. */
export function queuedAfter(
  wanted: Record<string, number>,
  result: Pick<PlanResult, 'NodeAllocation'> | undefined,
): Record<string, number> {
  const queued = { ...wanted };
  for (const allocs of Object.values(result?.NodeAllocation ?? {}))
    for (const { TaskGroup, CreateIndex, ModifyIndex } of allocs) {
      const left = queued[TaskGroup];
      if (left !== undefined && CreateIndex === ModifyIndex && CreateIndex > 0)
        queued[TaskGroup] = Math.max(0, left - 1);
    }
  return queued;
}

export function annotationsOf(desired: Record<string, DesiredUpdates>): PlanAnnotations {
  return { DesiredTGUpdates: desired, PreemptedAllocs: null };
}
