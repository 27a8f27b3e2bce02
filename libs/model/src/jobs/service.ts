import type { WorkloadIdentity } from './shared-blocks.js';

export interface Service {
  Name: string;
  TaskName: string;
  PortLabel: string;
  /** One of `auto`, `alloc`, `alloc_ipv6`, `driver`, `host`. */
  AddressMode: string;
  Address: string;
  EnableTagOverride: boolean;
  Tags: string[] | null;
  CanaryTags: string[] | null;
  Checks: ServiceCheck[] | null;
  /** Block for Consul Connect. It is stored and returned unchanged. */
  Connect: Record<string, unknown> | null;
  Meta: Record<string, string> | null;
  CanaryMeta: Record<string, string> | null;
  Weights: { Passing: number; Warning: number } | null;
  TaggedAddresses: Record<string, string> | null;
  Namespace: string;
  /** One of `require_healthy`, `ignore_warnings`, `ignore`. */
  OnUpdate: string;
  /** `consul` or `nomad`. */
  Provider: string;
  Cluster: string;
  Identity: WorkloadIdentity | null;
  Kind: string;
}

/** A check of a service. `Interval`, `Timeout` and `CheckRestart.Grace` are in nanoseconds. */
export interface ServiceCheck {
  Name: string;
  /** One of `tcp`, `http`, `script`, `grpc`. */
  Type: string;
  Command: string;
  Args: string[] | null;
  Path: string;
  Protocol: string;
  PortLabel: string;
  Expose: boolean;
  AddressMode: string;
  Interval: number;
  Timeout: number;
  InitialStatus: string;
  Notes: string;
  TLSServerName: string;
  TLSSkipVerify: boolean;
  Method: string;
  Header: Record<string, string[]> | null;
  CheckRestart: CheckRestart | null;
  GRPCService: string;
  GRPCUseTLS: boolean;
  TaskName: string;
  SuccessBeforePassing: number;
  FailuresBeforeCritical: number;
  FailuresBeforeWarning: number;
  Body: string;
  OnUpdate: string;
}

export interface CheckRestart {
  Limit: number;
  Grace: number;
  IgnoreWarnings: boolean;
}

/** Returns the common prefix of the IDs of an allocation's registrations (AG-140). */
export const registrationPrefix = (allocId: string): string => `_nomad-task-${allocId}-`;

/** Returns the ID of a registration. @param workload name of the task, or `group-<name>` (AG-140) */
export const registrationId = (allocId: string, workload: string, { Name, PortLabel }: Service): string =>
  `${registrationPrefix(allocId)}${workload}-${Name}-${PortLabel}`;

/** The last result of a check, as reported by its agent (AG-146). `Task` is empty for a service of the group. */
export interface AllocCheckStatus {
  ID: string;
  Check: string;
  Group: string;
  Mode: 'healthiness' | 'readiness';
  Output: string;
  Service: string;
  Task: string;
  Status: 'success' | 'failure' | 'pending';
  /** 0 if there is none. */
  StatusCode: number;
  /** In unix seconds. 0 if the check has not run yet. */
  Timestamp: number;
}

/** Encodes a check result for clients. `Task` and `StatusCode` are left out if they are empty (AG-146). */
export function encodeCheckStatus({ Task, StatusCode, ...status }: AllocCheckStatus): object {
  return { ...status, ...(Task !== '' && { Task }), ...(StatusCode !== 0 && { StatusCode }) };
}

/** One address of a service with provider `nomad`. The agent that runs the service writes it. */
export interface ServiceRegistration {
  ID: string;
  ServiceName: string;
  Namespace: string;
  NodeID: string;
  Datacenter: string;
  JobID: string;
  AllocID: string;
  Tags: string[] | null;
  Address: string;
  Port: number;
  CreateIndex: number;
  ModifyIndex: number;
}
