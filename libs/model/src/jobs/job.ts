import type { Affinity, Constraint, Spread } from './placement-rules.js';
import type { TaskGroup, UpdateStrategy } from './task-group.js';

export type JobType = 'service' | 'batch' | 'system' | 'sysbatch';
export type JobStatus = 'pending' | 'running' | 'dead';

/**
 * A stored job. Every default is filled in, and empty lists and maps are null (API-300, API-313). `SubmitTime` is in
 * unix nanoseconds. `Type` is a plain string until validation; in a stored job it is a JobType.
 */
export interface Job {
  ID: string;
  Name: string;
  Namespace: string;
  Region: string;
  ParentID: string;
  Type: string;
  Priority: number;
  AllAtOnce: boolean;
  Datacenters: string[];
  NodePool: string;
  Constraints: Constraint[] | null;
  Affinities: Affinity[] | null;
  Spreads: Spread[] | null;
  TaskGroups: TaskGroup[];
  /** Only `Stagger` and `MaxParallel` are kept. The blocks of the groups count (API-302). */
  Update: UpdateStrategy;
  Multiregion: Multiregion | null;
  Periodic: PeriodicConfig | null;
  ParameterizedJob: ParameterizedJobConfig | null;
  Dispatched: boolean;
  DispatchIdempotencyToken: string;
  /** Base64. */
  Payload: string | null;
  Meta: Record<string, string> | null;
  ConsulNamespace: string;
  VaultNamespace: string;
  NomadTokenID: string;
  Status: JobStatus;
  StatusDescription: string;
  Stop: boolean;
  Stable: boolean;
  Version: number;
  SubmitTime: number;
  CreateIndex: number;
  ModifyIndex: number;
  JobModifyIndex: number;
  UI: JobUI | null;
  VersionTag: JobVersionTag | null;
}

export interface Multiregion {
  Strategy: { MaxParallel: number; OnFailure: string } | null;
  Regions: MultiregionRegion[] | null;
}

export interface MultiregionRegion {
  Name: string;
  Count: number;
  Datacenters: string[] | null;
  NodePool: string;
  Meta: Record<string, string> | null;
}

export interface PeriodicConfig {
  Enabled: boolean;
  Spec: string;
  Specs: string[] | null;
  SpecType: string;
  ProhibitOverlap: boolean;
  TimeZone: string;
}

export interface ParameterizedJobConfig {
  /** One of `optional`, `required`, `forbidden`. */
  Payload: string;
  MetaRequired: string[] | null;
  MetaOptional: string[] | null;
}

export interface JobUI {
  Description: string;
  Links: { Label: string; Url: string }[] | null;
}

export interface JobVersionTag {
  Name: string;
  Description: string;
  TaggedTime: number;
}

export interface TaskGroupSummary {
  Queued: number;
  Complete: number;
  Failed: number;
  Running: number;
  Starting: number;
  Lost: number;
  Unknown: number;
}

export interface JobChildrenSummary {
  Pending: number;
  Running: number;
  Dead: number;
}

export interface JobSummary {
  JobID: string;
  Namespace: string;
  Summary: Record<string, TaskGroupSummary>;
  Children: JobChildrenSummary | null;
  CreateIndex: number;
  ModifyIndex: number;
}

/** The source text of a job, as it was submitted. */
export interface JobSubmission {
  Source: string;
  /** One of `hcl2`, `json`. */
  Format: string;
  VariableFlags: Record<string, string> | null;
  Variables: string;
  Namespace: string;
  JobID: string;
  Version: number;
  JobModifyIndex: number;
}

/** `Launch` is the time of the last launch, or of the insertion if there was none (RFC 3339). */
export interface PeriodicLaunch {
  ID: string;
  Namespace: string;
  Launch: string | null;
  CreateIndex: number;
  ModifyIndex: number;
}

/** A job in a list. */
export interface JobListStub {
  ID: string;
  ParentID: string;
  Name: string;
  Namespace?: string;
  Datacenters: string[];
  NodePool: string;
  Multiregion: Multiregion | null;
  Type: string;
  Priority: number;
  Periodic: boolean;
  ParameterizedJob: boolean;
  Stop: boolean;
  Status: JobStatus;
  StatusDescription: string;
  JobSummary: JobSummary;
  CreateIndex: number;
  ModifyIndex: number;
  JobModifyIndex: number;
  SubmitTime: number;
  Meta?: Record<string, string> | null;
}

/** System and sysbatch jobs run on every feasible node. */
export function isSystemJob(job: Pick<Job, 'Type'>): boolean {
  return job.Type === 'system' || job.Type === 'sysbatch';
}

export function isBatchJob(job: Pick<Job, 'Type'>): boolean {
  return job.Type === 'batch' || job.Type === 'sysbatch';
}

export function isPeriodic(job: Pick<Job, 'Periodic'>): boolean {
  return job.Periodic !== null;
}

/** Whether a job is a template for dispatches. Its dispatched children are not. */
export function isParameterized(job: Pick<Job, 'ParameterizedJob' | 'Dispatched'>): boolean {
  return job.ParameterizedJob !== null && !job.Dispatched;
}

export function findTaskGroup(job: Pick<Job, 'TaskGroups'>, name: string): TaskGroup | undefined {
  return job.TaskGroups.find((group) => group.Name === name);
}
