import type { ApiCore } from '../api-core.js';
import { DeregisterJob } from './deregister-job.js';
import { JobAdmission } from './job-admission.js';
import { RegisterJob } from './register-job.js';

/** For users of this region, and for what other regions have decided. */
export function registerJobOf({ writes, jobs, lookup, context: { newId } }: ApiCore): RegisterJob {
  return new RegisterJob({ writer: writes, jobs, admission: new JobAdmission(lookup), read: lookup, newId });
}

export function deregisterJobOf({ writes, jobs, context: { newId } }: ApiCore): DeregisterJob {
  return new DeregisterJob({ writer: writes, jobs, newId });
}
