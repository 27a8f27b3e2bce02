import { MAX_LOG_CHUNK_BYTES, readLog, type ReadLogRequest, type ReadLogResponse, type UserRpc } from '@waybill/rpc';
import { askAgent } from './agent-call.js';
import { type FilePiece, framePieces } from './frames.js';

/**
 * The time in milliseconds that the agent waits for new bytes before it answers that there are none. A heartbeat is
 * written then.
 */
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

/**
 * Reads a task's log from the agent that has it, in pieces that fit frames. It reads what exists at the beginning. With
 * `follow` it also reads what follows, even from a task that ends and starts again, until the signal is aborted or the
 * allocation's files are gone (AG-311, AG-316). Memory: one answer of the agent.
 * @throws Refusal
 */
export async function* readTaskLog(
  rpc: UserRpc,
  wanted: LogStreamRequest,
  signal: AbortSignal,
): AsyncGenerator<FilePiece> {
  const { nodeId, allocId, task, type } = wanted;
  const at = { AllocID: allocId, Task: task, Type: type, Limit: MAX_LOG_CHUNK_BYTES };
  let next: ReadLogRequest = { ...at, Origin: wanted.origin, Offset: wanted.offset, WaitMs: 0 };
  let end: number | undefined;
  while (!signal.aborted) {
    const answer: ReadLogResponse = await askAgent(rpc, readLog, next, { target: nodeId });
    const data = Buffer.from(answer.Data, 'base64');
    const from = answer.NextOffset - data.length;
    if (!wanted.follow) end ??= answer.Available;
    yield* framePieces(end === undefined ? data : data.subarray(0, Math.max(0, end - from)), from, answer.File);
    if (!wanted.follow && (data.length === 0 || answer.NextOffset >= (end ?? 0))) return;
    if (data.length === 0) yield null;
    next = { ...at, Origin: 'start', Offset: answer.NextOffset, WaitMs: wanted.follow ? FOLLOW_WAIT_MS : 0 };
  }
}
