import { readFile, realpath, statfs } from 'node:fs/promises';
import { DiskFullError } from './failures.js';

/** Less than this and a server's next segment file may already fail (PostgreSQL's are 16 MiB). */
const ENOUGH_BYTES = 32 * 1024 * 1024;
/** Less than this counts as full while a server runs. */
const FULL_BYTES = 2 * 1024 * 1024;

export type DiskSpace = 'enough' | 'low' | 'full';

/** What a server's disks have room for, and the directory of the one that has least. */
export interface DiskRoom {
  readonly space: DiskSpace;
  readonly dir: string;
}

/** The least room that this user has on any disk below `dir`: its own, and those that are mounted further down. */
export async function leastRoom(dir: string): Promise<DiskRoom> {
  let least: DiskRoom = { space: await diskSpace(dir), dir };
  for (const mounted of await mountedBelow(dir)) {
    const space = await diskSpace(mounted);
    if (ORDER.indexOf(space) < ORDER.indexOf(least.space)) least = { space, dir: mounted };
  }
  return least;
}

const ORDER: readonly DiskSpace[] = ['full', 'low', 'enough'];

/** Bytes that the whole disk of `dir` holds; undefined where the system doesn't say. */
export async function diskSize(dir: string): Promise<number | undefined> {
  try {
    const { blocks, bsize } = await statfs(dir);
    return blocks * bsize || undefined;
  } catch {
    return undefined;
  }
}

/** `enough` where the system doesn't say. */
async function diskSpace(dir: string): Promise<DiskSpace> {
  try {
    const { bavail, bsize } = await statfs(dir);
    return diskSpaceOf(bavail * bsize);
  } catch {
    return 'enough';
  }
}

/** None where the system doesn't say: there is no such list outside Linux. */
async function mountedBelow(dir: string): Promise<string[]> {
  try {
    return mountPointsBelow(await readFile('/proc/self/mountinfo', 'utf8'), await realpath(dir));
  } catch {
    return [];
  }
}

/** @param mountInfo as `proc(5)` describes it: the fifth field is the mount point, with spaces and the like in octal */
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
