import { chmodSync, mkdirSync, statSync } from 'node:fs';
import { DataDirectoryError } from './failures.js';

/**
 * The directory in which root keeps what PostgreSQL's unprivileged user must reach if the project lies in a private
 * place.
 */
export const SYSTEM_DIRECTORY = '/var/lib/waybill';

/** Creates the directory. Throws DataDirectoryError if someone else owns it. */
export function ensureSystemDirectory(): string {
  mkdirSync(SYSTEM_DIRECTORY, { recursive: true, mode: 0o755 });
  if (statSync(SYSTEM_DIRECTORY).uid !== 0)
    throw new DataDirectoryError(SYSTEM_DIRECTORY, 'permission', `${SYSTEM_DIRECTORY} is not owned by root: not used.`);
  chmodSync(SYSTEM_DIRECTORY, 0o755);
  return SYSTEM_DIRECTORY;
}
