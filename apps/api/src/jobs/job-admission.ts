import { badRequest } from '../http/api-error.js';
import {
  ALL_NODES_POOL,
  DEFAULT_NAMESPACE,
  extraClaimWarnings,
  formatErrors,
  formatWarnings,
  type Job,
  type JobValidation,
  type LoginClusters,
  loginErrors,
  type Namespace,
  namespaceLimitProblems,
  NO_LOGIN_CLUSTERS,
  type NodePool,
  regionsOf,
  type SchedulerConfiguration,
  validateJob,
} from '@waybill/model';
import type { DriverConfigurations, TaskConfigFault } from './driver-configurations.js';
import type { SubmittedJob } from './register-request.js';

/** The largest number of allocations that one job may request (`job_max_count`). */
export const JOB_MAX_COUNT = 50_000;

/** AdmissionLookup has the reads of the read model that admission needs. */
export interface AdmissionLookup {
  namespace(name: string): Promise<Namespace | undefined>;
  nodePool(name: string): Promise<NodePool | undefined>;
  schedulerConfiguration(): Promise<SchedulerConfiguration | undefined>;
}

export interface AdmissionResult extends JobValidation {
  /** The faults of `config` blocks, which are in `errors`, too. */
  readonly configFaults: readonly TaskConfigFault[];
}

/**
 * JobAdmission checks a job before it is registered, planned or validated. It first reports what the job's namespace
 * does not allow, then the errors of the job itself (API-347), then those of its drivers' configurations (PG-42). The
 * existence of its namespace and pool is checked again when the job is written. Cost: three reads of single rows, and
 * the reads of DriverConfigurations.
 */
export class JobAdmission {
  constructor(
    private readonly read: AdmissionLookup,
    private readonly configurations: Pick<DriverConfigurations, 'faultsOf'>,
    private readonly logins: LoginClusters = NO_LOGIN_CLUSTERS,
  ) {}

  async validate(job: Job): Promise<AdmissionResult> {
    const [namespace, nodePool, config, configFaults] = await Promise.all([
      this.read.namespace(job.Namespace),
      this.read.nodePool(poolOf(job)),
      this.read.schedulerConfiguration(),
      this.configurations.faultsOf(job),
    ]);
    const { errors, warnings } = validateJob(job, {
      jobMaxCount: JOB_MAX_COUNT,
      memoryOversubscription: config?.MemoryOversubscriptionEnabled ?? false,
    });
    const place = regionsOf(job).length > 0 ? [] : placeErrors(job, namespace, nodePool); // else for each region to say
    const limits = namespace ? namespaceLimitProblems(job, namespace) : [];
    const ofClaims = namespace ? extraClaimWarnings(job, namespace) : [];
    return {
      errors: [...loginErrors(job, this.logins), ...place, ...limits, ...errors, ...configFaults.map(faultText)],
      warnings: [...warnings, ...ofClaims],
      configFaults,
    };
  }

  /** Resolves with all warnings as one text (API-350). @throws Refusal invalid with every error of the job (API-102) */
  async admit({ Job: job, warnings: ofDecoding }: SubmittedJob): Promise<string> {
    const { errors, warnings } = await this.validate(job);
    if (errors.length > 0) throw badRequest(formatErrors(errors));
    return formatWarnings([...ofDecoding, ...warnings]);
  }
}

/** Describes a fault of a configuration with its task. */
const faultText = ({ TaskGroup, Task, Driver, Message }: TaskConfigFault): string =>
  `Task group ${TaskGroup} task ${Task}: invalid config of driver "${Driver}": ${Message}`;

const DEFAULT_POOL = 'default';
const poolOf = ({ NodePool }: Job): string => NodePool || DEFAULT_POOL;

/**
 * Returns problems with the job's namespace and node pool (API-45, API-115). The built-in ones always count as
 * existing, even before the first transaction of a cluster has reached the read model.
 */
function placeErrors(job: Job, namespace: Namespace | undefined, nodePool: NodePool | undefined): string[] {
  const hasNamespace = namespace !== undefined || job.Namespace === DEFAULT_NAMESPACE;
  const hasPool = nodePool !== undefined || [DEFAULT_POOL, ALL_NODES_POOL].includes(poolOf(job));
  return [
    ...(hasNamespace ? [] : [`job "${job.ID}" is in nonexistent namespace "${job.Namespace}"`]),
    ...(hasPool ? [] : [`job "${job.ID}" is in nonexistent node pool "${poolOf(job)}"`]),
  ];
}
