import { execFile } from 'node:child_process';
import { readFile, realpath } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { isErrno } from '@waybill/processes';
import { belowAsText } from '../../paths/path-name.js';

const run = promisify(execFile);

export interface Mount {
  readonly device: string;
  readonly point: string;
  /** The type of the file system. */
  readonly type: string;
  readonly options: readonly string[];
}

/**
 * Returns the mounts that this process sees, or none if the machine does not show them. Cost: O(mounts of the machine).
 * @throws the error if the table exists but cannot be read: a caller that is about to remove files must not take that
 * for no mounts
 */
export async function readMounts(table = '/proc/self/mounts'): Promise<Mount[]> {
  const text = await readFile(table, 'utf8').catch((error: unknown) => {
    if (isErrno(error, 'ENOENT')) return '';
    throw error;
  });
  return text
    .split('\n')
    .map((line) => line.split(' '))
    .flatMap(([device, point, type = '', options = '']) =>
      device !== undefined && point !== undefined
        ? [{ device, point: unescapePoint(point), type, options: options.split(',') }]
        : [],
    );
}

/**
 * Says whether a file system is mounted on a directory. The path may contain links. It does not access the mounted file
 * system, because that may hang.
 */
export async function isMountPoint(directory: string): Promise<boolean> {
  const place = await canonicalPath(directory);
  return (await readMounts()).some(({ point }) => point === place);
}

/** Returns the path with the links of its parent resolved. */
async function canonicalPath(place: string): Promise<string> {
  const above = path.dirname(place);
  return belowAsText(await realpath(above).catch(() => above), path.basename(place));
}

/** Returns the mount points at and below a directory. @throws an error if the table of mounts cannot be read */
export async function mountsFrom(directory: string): Promise<string[]> {
  const root = await canonicalPath(directory);
  return (await readMounts()).map(({ point }) => point).filter((at) => at === root || at.startsWith(root + path.sep));
}

/**
 * Unmounts all mounts below a directory, the innermost first, so that a later removal deletes no foreign files. A mount
 * in use disappears at once, and is released when it is no longer in use.
 * @param device unmount only mounts of this device; absent means all
 * @throws an error if a mount cannot be unmounted
 */
export async function unmountBelow(directory: string, device?: string): Promise<void> {
  const root = await realpath(directory).catch(() => directory);
  const points = (await readMounts())
    .filter((mount) => mount.point.startsWith(root + path.sep) && (device === undefined || mount.device === device))
    .map(({ point }) => point);
  if (points.length > 0) await run('umount', ['--lazy', ...points.toReversed()]);
}

/** Decodes a mount point. The kernel writes blanks as octal numbers. */
const unescapePoint = (point: string): string =>
  point.replaceAll(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));

/** Says whether mounts at a place propagate to other namespaces. Cost: O(mounts of the machine). */
export async function isPassedOn(directory: string): Promise<boolean> {
  const table = await readFile('/proc/self/mountinfo', 'utf8').catch(() => '');
  const at = await realpath(directory);
  const over = table
    .split('\n')
    .map((line) => line.split(' '))
    .map((fields) => ({ point: unescapePoint(fields[4] ?? ''), options: fields.slice(6) }))
    .filter(({ point }) => point !== '' && (at === point || at.startsWith(point === '/' ? '/' : `${point}/`)));
  // The last mount over a place is the visible one.
  const nearest = over.toSorted((a, b) => a.point.length - b.point.length).at(-1);
  return nearest?.options.some((option) => option.startsWith('shared:')) ?? false;
}
