import { specChanged, type Deployment, type Job } from '@waybill/model';
import { DEFAULT_TRACKED_VERSIONS, namespacedKey, type Tables, type TxnPayloads } from '@waybill/state';
import { NO_STABLE_VERSION, rollingBack, sameSpecification } from './revert-remarks.js';
import { rolledOutJob } from './rolled-out-job.js';

/** The version that a failed deployment reverts to, and what its description says. */
export interface AutoRevert {
  readonly payload: Pick<
    TxnPayloads['DeploymentAllocHealth'],
    'Job' | 'RevertSuffix' | 'SubmissionFrom' | 'TrackedVersions'
  >;
  /** Suffix of the description, whether or not a version is written. */
  readonly remark: string;
  /** Version that the job reverts to, null if it does not. */
  readonly version: number | null;
}

export const NO_REVERT: AutoRevert = {
  payload: { Job: null, RevertSuffix: '', SubmissionFrom: null, TrackedVersions: DEFAULT_TRACKED_VERSIONS },
  remark: '',
  version: null,
};

/**
 * Reverts to the newest stable version (DP-804 to DP-808), unless the deployment rolls out that specification already,
 * which ends the cycle when a once stable version does not start any more. O(versions stored). @throws UnknownJobError
 */
export function autoRevert(tables: Tables, deployment: Deployment): AutoRevert {
  const target = newestStable(tables, deployment);
  if (!target) return { ...NO_REVERT, remark: NO_STABLE_VERSION };
  if (!specChanged(target, rolledOutJob(tables, deployment)))
    return { ...NO_REVERT, remark: sameSpecification(target.Version) };
  return {
    payload: {
      ...NO_REVERT.payload,
      Job: { ...target, VersionTag: null },
      RevertSuffix: rollingBack(target.Version),
      SubmissionFrom: target.Version,
    },
    remark: '',
    version: target.Version,
  };
}

function newestStable(tables: Tables, deployment: Deployment): Job | undefined {
  let newest: Job | undefined;
  for (const job of tables.job_version.by('job', namespacedKey(deployment.Namespace, deployment.JobID))) {
    if (!job.Stable || job.Stop || job.CreateIndex !== deployment.JobCreateIndex) continue;
    if (!newest || job.Version > newest.Version) newest = job;
  }
  return newest;
}
