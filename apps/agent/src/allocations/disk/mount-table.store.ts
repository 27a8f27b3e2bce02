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
  /** Of the file system. */
  readonly type: string;
  readonly options: readonly string[];
}

/**
 * What is mounted where this process can see it; nothing where the machine does not tell. Cost: O(mounts of the machine).
 * @throws when the table is there and cannot be read: who is about to remove something must not take that for no mounts
 */
export async function mounts(table = '/proc/self/mounts'): Promise<Mount[]> {
  const text = await readFile(table, 'utf8').catch((error: unknown) => {
    if (isErrno(error, 'ENOENT')) return '';
    throw error;
  });
  return text
    .split('\n')
    .map((line) => line.split(' '))
    .flatMap(([device, point, type = '', options = '']) =>
      device !== undefined && point !== undefined
        ? [{ device, point: plain(point), type, options: options.split(',') }]
        : [],
    );
}

/** Also of a place whose way there leads over links. What is mounted there is not touched: it may not answer. */
export async function isMountPoint(directory: string): Promise<boolean> {
  const place = await canonical(directory);
  return (await mounts()).some(({ point }) => point === place);
}

/** Without the links on the way there. */
async function canonical(place: string): Promise<string> {
  const above = path.dirname(place);
  return belowAsText(await realpath(above).catch(() => above), path.basename(place));
}

/** Where something is mounted, of a directory and all that is below it. @throws when the table of mounts cannot be read */
export async function mountsFrom(directory: string): Promise<string[]> {
  const root = await canonical(directory);
  return (await mounts()).map(({ point }) => point).filter((at) => at === root || at.startsWith(root + path.sep));
}

/**
 * Takes away what is mounted below a directory, the innermost first: what is removed afterwards is nothing of others.
 * What is in use vanishes from here at once, and for good when it no longer is.
 * @param device only what is mounted of this; absent: everything
 * @throws when it cannot
 */
export async function unmountBelow(directory: string, device?: string): Promise<void> {
  const root = await realpath(directory).catch(() => directory);
  const points = (await mounts())
    .filter((mount) => mount.point.startsWith(root + path.sep) && (device === undefined || mount.device === device))
    .map(({ point }) => point);
  if (points.length > 0) await run('umount', ['--lazy', ...points.toReversed()]);
}

/** Blanks in a mount point are written as octal numbers. */
const plain = (point: string): string =>
  point.replaceAll(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));

/** Whether mounts at a place are seen in other namespaces too. Cost: O(mounts of the machine). */
export async function isPassedOn(directory: string): Promise<boolean> {
  const table = await readFile('/proc/self/mountinfo', 'utf8').catch(() => '');
  const at = await realpath(directory);
  const over = table
    .split('\n')
    .map((line) => line.split(' '))
    .map((fields) => ({ point: plain(fields[4] ?? ''), options: fields.slice(6) }))
    .filter(({ point }) => point !== '' && (at === point || at.startsWith(point === '/' ? '/' : `${point}/`)));
  // The last one mounted over a place is the one that is seen.
  const nearest = over.toSorted((a, b) => a.point.length - b.point.length).at(-1);
  return nearest?.options.some((option) => option.startsWith('shared:')) ?? false;
}
