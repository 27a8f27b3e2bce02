import { type ApiReply, beginStream } from '../http/reply.js';

/** Data of one frame, bytes (API-78). */
export const MAX_FRAME_BYTES = 64 * 1024;

/** A piece of a file on its way to the client, `offset` its first byte's; null: nothing new while following. */
export type FilePiece = {
  readonly data: Buffer;
  readonly offset: number;
  readonly file: string;
  readonly event?: string;
} | null;

/** Cuts what an agent answered into pieces that fit frames. `offset`: of the first byte. */
export function* framePieces(data: Buffer, offset: number, file: string): Generator<FilePiece> {
  for (let from = 0; from < data.length; from += MAX_FRAME_BYTES)
    yield { data: data.subarray(from, from + MAX_FRAME_BYTES), offset: offset + from, file };
}

/**
 * Sends pieces as they come: frames, or with `plain` the bytes alone (AG-313). The first piece decides about the status;
 * after it there is only the end of the body (AG-315). A client that does not read holds the source up (AG-314), one that
 * has gone ends it.
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
    if (!raw.write(chunk) && !gone.aborted) await drained(raw, gone);
  }
  raw.end();
  await pieces.return(undefined);
}

const END = { done: true, value: undefined } as const;

/** One JSON object, no separator needed; `{}` is a heartbeat (API-78); empty members are left out. */
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

function drained(raw: ApiReply['raw'], gone: AbortSignal): Promise<void> {
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
