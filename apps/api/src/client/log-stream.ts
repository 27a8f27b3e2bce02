import { MAX_LOG_CHUNK_BYTES, readLog, type ReadLogRequest, type ReadLogResponse, type Rpc } from '@waybill/rpc';

/** Data of one frame (API-78). */
const MAX_FRAME_BYTES = 64 * 1024;
/** How long the agent waits for new bytes before it says there are none; then a heartbeat is written. */
const FOLLOW_WAIT_MS = 1_000;

export interface LogStreamRequest {
  readonly nodeId: string;
  readonly allocId: string;
  readonly task: string;
  readonly type: 'stdout' | 'stderr';
  readonly origin: 'start' | 'end';
  readonly offset: number;
  readonly follow: boolean;
}

/** A piece of a task's log, or null for "nothing new" while following. */
export type LogPiece = { readonly data: Buffer; readonly offset: number; readonly file: string } | null;

/**
 * A task's log in pieces of at most MAX_FRAME_BYTES, asked from the agent that has it; with `follow` until the task has
 * ended and everything was read, or the signal is aborted. Holds one answer of the agent.
 * @throws RpcError, RpcUnavailableError
 */
export async function* readTaskLog(rpc: Rpc, wanted: LogStreamRequest, signal: AbortSignal): AsyncGenerator<LogPiece> {
  const { nodeId, allocId, task, type } = wanted;
  const at = { AllocID: allocId, Task: task, Type: type, Limit: MAX_LOG_CHUNK_BYTES };
  let next: ReadLogRequest = { ...at, Origin: wanted.origin, Offset: wanted.offset, WaitMs: 0 };
  while (!signal.aborted) {
    const answer: ReadLogResponse = await rpc.ask(readLog, next, { target: nodeId });
    const data = Buffer.from(answer.Data, 'base64');
    for (let from = 0; from < data.length; from += MAX_FRAME_BYTES)
      yield {
        data: data.subarray(from, from + MAX_FRAME_BYTES),
        offset: answer.NextOffset - data.length + Math.min(from + MAX_FRAME_BYTES, data.length),
        file: answer.File,
      };
    if (data.length === 0) {
      if (answer.Ended || !wanted.follow) return;
      yield null;
    }
    next = { ...at, Origin: 'start', Offset: answer.NextOffset, WaitMs: wanted.follow ? FOLLOW_WAIT_MS : 0 };
  }
}
