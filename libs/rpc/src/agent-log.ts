import { call } from './call.js';
import { needs } from './user-needs.js';

/**
 * Reads the next lines of a machine's log for one reader (OP-82). The first call starts the reading, and the machine
 * ends it when the reader stops calling. The call returns as soon as there are lines, or without lines after a while.
 */
export interface ReadAgentLogRequest {
  /** ID of the reader, which it chooses itself. */
  readonly ReaderID: string;
  /** Lowest wanted severity, with the numbers of the logger. */
  readonly Rank: number;
}
export interface ReadAgentLogResponse {
  /** Lines of JSON, oldest first. */
  readonly Lines: readonly string[];
  /** Number of lines dropped since the previous response, because too many were written. */
  readonly Dropped: number;
}

/**
 * A reachable machine answers within a second. The limit is short so that a reader soon learns that the machine is
 * gone, in ms.
 */
const TIMEOUT_MS = 3_000;

/** Goes to one machine: the target is the node's ID. */
export const readAgentLog = call<ReadAgentLogRequest, ReadAgentLogResponse>('agent.readAgentLog', {
  timeoutMs: TIMEOUT_MS,
  userNeeds: needs({ kind: 'agent', level: 'read' }),
});
