import type { Job } from '../jobs/job.js';
import type { AllocatedResources, DNSConfig, Resources } from '../nodes/resources.js';

export type AllocDesiredStatus = 'run' | 'stop' | 'evict';
export type AllocClientStatus = 'pending' | 'running' | 'complete' | 'failed' | 'lost' | 'unknown';
export type TaskStateName = 'pending' | 'running' | 'dead';

/**
 * One placement of a task group on a node. Every field is present, and the wire form omits zero values (API-17). `Job`
 * is the running version if the holder of the object knows it, and null in rows and events.
 */
export interface Allocation {
  ID: string;
  EvalID: string;
  Namespace: string;
  JobID: string;
  TaskGroup: string;
  /** The name, `<job>.<group>[<index>]`. */
  Name: string;
  NodeID: string;
  NodeName: string;
  Job: Job | null;
  /** Totals in the older form. Null if they were not computed. */
  Resources: Resources | null;
  SharedResources: Resources | null;
  TaskResources: Record<string, Resources>;
  AllocatedResources: AllocatedResources;
  Metrics: AllocMetric | null;
  DesiredStatus: AllocDesiredStatus;
  DesiredDescription: string;
  DesiredTransition: DesiredTransition;
  ClientStatus: AllocClientStatus;
  ClientDescription: string;
  TaskStates: Record<string, TaskState>;
  AllocStates: AllocStateEntry[];
  PreviousAllocation: string;
  NextAllocation: string;
  DeploymentID: string;
  DeploymentStatus: AllocDeploymentStatus | null;
  RescheduleTracker: RescheduleTracker | null;
  NetworkStatus: AllocNetworkStatus | null;
  FollowupEvalID: string;
  PreemptedAllocations: string[];
  PreemptedByAllocation: string;
  SigningKeyID: string;
  CreateIndex: number;
  ModifyIndex: number;
  /** This index does not change on client updates. */
  AllocModifyIndex: number;
  CreateTime: number;
  ModifyTime: number;
}

export interface DesiredTransition {
  Migrate: boolean | null;
  Reschedule: boolean | null;
  ForceReschedule: boolean | null;
  NoShutdownDelay: boolean | null;
  MigrateDisablePlacement: boolean | null;
}

/** A change of state. `Field` 0 is the client status. */
export interface AllocStateEntry {
  Field: number;
  Value: string;
  Time: string | null;
}

export interface AllocDeploymentStatus {
  Healthy: boolean | null;
  Timestamp: string | null;
  Canary: boolean;
  ModifyIndex: number;
}

export interface RescheduleTracker {
  Events: RescheduleEvent[];
  /** Result of the last attempt: `ok`, `no placement` or empty. */
  LastReschedule: string;
}

/** `RescheduleTime` unix nanoseconds, `Delay` nanoseconds. */
export interface RescheduleEvent {
  RescheduleTime: number;
  PrevAllocID: string;
  PrevNodeID: string;
  Delay: number;
}

export interface AllocNetworkStatus {
  InterfaceName: string;
  Address: string;
  AddressIPv6: string;
  DNS: DNSConfig | null;
}

export interface TaskState {
  State: TaskStateName;
  Failed: boolean;
  Restarts: number;
  LastRestart: string | null;
  StartedAt: string | null;
  FinishedAt: string | null;
  /** At most 10 events, oldest first. */
  Events: TaskEvent[];
  Paused: string;
}

/**
 * An event of a task. `Time` is in unix nanoseconds. All fields after `Details` are deprecated, yet always present on
 * the wire.
 */
export interface TaskEvent {
  Type: string;
  Time: number;
  Message: string;
  DisplayMessage: string;
  Details: Record<string, string>;
  FailsTask: boolean;
  RestartReason: string;
  SetupError: string;
  DriverError: string;
  ExitCode: number;
  Signal: number;
  KillTimeout: number;
  KillError: string;
  KillReason: string;
  StartDelay: number;
  DownloadError: string;
  ValidationError: string;
  DiskLimit: number;
  FailedSibling: string;
  VaultError: string;
  TaskSignalReason: string;
  TaskSignal: string;
  DriverMessage: string;
  GenericSource: string;
}

/** Why a placement chose its node, or found none. `AllocationTime` is in nanoseconds. */
export interface AllocMetric {
  NodesEvaluated: number;
  NodesFiltered: number;
  NodesInPool: number;
  NodePool: string;
  NodesAvailable: Record<string, number> | null;
  ClassFiltered: Record<string, number> | null;
  ConstraintFiltered: Record<string, number> | null;
  NodesExhausted: number;
  ClassExhausted: Record<string, number> | null;
  DimensionExhausted: Record<string, number> | null;
  QuotaExhausted: string[] | null;
  ResourcesExhausted: Record<string, Resources> | null;
  /** Deprecated, always null. */
  Scores: null;
  /** The five best scores, best first. */
  ScoreMetaData: NodeScoreMeta[] | null;
  AllocationTime: number;
  CoalescedFailures: number;
}

export interface NodeScoreMeta {
  NodeID: string;
  Scores: Record<string, number>;
  NormScore: number;
}

/** An allocation in a list. */
export interface AllocListStub {
  ID: string;
  EvalID: string;
  Name: string;
  Namespace: string;
  NodeID: string;
  NodeName: string;
  JobID: string;
  JobType: string;
  JobVersion: number;
  TaskGroup: string;
  AllocatedResources?: AllocatedResources;
  DesiredStatus: AllocDesiredStatus;
  DesiredDescription: string;
  ClientStatus: AllocClientStatus;
  ClientDescription: string;
  DesiredTransition: DesiredTransition;
  TaskStates: Record<string, TaskState> | null;
  DeploymentStatus: AllocDeploymentStatus | null;
  FollowupEvalID: string;
  NextAllocation: string;
  RescheduleTracker: RescheduleTracker | null;
  PreemptedAllocations: string[] | null;
  PreemptedByAllocation: string;
  CreateIndex: number;
  ModifyIndex: number;
  CreateTime: number;
  ModifyTime: number;
}

export const NO_TRANSITION: Readonly<DesiredTransition> = Object.freeze({
  Migrate: null,
  Reschedule: null,
  ForceReschedule: null,
  NoShutdownDelay: null,
  MigrateDisablePlacement: null,
});

type PlacedFields =
  | 'ID'
  | 'EvalID'
  | 'Namespace'
  | 'JobID'
  | 'TaskGroup'
  | 'Name'
  | 'NodeID'
  | 'NodeName'
  | 'AllocatedResources'
  | 'CreateTime';

/**
 * Returns a pending allocation that is to run, with all other members empty. Its indexes are set when its plan is
 * committed.
 */
export function newAllocation(
  given: Pick<Allocation, PlacedFields> & Partial<Omit<Allocation, PlacedFields>>,
): Allocation {
  return {
    Job: null,
    Resources: null,
    SharedResources: null,
    TaskResources: {},
    Metrics: null,
    DesiredStatus: 'run',
    DesiredDescription: '',
    DesiredTransition: { ...NO_TRANSITION },
    ClientStatus: 'pending',
    ClientDescription: '',
    TaskStates: {},
    AllocStates: [],
    PreviousAllocation: '',
    NextAllocation: '',
    DeploymentID: '',
    DeploymentStatus: null,
    RescheduleTracker: null,
    NetworkStatus: null,
    FollowupEvalID: '',
    PreemptedAllocations: [],
    PreemptedByAllocation: '',
    SigningKeyID: '',
    CreateIndex: 0,
    ModifyIndex: 0,
    AllocModifyIndex: 0,
    ModifyTime: given.CreateTime,
    ...given,
  };
}

/** Whether the server wants the allocation to end. */
export function isServerTerminal(alloc: Pick<Allocation, 'DesiredStatus'>): boolean {
  return alloc.DesiredStatus === 'stop' || alloc.DesiredStatus === 'evict';
}

/** Whether no task of the allocation runs, as the agent reported or the server concluded. `unknown` is not terminal. */
export function isClientTerminal(alloc: Pick<Allocation, 'ClientStatus'>): boolean {
  return alloc.ClientStatus === 'complete' || alloc.ClientStatus === 'failed' || alloc.ClientStatus === 'lost';
}

/** Whether the allocation is terminal on either side, so it no longer occupies a place in its job. */
export function isTerminalAllocation(alloc: Pick<Allocation, 'DesiredStatus' | 'ClientStatus'>): boolean {
  return isServerTerminal(alloc) || isClientTerminal(alloc);
}

/** Whether a batch allocation has done its work: every task is dead and none failed. */
export function ranSuccessfully(alloc: Pick<Allocation, 'TaskStates'>): boolean {
  const states = Object.values(alloc.TaskStates);
  return states.length > 0 && states.every((state) => state.State === 'dead' && !state.Failed);
}

/** Returns the name of the allocation with this index in its group. */
export function allocName(jobId: string, group: string, index: number): string {
  return `${jobId}.${group}[${index}]`;
}

/** Returns the index in an allocation's name, or -1 if the name has none. */
export function allocIndex(name: string): number {
  const match = /\[(\d+)\]$/.exec(name);
  return match?.[1] === undefined ? -1 : Number(match[1]);
}
