import type { AllocCheckStatus } from '@waybill/model';
import { call } from './call.js';
import type { AllocResourceUsage, HostStats } from './resource-usage.js';

export * from './resource-usage.js';

/** Bytes of a log read that fit one answer; a follower asks again from where it stands. */
export const MAX_LOG_CHUNK_BYTES = 256 * 1024;

export interface ReadLogRequest {
  readonly AllocID: string;
  readonly Task: string;
  readonly Type: 'stdout' | 'stderr';
  readonly Origin: 'start' | 'end';
  /** Bytes from the origin; with `end`, counted backwards. */
  readonly Offset: number;
  readonly Limit: number;
  /** Wait this long for new bytes when there are none. 0: answer at once. */
  readonly WaitMs: number;
}
export interface ReadLogResponse {
  /** base64 */
  readonly Data: string;
  /** Absolute offset behind the last byte given: the next request's Offset with Origin `start`. */
  readonly NextOffset: number;
  /** Name of the file the last byte came from, as clients show it. */
  readonly File: string;
  /** Absolute offset behind the last byte that there was, given or not. */
  readonly Available: number;
}

/** To one machine: the target is the node's id. */
export const readLog = call<ReadLogRequest, ReadLogResponse>('agent.readLog', { timeoutMs: 30_000 });

export interface AllocStatsRequest {
  readonly AllocID: string;
  /** Empty: all tasks. */
  readonly Task: string;
}
/** What the running tasks of an allocation use, sampled now. */
export const allocStats = call<AllocStatsRequest, AllocResourceUsage>('agent.allocStats');

export const hostStats = call<Record<string, never>, HostStats>('agent.hostStats');

export interface RestartAllocRequest {
  readonly AllocID: string;
  /** Empty: all tasks that run, or with AllTasks all. */
  readonly TaskName: string;
  readonly AllTasks: boolean;
}
/** Answered when the old processes have ended and the new starts are triggered: the asker knows how long that may take. */
export const restartAlloc = call<RestartAllocRequest, null>('agent.restartAlloc');

export interface SignalAllocRequest {
  readonly AllocID: string;
  /** Empty: all tasks. */
  readonly Task: string;
  readonly Signal: string;
}
export const signalAlloc = call<SignalAllocRequest, null>('agent.signalAlloc', { timeoutMs: 30_000 });

export interface CollectAllocsRequest {
  /** Empty: all that have ended. */
  readonly AllocID: string;
}
/** Removes what ended allocations left on the machine; the servers' records stay. */
export const collectAllocs = call<CollectAllocsRequest, null>('agent.collectAllocs', { timeoutMs: 60_000 });

export interface AllocChecksRequest {
  readonly AllocID: string;
}
/** Check ID → its last result (AG-146). */
export const allocChecks = call<AllocChecksRequest, Record<string, AllocCheckStatus>>('agent.allocChecks');
