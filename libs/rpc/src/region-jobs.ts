import type { Job, JobSubmission } from '@waybill/model';
import type { OnBehalfOf } from './deployments.js';
import { call } from './call.js';

export interface RegionJobRequest {
  readonly Namespace: string;
  readonly ID: string;
}

/** The stored job of a region, or null. The coordinator reads it from every region before it writes (DP-1103). */
export interface RegionJob {
  readonly Job: Job | null;
}

/** One region's registration of a multiregion job, which the coordinating region decided (DP-1107, DP-1112). */
export interface RegionRegistration {
  /** The job in this region's form, with the version that all regions share. */
  readonly Job: Job;
  readonly Submission: JobSubmission | null;
  readonly EvalPriority: number;
  /**
   * `JobModifyIndex` of the job on which the decision was made, 0 for none. The registration is refused if the job has
   * changed.
   */
  readonly JobModifyIndex: number;
  readonly PreserveCounts: boolean;
  readonly PreserveResources: boolean;
  readonly For: OnBehalfOf;
}

export interface RegionDeregistration extends RegionJobRequest {
  readonly Purge: boolean;
  readonly EvalPriority: number;
  readonly NoShutdownDelay: boolean;
  readonly For: OnBehalfOf;
}

export interface RegionWritten {
  readonly Index: number;
}

/** Timeout of the read before a registration. If a region does not answer in time, the registration fails (DP-1103). */
export const PREFLIGHT_TIMEOUT_MS = 5_000;
/** The write in a region returns when it can be read there. */
const WRITE_TIMEOUT_MS = 15_000;

const preflight = { betweenRegions: true, timeoutMs: PREFLIGHT_TIMEOUT_MS } as const;
const write = { betweenRegions: true, timeoutMs: WRITE_TIMEOUT_MS } as const;
export const jobInThatRegion = call<RegionJobRequest, RegionJob>('api.job', preflight);
export const registerInRegion = call<RegionRegistration, RegionWritten>('api.register', write);
export const deregisterInRegion = call<RegionDeregistration, RegionWritten>('api.deregister', write);

/** Address of a region's API, which answers requests that were sent to this one. */
export interface ApiPlace {
  /** `host:port`. */
  readonly Address: string;
  /** Whether the API uses TLS. Absent from older versions, which do not. */
  readonly TLS?: boolean;
}
export const apiAddress = call<null, ApiPlace>('api.address', { ...preflight, timeoutMs: 2_000 });
