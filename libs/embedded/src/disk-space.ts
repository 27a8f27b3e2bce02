import { statfs } from 'node:fs/promises';
import { DiskFullError } from './failures.js';

/** Less than this and a server's next segment file may already fail (PostgreSQL's are 16 MiB). */
const ENOUGH_BYTES = 32 * 1024 * 1024;
/** Less than this counts as full while a server runs. */
const FULL_BYTES = 2 * 1024 * 1024;

export type DiskSpace = 'enough' | 'low' | 'full';

/** How much room the disk of `dir` has for this user. `enough` where the system doesn't say. */
export async function diskSpace(dir: string): Promise<DiskSpace> {
  try {
    const { bavail, bsize } = await statfs(dir);
    return diskSpaceOf(bavail * bsize);
  } catch {
    return 'enough';
  }
}

export function diskSpaceOf(freeBytes: number): DiskSpace {
  if (freeBytes < FULL_BYTES) return 'full';
  return freeBytes < ENOUGH_BYTES ? 'low' : 'enough';
}

/** Throws DiskFullError unless a server has room to start in `dir`. */
export async function assertDiskSpace(dir: string): Promise<void> {
  if ((await diskSpace(dir)) !== 'enough') throw new DiskFullError(dir);
}
