import type { Job, JobSubmission } from '@waybill/model';
import type { OnBehalfOf } from './deployments.js';
import { call } from './call.js';

export interface RegionJobRequest {
  readonly Namespace: string;
  readonly ID: string;
}

/**
 * The job that a region has stored, which the coordinator reads from every region before it writes; null: none
 * (DP-1103).
 */
export interface RegionJob {
  readonly Job: Job | null;
}

/** One region's registration of a multiregion job, decided by the region that coordinates (DP-1107, DP-1112). */
export interface RegionRegistration {
  /** As this region is to have it, with the version that all regions have. */
  readonly Job: Job;
  readonly Submission: JobSubmission | null;
  readonly EvalPriority: number;
  /** `JobModifyIndex` of what it was decided on, 0: there was none; refused if it is another by now. */
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

/** DP-1103: a region that does not answer within this is not registered in. */
export const PREFLIGHT_TIMEOUT_MS = 5_000;
/** A write there is answered when it can be read there. */
const WRITE_TIMEOUT_MS = 15_000;

const preflight = { betweenRegions: true, timeoutMs: PREFLIGHT_TIMEOUT_MS } as const;
const write = { betweenRegions: true, timeoutMs: WRITE_TIMEOUT_MS } as const;
export const jobInThatRegion = call<RegionJobRequest, RegionJob>('api.job', preflight);
export const registerInRegion = call<RegionRegistration, RegionWritten>('api.register', write);
export const deregisterInRegion = call<RegionDeregistration, RegionWritten>('api.deregister', write);

/** Where the API of that region takes requests that were sent to this one. */
export interface ApiPlace {
  /** `host:port`. */
  readonly Address: string;
  /** Whether it speaks TLS there; versions that do not say so do not. */
  readonly TLS?: boolean;
}
export const apiAddress = call<null, ApiPlace>('api.address', { ...preflight, timeoutMs: 2_000 });
