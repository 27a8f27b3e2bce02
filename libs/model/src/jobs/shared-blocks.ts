/** Blocks of a job file that groups, tasks and services share. */

/** `TTL` is in nanoseconds. */
export interface WorkloadIdentity {
  Name: string;
  Audience: string[] | null;
  ChangeMode: string;
  ChangeSignal: string;
  Env: boolean;
  File: boolean;
  Filepath: string;
  ServiceName: string;
  TTL: number;
  ExtraClaims: string[] | null;
}

export interface RestartPolicy {
  Attempts: number;
  Interval: number;
  Delay: number;
  /** `fail` or `delay`. */
  Mode: string;
  RenderTemplates: boolean;
}

export interface ConsulBlock {
  Namespace: string;
  Cluster: string;
  Partition: string;
}

export interface ScalingPolicy {
  ID: string;
  Type: string;
  Target: Record<string, string> | null;
  Policy: Record<string, unknown> | null;
  Min: number;
  Max: number;
  Enabled: boolean;
  CreateIndex: number;
  ModifyIndex: number;
}
