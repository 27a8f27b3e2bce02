import { purgeCollectedJobs } from './collection.js';
import { deregisterJob } from './job-deregister.js';
import { registerJob } from './job-register.js';
import { setJobStability } from './job-stability.js';
import { tagJobVersion } from './job-version-tag.js';
import { registerScalingEvent } from './scaling-event.js';
import { reconcileSummaries } from './summary-reconcile.js';
import type { Appliers } from '../machine/applier.js';

/** Appliers of jobs (sections 6.1, 6.2 and 6.5). */
export const jobAppliers: Appliers<
  | 'JobRegister'
  | 'JobDeregister'
  | 'JobBatchDeregister'
  | 'JobStability'
  | 'JobVersionTag'
  | 'ScalingEventRegister'
  | 'ReconcileJobSummaries'
> = {
  JobRegister: registerJob,
  JobDeregister: deregisterJob,
  JobBatchDeregister: purgeCollectedJobs,
  JobStability: setJobStability,
  JobVersionTag: tagJobVersion,
  ScalingEventRegister: registerScalingEvent,
  ReconcileJobSummaries: reconcileSummaries,
};
