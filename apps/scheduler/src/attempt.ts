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

/** The input of one scheduling pass. The same input gives the same attempt, byte for byte. */
export interface AttemptInput {
  readonly evaluation: Evaluation;
  readonly tables: Tables;
  /** Index of the state; part of the seed and of the plan. */
  readonly index: number;
  /** One reading of the clock for the whole attempt (SC-25), unix ns. */
  readonly nowNs: number;
  readonly newId: () => string;
  /**
   * Resources that each node's allocations use (`occupyingLoads`), if the caller maintains them; they must agree with
   * the tables.
   */
  readonly loads?: NodeLoads | undefined;
  /** New allocations in one plan; a dry run allows more, because it writes none of them. */
  readonly placementLimit?: number;
}

/** The result of one scheduling pass. */
export interface Attempt {
  readonly plan: Plan;
  /** Whether more is wanted than fits one plan: further plans follow once this one is committed. */
  readonly truncated: boolean;
  /** Whether there is nothing to commit (EB-227). */
  readonly isNoop: boolean;
  readonly failedGroups: Record<string, AllocMetric>;
  /** Wanted placements of each group, before the plan is committed (SC-26). */
  readonly wanted: Record<string, number>;
  readonly annotations: PlanAnnotations;
  /**
   * The deployment in force at the end of the attempt; empty if there is none. It counts only if the plan was committed
   * (SC-19).
   */
  readonly deploymentId: string;
  readonly followups: readonly Evaluation[];
  /** The facts for blocked evaluations; one entry for each of them (service and batch: at most one). */
  readonly blocked: readonly BlockedBy[];
}

/** Why an allocation could not be placed, for the blocked evaluation (SC-36). */
export interface BlockedBy {
  readonly classEligibility: Record<string, boolean>;
  readonly escaped: boolean;
  readonly missingResources: string[];
  readonly failedGroups: Record<string, AllocMetric>;
  /** System jobs: the first node of the group that was feasible and full (SC-35). */
  readonly nodeId: string;
}

/** The newest deployment of a job, by the index of its creation (SC-16). O(deployments of the job). */
export function latestDeployment(jobKey: string, tables: Tables): Deployment | null {
  let latest: Deployment | null = null;
  for (const deployment of tables.deployment.by('job', jobKey))
    if (!latest || deployment.CreateIndex > latest.CreateIndex) latest = deployment;
  return latest;
}

/** The stored configuration with the overrides of the job's pool (1.9). */
export function configFor(job: Job | null, tables: Tables): SchedulerConfiguration {
  const stored = tables.scheduler_config.get(SINGLETON_KEY) ?? defaultSchedulerConfiguration();
  const pool: NodePool | undefined = job ? tables.node_pools.get(job.NodePool) : undefined;
  const override = pool?.SchedulerConfiguration;
  return override ? { ...stored, ...withoutEmpty(override) } : stored;
}

/**
 * Whether the job may preempt allocations (SC-132). Without a stored configuration preemption counts as enabled (1.9).
 */
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

/**
 * Queued allocations of each group after the plan: every allocation that the plan newly created is one less (SC-26,
 * SC-27).
 */
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
