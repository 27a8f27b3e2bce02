import { constants } from 'node:fs/promises';
import { isErrno } from '@waybill/processes';
import { MAX_LOG_CHUNK_BYTES } from '@waybill/rpc';
import { logBase, type LogType, openInLogs } from './log-file-names.js';
import { type LogPart, logParts } from './log-parts.js';

/** The interval in milliseconds between two looks for new bytes. Output is visible within 100 ms (AG-243). */
const LOOK_MS = 50;
/** The longest wait of one read in milliseconds. A follower asks again. */
export const MAX_LOG_WAIT_MS = 20_000;

export interface LogRead {
  readonly logsDir: string;
  readonly task: string;
  readonly type: LogType;
  readonly origin: 'start' | 'end';
  readonly offset: number;
  readonly limit: number;
  readonly waitMs: number;
}

export interface LogChunk {
  readonly data: Buffer;
  /** The offset after the last returned byte, counted from the first byte that the task ever wrote. */
  readonly nextOffset: number;
  readonly file: string;
  /** The offset after the last available byte, counted in the same way. */
  readonly available: number;
}

/**
 * Reads a task's log across its files. Offsets count from the first byte ever written, so they stay valid when old
 * files are deleted. A reader whose offset was deleted continues with the oldest available byte (AG-452). A read also
 * waits for an ended task, because the task may start again (AG-316).
 * @returns undefined if the task has no log
 * @throws NotPlainError
 */
export async function readLogChunk(read: LogRead): Promise<LogChunk | undefined> {
  const deadline = performance.now() + Math.min(read.waitMs, MAX_LOG_WAIT_MS);
  let offset: number | undefined;
  for (;;) {
    const parts = await logParts(read.logsDir, logBase(read.task, read.type));
    const last = parts.at(-1);
    if (last) {
      const total = last.from + last.size;
      offset ??= read.origin === 'end' ? Math.max(0, total - read.offset) : read.offset;
      const chunk = await chunkAt(read.logsDir, parts, offset, Math.min(read.limit, MAX_LOG_CHUNK_BYTES));
      if (!chunk) continue; // the file was rotated away since the listing (AG-312)
      if (chunk.data.length > 0 || performance.now() >= deadline) return { ...chunk, available: total };
    } else if (performance.now() >= deadline) return undefined;
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}

/** Reads a chunk, or returns undefined if its file is gone. */
async function chunkAt(
  dir: string,
  parts: readonly LogPart[],
  offset: number,
  limit: number,
): Promise<Omit<LogChunk, 'available'> | undefined> {
  const at = Math.max(offset, parts[0]?.from ?? 0);
  const part = parts.find(({ from, size }) => at < from + size) ?? parts.at(-1);
  if (!part || limit <= 0) return { data: Buffer.alloc(0), nextOffset: at, file: part?.name ?? '' };
  const length = Math.max(0, Math.min(limit, part.from + part.size - at));
  const data = Buffer.alloc(length);
  const file = await openInLogs(dir, part.name, constants.O_RDONLY).catch((error: unknown) => {
    if (!isErrno(error, 'ENOENT')) throw error;
  });
  if (!file) return undefined;
  try {
    const { bytesRead } = await file.read(data, 0, length, at - part.from);
    return { data: data.subarray(0, bytesRead), nextOffset: at + bytesRead, file: part.name };
  } finally {
    await file.close();
  }
}
