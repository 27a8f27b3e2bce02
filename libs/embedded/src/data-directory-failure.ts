import { CannotCreateDirectoryError, LockHeldError } from '@waybill/processes';
import { DataDirectoryError, DiskFullError } from './failures.js';

/** Converts a failed file operation in `dir` to its named error. Other errors come back unchanged. */
export function asDataDirectoryFailure(error: unknown, dir: string): unknown {
  if (error instanceof LockHeldError)
    return new DataDirectoryError(
      dir,
      'in-use',
      `${dir} is in use by process ${error.pid}: stop that one first or choose another data directory.`,
    );
  if (error instanceof CannotCreateDirectoryError)
    return new DataDirectoryError(dir, 'impossible', `cannot create ${error.dir}: choose another data directory`);
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  switch (code) {
    case 'ENOSPC':
    case 'EDQUOT':
      return new DiskFullError(dir);
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return new DataDirectoryError(
        dir,
        'permission',
        `No permission to write to ${dir}: choose another data directory or change its owner.`,
      );
    case 'ENOTDIR':
    case 'EEXIST':
      return new DataDirectoryError(dir, 'damaged', `${dir} is not a directory: choose another data directory.`);
    default:
      return error;
  }
}
