import type { WorkloadIdentity } from './shared-blocks.js';

export interface Service {
  Name: string;
  TaskName: string;
  PortLabel: string;
  /** `auto`, `alloc`, `alloc_ipv6`, `driver`, `host`. */
  AddressMode: string;
  Address: string;
  EnableTagOverride: boolean;
  Tags: string[] | null;
  CanaryTags: string[] | null;
  Checks: ServiceCheck[] | null;
  /** Consul Connect block: round-trip only. */
  Connect: Record<string, unknown> | null;
  Meta: Record<string, string> | null;
  CanaryMeta: Record<string, string> | null;
  Weights: { Passing: number; Warning: number } | null;
  TaggedAddresses: Record<string, string> | null;
  Namespace: string;
  /** `require_healthy`, `ignore_warnings`, `ignore`. */
  OnUpdate: string;
  /** `consul`, `nomad`. */
  Provider: string;
  Cluster: string;
  Identity: WorkloadIdentity | null;
  Kind: string;
}

/** `Interval`, `Timeout` and `CheckRestart.Grace` in nanoseconds. */
export interface ServiceCheck {
  Name: string;
  /** `tcp`, `http`, `script`, `grpc`. */
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

/** What all registrations of an allocation begin with (AG-140). */
export const registrationPrefix = (allocId: string): string => `_nomad-task-${allocId}-`;

/** @param workload name of the task, or `group-<name>` (AG-140) */
export const registrationId = (allocId: string, workload: string, { Name, PortLabel }: Service): string =>
  `${registrationPrefix(allocId)}${workload}-${Name}-${PortLabel}`;

/** The last result of a check, as its agent tells it (AG-146). `Task` "": of a group's service. */
export interface AllocCheckStatus {
  ID: string;
  Check: string;
  Group: string;
  Mode: 'healthiness' | 'readiness';
  Output: string;
  Service: string;
  Task: string;
  Status: 'success' | 'failure' | 'pending';
  /** 0: none. */
  StatusCode: number;
  /** unix seconds; 0: not run yet */
  Timestamp: number;
}

/** As clients see it: what is empty of `Task` and `StatusCode` is left out (AG-146). */
export function encodeCheckStatus({ Task, StatusCode, ...status }: AllocCheckStatus): object {
  return { ...status, ...(Task !== '' && { Task }), ...(StatusCode !== 0 && { StatusCode }) };
}

/** One address of a service of provider `nomad`, written by the agent that runs it. */
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
