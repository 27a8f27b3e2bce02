import { closeSync, fstatSync, openSync, readSync, rmSync, statSync } from 'node:fs';

/** The size in bytes above which a log is emptied at the next start. */
const LIMIT_BYTES = 16 * 1024 * 1024;
const TAIL_BYTES = 8 * 1024;

/** Prepares the log for another run; returns the offset at which that run's output begins. */
export function beginServerLog(file: string): number {
  const size = serverLogSize(file);
  if (size <= LIMIT_BYTES) return size;
  rmSync(file, { force: true });
  return 0;
}

/** Returns the size of the log in bytes; 0 if there is none. */
export function serverLogSize(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

/** Returns the last 8 KiB of the log since `offset`. */
export function serverLogSince(file: string, offset: number): string {
  let fd: number;
  try {
    fd = openSync(file, 'r');
  } catch {
    return '';
  }
  try {
    const { size } = fstatSync(fd);
    const from = Math.max(offset, size - TAIL_BYTES);
    const buffer = Buffer.alloc(Math.max(0, size - from));
    return buffer.toString('utf8', 0, readSync(fd, buffer, 0, buffer.length, from));
  } finally {
    closeSync(fd);
  }
}
