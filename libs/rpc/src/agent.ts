import { call } from './call.js';

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
  /** The task is dead and everything was read. */
  readonly Ended: boolean;
}

/** To one machine: the target is the node's id. */
export const readLog = call<ReadLogRequest, ReadLogResponse>('agent.readLog', { timeoutMs: 30_000 });
