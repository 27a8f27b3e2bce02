import { statSync, type Stats } from 'node:fs';

/** The system's error codes for a path at which this process finds nothing. */
const LEADS_NOWHERE = new Set(['ENOENT', 'ENOTDIR', 'EACCES', 'ELOOP', 'ENAMETOOLONG']);

/**
 * Returns the file or directory at a path, following links. The result is undefined if it does not exist, if a
 * directory on the way may not be searched, if its links form a circle, or if its name is too long. Node's own
 * `throwIfNoEntry` covers only a missing file.
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
