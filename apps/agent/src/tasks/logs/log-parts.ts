import { constants, lstat } from 'node:fs/promises';
import { isErrno } from '@waybill/processes';
import { deletedBytesFile, logNumbers, MAX_LOG_NUMBER, openInLogs } from './log-file-names.js';
import { below, pathName } from '../../paths/path-name.js';

/**
 * DeletedPart describes the deleted files of a log: their bytes, and their highest number `through`. All remaining
 * files have higher numbers.
 */
export interface DeletedPart {
  readonly bytes: number;
  readonly through: number;
}

const NOTHING_DELETED: DeletedPart = { bytes: 0, through: -1 };

/** LogPart is one file of a log, with its position in the whole log. */
export interface LogPart {
  readonly name: string;
  readonly from: number;
  readonly size: number;
}

/**
 * Returns the last note of the deleted part. The note is written before a file is deleted, so a file that still exists
 * may be counted already. The result is empty if the note cannot be read; tasks may write anything there.
 */
export async function deletedPart(dir: string, base: string): Promise<DeletedPart> {
  try {
    const file = await openInLogs(dir, deletedBytesFile(base), constants.O_RDONLY);
    try {
      // An agent of an earlier version wrote only the bytes.
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

/** Returns the files of a log, in order. Cost: O(files of the directory). */
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
      // A file was deleted during the listing, so it begins again.
      if (isErrno(error, 'ENOENT')) return logParts(dir, base);
      throw error;
    }
  }
  return parts;
}

/** Returns the number of bytes that a log received, including those of its deleted files. */
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
