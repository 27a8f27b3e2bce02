import { constants, lstat } from 'node:fs/promises';
import { isErrno } from '@waybill/processes';
import { deletedBytesFile, logNumbers, MAX_LOG_NUMBER, openInLogs } from './log-file-names.js';
import { below, pathName } from '../../paths/path-name.js';

/** What deleted files of a log held; none has a number above `through`, and none that is left one up to it. */
export interface DeletedPart {
  readonly bytes: number;
  readonly through: number;
}

const NOTHING_DELETED: DeletedPart = { bytes: 0, through: -1 };

/** One file of a log, and where it is in all that the log was ever given. */
export interface LogPart {
  readonly name: string;
  readonly from: number;
  readonly size: number;
}

/**
 * As it was written down last, which is before a file is deleted: one that still is there is counted already.
 * Nothing where that cannot be read; what tasks write there may be anything.
 */
export async function deletedPart(dir: string, base: string): Promise<DeletedPart> {
  try {
    const file = await openInLogs(dir, deletedBytesFile(base), constants.O_RDONLY);
    try {
      // An agent of an earlier version has written the bytes alone.
      const [bytes = 0, through = NOTHING_DELETED.through] = (await file.readFile('utf8')).split(' ').map(Number);
      const isSound = Number.isSafeInteger(bytes) && Number.isInteger(through) && through < MAX_LOG_NUMBER;
      return isSound ? { bytes, through } : NOTHING_DELETED;
    } finally {
      await file.close();
    }
  } catch {
    return NOTHING_DELETED;
  }
}

/** The files of a log, in order. O(files of the directory). */
export async function logParts(dir: string, base: string): Promise<LogPart[]> {
  const numbers = await logNumbers(dir, base);
  const { bytes, through } = await deletedPart(dir, base);
  const parts: LogPart[] = [];
  let from = bytes;
  for (const number of numbers.filter((one) => one > through)) {
    const name = `${base}.${number}`;
    try {
      const { size } = await lstat(below(dir, pathName(name)));
      parts.push({ name, from, size });
      from += size;
    } catch (error) {
      // Deleted while we looked: begin again with what is there now.
      if (isErrno(error, 'ENOENT')) return logParts(dir, base);
      throw error;
    }
  }
  return parts;
}

/** Bytes that a log was given, those of its deleted files included. */
export async function bytesEverWritten({
  dir,
  base,
}: {
  readonly dir: string;
  readonly base: string;
}): Promise<number> {
  const last = (await logParts(dir, base)).at(-1);
  return last ? last.from + last.size : (await deletedPart(dir, base)).bytes;
}
