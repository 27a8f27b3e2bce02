import { statSync, type Stats } from 'node:fs';

/** Codes of the system for a path that leads this process to nothing. */
const LEADS_NOWHERE = new Set(['ENOENT', 'ENOTDIR', 'EACCES', 'ELOOP', 'ENAMETOOLONG']);

/**
 * The file or directory at a path, links followed. Undefined: this process finds none there, because it does not exist,
 * because a directory on the way may not be searched, because its links form a circle, or because its name is too long.
 * Node's own `throwIfNoEntry` covers a missing file only.
 * @throws the error of the disk
 */
export function statOrNone(file: string): Stats | undefined {
  try {
    return statSync(file);
  } catch (error) {
    if (LEADS_NOWHERE.has(String((error as NodeJS.ErrnoException).code))) return undefined;
    throw error;
  }
}
