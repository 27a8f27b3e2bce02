import { type FileHandle, readdir } from 'node:fs/promises';
import path from 'node:path';
import { isErrno } from '@waybill/processes';
import { openPlain } from '../../paths/plain-file.store.js';
import { OpenDirectory } from '../../paths/open-directory.store.js';
import { below, pathName } from '../../paths/path-name.js';

export type LogType = 'stdout' | 'stderr';

/** Returns the common start of a log's file names. A dot and a number follow, as in `<task>.stdout.0` (AG-240). */
export const logBase = (task: string, type: LogType): string => `${task}.${type}`;

/**
 * Returns the name of the file with the number of deleted bytes of a log. It makes offsets into the whole log exact.
 * Listings hide it.
 */
export const deletedBytesFile = (base: string): string => `.${base}.deleted`;

/** Opens a file of a log that tasks could have replaced. @param flags as in `constants` @throws NotPlainError */
export function openInLogs(dir: string, name: string, flags: number, mode?: number): Promise<FileHandle> {
  const allocation = path.dirname(path.dirname(dir));
  return openPlain(allocation, path.relative(allocation, below(dir, pathName(name, 'the log'))), flags, mode);
}

/**
 * Opens the directory of an allocation's logs. Removals and renames then happen in it, even if a task that runs as root
 * has put a link in its place. The caller closes it.
 * @throws EscapesError, TakenError, and the file system's errors
 */
export function openLogs(dir: string): Promise<OpenDirectory> {
  const allocation = path.dirname(path.dirname(dir));
  const walk = { make: false, links: 'none', closesNotes: false } as const;
  return OpenDirectory.find(allocation, path.relative(allocation, dir), walk);
}

/**
 * The largest number of a log file. It is above all real numbers: a task could name a file so that there is no next
 * number.
 */
export const MAX_LOG_NUMBER = 999_999_999;

/** Returns the numbers of a log's files, ascending. The list is empty if the directory is gone. */
export async function logNumbers(dir: string, base: string): Promise<number[]> {
  let names: string[];
  try {
    names = await readdir(dir);
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return [];
    throw error;
  }
  return names
    .filter((name) => name.startsWith(`${base}.`) && /^\d+$/.test(name.slice(base.length + 1)))
    .map((name) => Number(name.slice(base.length + 1)))
    .filter((number) => number < MAX_LOG_NUMBER)
    .toSorted((a, b) => a - b);
}
