import type { ApiCore } from '../api-core.js';
import { DeregisterJob } from './deregister-job.js';
import { JobAdmission } from './job-admission.js';
import { RegisterJob } from './register-job.js';

/** For users of this region, and for what other regions have decided. */
export function registerJobOf({ writer, lookup, readable, context: { log, clock, newId } }: ApiCore): RegisterJob {
  return new RegisterJob(log, writer, new JobAdmission(lookup), lookup, readable, clock, newId);
}

export function deregisterJobOf({ writer, lookup, readable, context: { log, clock, newId } }: ApiCore): DeregisterJob {
  return new DeregisterJob(log, writer, lookup, readable, clock, newId);
}
