import { deregisterJob } from './job-deregister.js';
import { registerJob } from './job-register.js';
import type { Appliers } from './applier.js';

/** Sections 6.1 and 6.2. */
export const jobAppliers: Appliers<'JobRegister' | 'JobDeregister'> = {
  JobRegister: registerJob,
  JobDeregister: deregisterJob,
};
