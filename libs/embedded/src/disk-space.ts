import { readFile, realpath, statfs } from 'node:fs/promises';
import { DiskFullError } from './failures.js';

/** The room in bytes below which a server's next segment file may fail (PostgreSQL's are 16 MiB). */
const ENOUGH_BYTES = 32 * 1024 * 1024;
/** The room in bytes below which a disk counts as full while a server runs. */
const FULL_BYTES = 2 * 1024 * 1024;

export type DiskSpace = 'enough' | 'low' | 'full';

/** DiskRoom is the room on a server's disks, and the directory of the disk with the least room. */
export interface DiskRoom {
  readonly space: DiskSpace;
  readonly dir: string;
}

/**
 * Returns the least room that this user has on any disk below `dir`: its own disk and those that are mounted further
 * down.
 */
export async function leastRoom(dir: string): Promise<DiskRoom> {
  let least: DiskRoom = { space: await diskSpace(dir), dir };
  for (const mounted of await mountedBelow(dir)) {
    const space = await diskSpace(mounted);
    if (ORDER.indexOf(space) < ORDER.indexOf(least.space)) least = { space, dir: mounted };
  }
  return least;
}

const ORDER: readonly DiskSpace[] = ['full', 'low', 'enough'];

/** Returns the size of the whole disk of `dir` in bytes. The result is undefined if the system doesn't report it. */
export async function diskSize(dir: string): Promise<number | undefined> {
  try {
    const { blocks, bsize } = await statfs(dir);
    return blocks * bsize || undefined;
  } catch {
    return undefined;
  }
}

/** Returns the room on a disk. It is `enough` if the system doesn't report it. */
async function diskSpace(dir: string): Promise<DiskSpace> {
  try {
    const { bavail, bsize } = await statfs(dir);
    return diskSpaceOf(bavail * bsize);
  } catch {
    return 'enough';
  }
}

/** Returns the mounted directories below `dir`. There are none if the system has no such list, as outside Linux. */
async function mountedBelow(dir: string): Promise<string[]> {
  try {
    return mountPointsBelow(await readFile('/proc/self/mountinfo', 'utf8'), await realpath(dir));
  } catch {
    return [];
  }
}

/**
 * @param mountInfo the text that `proc(5)` describes: the fifth field is the mount point, with spaces and the like in
 * octal
 */
export function mountPointsBelow(mountInfo: string, dir: string): string[] {
  return mountInfo
    .split('\n')
    .map((line) => line.split(' ')[4] ?? '')
    .map((point) => point.replaceAll(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(parseInt(octal, 8))))
    .filter((point) => point.startsWith(`${dir}/`));
}

export function diskSpaceOf(freeBytes: number): DiskSpace {
  if (freeBytes < FULL_BYTES) return 'full';
  return freeBytes < ENOUGH_BYTES ? 'low' : 'enough';
}

/** Throws DiskFullError unless a server has room to start in `dir`. */
export async function assertDiskSpace(dir: string): Promise<void> {
  const room = await leastRoom(dir);
  if (room.space !== 'enough') throw new DiskFullError(room.dir);
}
