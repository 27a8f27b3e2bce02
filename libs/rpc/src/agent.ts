import type { AllocCheckStatus } from '@waybill/model';
import { call } from './call.js';
import type { AllocResourceUsage, HostStats } from './resource-usage.js';
import { needsNodeRead, needsOfAlloc, needsOfAllocOrNode } from './user-needs.js';

export * from './resource-usage.js';

/** Most bytes of a log in one response. A follower continues with another read. */
export const MAX_LOG_CHUNK_BYTES = 256 * 1024;

export interface ReadLogRequest {
  readonly AllocID: string;
  readonly Task: string;
  readonly Type: 'stdout' | 'stderr';
  readonly Origin: 'start' | 'end';
  /** Bytes from the origin. With `end`, they are counted backwards. */
  readonly Offset: number;
  readonly Limit: number;
  /** Longest wait for new bytes, in ms. 0 returns at once. */
  readonly WaitMs: number;
}
export interface ReadLogResponse {
  /** In base64. */
  readonly Data: string;
  /** Absolute offset after the last returned byte. The next request uses it with the origin `start`. */
  readonly NextOffset: number;
  /** Name of the file that contains the last byte, as clients see it. */
  readonly File: string;
  /** Absolute offset after the last existing byte, whether it was returned or not. */
  readonly Available: number;
}

/** Goes to one machine: the target is the node's ID. */
export const readLog = call<ReadLogRequest, ReadLogResponse>('agent.readLog', {
  timeoutMs: 30_000,
  userNeeds: needsOfAlloc('read-logs', 'read-fs'),
});

export interface AllocStatsRequest {
  readonly AllocID: string;
  /** Empty for all tasks. */
  readonly Task: string;
}
/** Samples the resources that the running tasks of an allocation use. */
export const allocStats = call<AllocStatsRequest, AllocResourceUsage>('agent.allocStats', {
  userNeeds: needsOfAlloc('read-job'),
});

export const hostStats = call<Record<string, never>, HostStats>('agent.hostStats', { userNeeds: needsNodeRead });

export interface RestartAllocRequest {
  readonly AllocID: string;
  /** Empty for all running tasks, or for all tasks with AllTasks. */
  readonly TaskName: string;
  readonly AllTasks: boolean;
}
/**
 * Returns when the old processes have ended and the new ones were started. Only the caller knows how long that may
 * take.
 */
export const restartAlloc = call<RestartAllocRequest, null>('agent.restartAlloc', {
  userNeeds: needsOfAlloc('alloc-lifecycle'),
});

export interface SignalAllocRequest {
  readonly AllocID: string;
  /** Empty for all tasks. */
  readonly Task: string;
  readonly Signal: string;
}
export const signalAlloc = call<SignalAllocRequest, null>('agent.signalAlloc', {
  timeoutMs: 30_000,
  userNeeds: needsOfAlloc('alloc-lifecycle'),
});

export interface CollectAllocsRequest {
  /** Empty for all ended allocations. */
  readonly AllocID: string;
}
/** Removes the files of ended allocations from the machine. The servers keep their records. */
export const collectAllocs = call<CollectAllocsRequest, null>('agent.collectAllocs', {
  timeoutMs: 60_000,
  userNeeds: needsOfAllocOrNode('submit-job', 'gc-allocation'),
});

export interface AllocChecksRequest {
  readonly AllocID: string;
}
/** Check ID → its last result (AG-146). */
export const allocChecks = call<AllocChecksRequest, Record<string, AllocCheckStatus>>('agent.allocChecks', {
  userNeeds: needsOfAlloc('read-job'),
});
