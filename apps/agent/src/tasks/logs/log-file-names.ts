import { type FileHandle, readdir } from 'node:fs/promises';
import path from 'node:path';
import { isErrno } from '@waybill/processes';
import { openPlain } from '../../paths/plain-file.store.js';
import { OpenDirectory } from '../../paths/open-directory.store.js';
import { below, pathName } from '../../paths/path-name.js';

export type LogType = 'stdout' | 'stderr';

/** The common start of a log's file names; a dot and a number follow, as in `<task>.stdout.0` (AG-240). */
export const logBase = (task: string, type: LogType): string => `${task}.${type}`;

/** How many bytes of a log its deleted files held: makes offsets into the whole log exact. Hidden from listings. */
export const deletedBytesFile = (base: string): string => `.${base}.deleted`;

/** A file of a log that tasks could have replaced. @param flags of `constants` @throws NotPlainError */
export function openInLogs(dir: string, name: string, flags: number, mode?: number): Promise<FileHandle> {
  const allocation = path.dirname(path.dirname(dir));
  return openPlain(allocation, path.relative(allocation, below(dir, pathName(name, 'the log'))), flags, mode);
}

/**
 * The directory of an allocation's logs, open: what is removed or renamed in it is there, also where a task that runs as
 * root has put a link in its place. To be closed. @throws EscapesError, TakenError, and what the file system says
 */
export function openLogs(dir: string): Promise<OpenDirectory> {
  const allocation = path.dirname(path.dirname(dir));
  const walk = { make: false, links: 'none', closesNotes: false } as const;
  return OpenDirectory.find(allocation, path.relative(allocation, dir), walk);
}

/** Above all that a log comes to; a task could name a file so that there is no next number. */
export const MAX_LOG_NUMBER = 999_999_999;

/** Numbers of the files of a log, ascending; none if the directory is gone. */
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
