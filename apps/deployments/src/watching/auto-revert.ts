import { specChanged, type Deployment, type Job } from '@waybill/model';
import { DEFAULT_TRACKED_VERSIONS, namespacedKey, type Tables, type TxnPayloads } from '@waybill/state';
import { NO_STABLE_VERSION, rollingBack, sameSpecification } from './revert-remarks.js';
import { rolledOutJob } from './rolled-out-job.js';

/** What a failure writes about going back, and what it says. */
export interface AutoRevert {
  readonly payload: Pick<
    TxnPayloads['DeploymentAllocHealth'],
    'Job' | 'RevertSuffix' | 'SubmissionFrom' | 'TrackedVersions'
  >;
  /** Added to the description whether or not a version is written. */
  readonly remark: string;
  /** Version it goes back to, if it does. */
  readonly version: number | null;
}

export const NO_REVERT: AutoRevert = {
  payload: { Job: null, RevertSuffix: '', SubmissionFrom: null, TrackedVersions: DEFAULT_TRACKED_VERSIONS },
  remark: '',
  version: null,
};

/**
 * DP-804 to DP-808: back to the newest stable version, unless what is rolled out is that specification already: that is
 * what ends the circle when a once stable version does not start any more. O(versions kept). @throws UnknownJobError
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
