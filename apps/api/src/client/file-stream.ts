import { MAX_FILE_CHUNK_BYTES, readFile, type UserRpc } from '@waybill/rpc';
import { askAgent } from './agent-call.js';
import { type FilePiece, framePieces } from './frames.js';

/**
 * The time in milliseconds that the agent waits for new bytes before it answers that there are none. A heartbeat is
 * written then.
 */
const FOLLOW_WAIT_MS = 1_000;

export interface FileRange {
  readonly nodeId: string;
  readonly allocId: string;
  readonly path: string;
  readonly origin: 'start' | 'end';
  readonly offset: number;
  /** The number of bytes; Infinity stands for the rest of the file. */
  readonly limit: number;
  readonly follow: boolean;
}

/**
 * Reads a file in pieces from the agent that has it. With `follow` it continues until the file is deleted or the signal
 * is aborted (AG-307). Memory: one answer of the agent.
 * @throws Refusal; a missing file is 400 here (API-197)
 */
export async function* readAllocFile(rpc: UserRpc, range: FileRange, signal: AbortSignal): AsyncGenerator<FilePiece> {
  const { nodeId, allocId, path, follow } = range;
  let { origin, offset, limit } = range;
  let begun = false;
  while (!signal.aborted && limit > 0) {
    const Limit = Math.min(limit, MAX_FILE_CHUNK_BYTES);
    const WaitMs = follow && begun ? FOLLOW_WAIT_MS : 0;
    const wanted = { AllocID: allocId, Path: path, Origin: origin, Offset: offset, Limit, WaitMs };
    const answer = await askAgent(rpc, readFile, wanted, { target: nodeId }).catch((error: unknown) => {
      if (begun && follow) return DELETED;
      throw error;
    });
    const data = Buffer.from(answer.Data, 'base64');
    if (answer.FileEvent) yield { data: Buffer.alloc(0), offset: answer.Offset, file: path, event: answer.FileEvent };
    if (answer.FileEvent === 'file deleted') return;
    yield* framePieces(data, answer.Offset, path);
    if (data.length === 0 && !answer.FileEvent) {
      if (!follow) return;
      if (begun) yield null;
    }
    begun = true;
    limit -= data.length;
    [origin, offset] = ['start', answer.Offset + data.length];
  }
}

/** The piece that reports that the file, alone or with its directory, was deleted between two requests. */
const DELETED = { Data: '', Offset: 0, FileEvent: 'file deleted' } as const;
