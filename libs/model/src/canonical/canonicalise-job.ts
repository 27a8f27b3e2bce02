import type { GroupScope } from './group-scope.js';
import { canonicaliseService } from './canonicalise-service.js';
import { canonicaliseTask } from './canonicalise-task.js';
import {
  jobLevelUpdate,
  migrateStrategy,
  reschedulePolicy,
  restartPolicy,
  updateStrategy,
} from './default-policies.js';
import { withImplicitConstraints } from './implicit-constraints.js';
import type { Job } from '../jobs/job.js';
import { jobShape, type GivenJob } from '../jobs/job-shape.js';
import { type LoginClusters, NO_LOGIN_CLUSTERS, withLoginIdentities } from '../jobs/login-clusters.js';
import type { TaskGroup } from '../jobs/task-group.js';
import { fillShape, type Given } from '../encoding/wire-shape.js';

/** Facts about a submission that only the server knows. */
export interface SubmissionContext {
  /** The agent's own region. A job without a region, or with `global`, gets it (API-43). */
  region: string;
  /**
   * Namespace of the request, which precedes the job's own (API-101). If it is empty or absent, the job's namespace
   * counts.
   */
  namespace?: string;
  /** Unix nanoseconds (API-315). */
  submitTimeNs: number;
  /** The enabled clusters of Vault and Consul (API-351); the default is none. */
  logins?: LoginClusters;
}

/** Returns the stored form of a submitted job: blocks merged down, defaults filled in, implicit constraints added. */
export function canonicaliseJob(submitted: GivenJob, context: SubmissionContext): Job {
  const given = context.namespace ? { ...submitted, Namespace: context.namespace } : submitted;
  const type = given.Type ?? 'service';
  const job = fillShape(jobShape, {
    ...given,
    Name: given.Name ?? given.ID,
    Priority: given.Priority === 0 ? undefined : given.Priority,
    Region: regionOf(given, context.region),
    Datacenters: given.Datacenters === undefined || given.Datacenters.length === 0 ? ['*'] : given.Datacenters,
    Update: jobLevelUpdate(type, given.Update),
    ConsulNamespace: '',
    TaskGroups: given.TaskGroups?.map((group) => canonicaliseGroup(given, type, group)),
  });
  const isParent = job.Periodic !== null || job.ParameterizedJob !== null;
  const stored: Job = { ...job, Status: isParent ? 'running' : 'pending', SubmitTime: context.submitTimeNs };
  return withImplicitConstraints(withLoginIdentities(stored, context.logins ?? NO_LOGIN_CLUSTERS));
}

function regionOf(given: GivenJob, agentRegion: string): string {
  if (given.Region !== undefined && given.Region !== '' && given.Region !== 'global') return given.Region;
  // A multiregion job keeps the region `global` until it is expanded (API-101).
  return given.Multiregion ? 'global' : agentRegion;
}

function canonicaliseGroup(job: GivenJob, type: string, group: Given<TaskGroup>): Given<TaskGroup> {
  const scope: GroupScope = {
    job,
    jobId: job.ID ?? '',
    jobName: job.Name ?? job.ID ?? '',
    namespace: job.Namespace === undefined || job.Namespace === '' ? 'default' : job.Namespace,
    group: group.Name ?? '',
  };
  const count = group.Count ?? group.Scaling?.Min ?? 1;
  const restart = restartPolicy(type, group);
  return {
    ...group,
    Count: count,
    Update: updateStrategy(type, job, group),
    Migrate: migrateStrategy(type, job, group),
    RestartPolicy: restart,
    ReschedulePolicy: reschedulePolicy(type, job, group),
    Scaling: group.Scaling
      ? {
          ...group.Scaling,
          Min: group.Scaling.Min ?? count,
          Target: { Namespace: scope.namespace, Job: scope.jobId, Group: scope.group },
        }
      : undefined,
    Consul: group.Consul ? { ...group.Consul, Namespace: group.Consul.Namespace || job.ConsulNamespace } : undefined,
    Services: group.Services?.map((service) => canonicaliseService(scope, service)),
    Volumes: knownVolumes(group.Volumes),
    Tasks: group.Tasks?.map((task) => canonicaliseTask(scope, restart, task)),
  };
}

/** Drops volumes of a type other than `csi` or `host` (API-307). */
function knownVolumes(volumes: Given<TaskGroup>['Volumes']): Given<TaskGroup>['Volumes'] {
  if (!volumes) return undefined;
  return Object.fromEntries(
    Object.entries(volumes).filter(([, volume]) => volume?.Type === 'csi' || volume?.Type === 'host'),
  );
}
