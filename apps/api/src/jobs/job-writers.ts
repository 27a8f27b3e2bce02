import type { LoginClusters } from '@waybill/model';
import type { ApiCore } from '../api-core.js';
import { DeregisterJob } from './deregister-job.js';
import { DriverConfigurations } from './driver-configurations.js';
import { JobAdmission } from './job-admission.js';
import { RegisterJob } from './register-job.js';

/** Returns the writer of registrations, for users of this region and for decisions of other regions. */
export function registerJobOf(core: ApiCore): RegisterJob {
  const {
    writes,
    jobs,
    lookup,
    context: { newId },
  } = core;
  return new RegisterJob({ writer: writes, jobs, admission: admissionOf(core), read: lookup, newId });
}

export function admissionOf({ lookup, model, context: { settings, clock } }: ApiCore): JobAdmission {
  return new JobAdmission(lookup, new DriverConfigurations(model.decisions, clock), loginClustersOf(settings));
}

/** Returns the clusters of Vault and Consul that jobs may use here (API-351). */
export const loginClustersOf = ({
  WAYBILL_VAULT: vault,
  WAYBILL_CONSUL: consul,
}: ApiCore['context']['settings']): LoginClusters => ({ vault, consul });

export function deregisterJobOf({ writes, jobs, context: { newId } }: ApiCore): DeregisterJob {
  return new DeregisterJob({ writer: writes, jobs, newId });
}
