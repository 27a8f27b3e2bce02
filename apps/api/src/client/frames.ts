import { type ApiReply, beginStream } from '../http/reply.js';

/** The largest size of the data in one frame, in bytes (API-78). */
export const MAX_FRAME_BYTES = 64 * 1024;

/**
 * FilePiece is a piece of a file for the client; `offset` is the offset of its first byte. null says that there is
 * nothing new while following.
 */
export type FilePiece = {
  readonly data: Buffer;
  readonly offset: number;
  readonly file: string;
  readonly event?: string;
} | null;

/** Cuts an agent's answer into pieces that fit frames. `offset` is the offset of the first byte. */
export function* framePieces(data: Buffer, offset: number, file: string): Generator<FilePiece> {
  for (let from = 0; from < data.length; from += MAX_FRAME_BYTES)
    yield { data: data.subarray(from, from + MAX_FRAME_BYTES), offset: offset + from, file };
}

/**
 * Sends pieces as they arrive: as frames, or with `plain` only their bytes (AG-313). The first piece decides the
 * status; after it an error can only end the body (AG-315). A client that does not read makes the source wait (AG-314),
 * and one that disconnects ends it.
 */
export async function sendPieces(
  reply: ApiReply,
  pieces: AsyncGenerator<FilePiece>,
  gone: AbortSignal,
  plain: boolean,
): Promise<void> {
  const first = await pieces.next();
  const raw = await beginStream(reply, 200);
  raw.writeHead(200, { 'Content-Type': plain ? 'text/plain; charset=utf-8' : 'application/json' });
  raw.flushHeaders();
  for (let step = first; !step.done && !gone.aborted; step = await pieces.next().catch(() => END)) {
    const chunk = plain ? (step.value?.data ?? '') : frameOf(step.value);
    if (!raw.write(chunk) && !gone.aborted) await awaitDrained(raw, gone);
  }
  raw.end();
  await pieces.return(undefined);
}

const END = { done: true, value: undefined } as const;

/**
 * Returns a frame: one JSON object, which needs no separator. `{}` is a heartbeat (API-78). Empty members are omitted.
 */
function frameOf(piece: FilePiece): string {
  if (!piece) return '{}';
  const { data, file, event } = piece;
  const behind = piece.offset + data.length; // the offset of a frame is that of its end (AG-308)
  return JSON.stringify({
    ...(behind > 0 && { Offset: behind }),
    ...(data.length > 0 && { Data: data.toString('base64') }),
    File: file,
    ...(event && { FileEvent: event }),
  });
}

function awaitDrained(raw: ApiReply['raw'], gone: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      raw.off('drain', done);
      gone.removeEventListener('abort', done);
      resolve();
    };
    raw.once('drain', done);
    gone.addEventListener('abort', done);
  });
}
