import type { ApiCore } from '../api-core.js';
import { DeregisterJob } from './deregister-job.js';
import { JobAdmission } from './job-admission.js';
import { RegisterJob } from './register-job.js';

/** Returns the writer of registrations, for users of this region and for decisions of other regions. */
export function registerJobOf({ writes, jobs, lookup, context: { newId } }: ApiCore): RegisterJob {
  return new RegisterJob({ writer: writes, jobs, admission: new JobAdmission(lookup), read: lookup, newId });
}

export function deregisterJobOf({ writes, jobs, context: { newId } }: ApiCore): DeregisterJob {
  return new DeregisterJob({ writer: writes, jobs, newId });
}
