import { call } from './call.js';

/**
 * The next lines of a machine's log, for one reader (OP-82): the first call begins the reading, and whoever stops asking
 * has ended it. Answered as soon as there are lines, and after a while without.
 */
export interface ReadAgentLogRequest {
  /** Of this reader alone; it chooses it. */
  readonly ReaderID: string;
  /** Of the least important lines wanted, as loggers rank them. */
  readonly Rank: number;
}
export interface ReadAgentLogResponse {
  /** JSON lines, oldest first. */
  readonly Lines: readonly string[];
  /** So many came between this answer and the one before it that they were let go. */
  readonly Dropped: number;
}

/** A machine that is there answers after a second at most; who watches its log should hear soon that it is gone, ms. */
const TIMEOUT_MS = 3_000;

/** To one machine: the target is the node's id. */
export const readAgentLog = call<ReadAgentLogRequest, ReadAgentLogResponse>('agent.readAgentLog', {
  timeoutMs: TIMEOUT_MS,
});
