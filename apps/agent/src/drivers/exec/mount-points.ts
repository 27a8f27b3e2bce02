import { constants } from 'node:fs';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { INSIDE, StartError, type TaskConfig, type TaskMount, type TaskPaths } from '../driver.js';
import type { Chroot } from './chroot.js';
import type { EnclosureMount } from './enclosure.js';
import { openItself } from '../../paths/plain-file.store.js';
import { OpenDirectory } from '../../paths/open-directory.store.js';
import { asAbsolute, entryName } from '../../paths/path-name.js';
import { isPassedOn } from '../../allocations/disk/mount-table.store.js';

/** The paths that the enclosure itself mounts. */
const OF_THE_ENCLOSURE = ['/proc', '/dev', '/private'];
const FOR_READING = 'ro,nosuid,nodev';
const FOR_WRITING = 'nosuid,nodev';
const FOR_SECRETS = 'nosuid,nodev,noexec';

/**
 * Returns the mounts of a task's root, outer places first, and prepares each place: a directory, or an empty file for a
 * file. No part of a place may be a link, because the agent would follow it as root.
 * @throws StartError if a place is taken, or if a mount cannot be shared with the machine
 */
export async function enclosureMounts(
  { paths, mounts = [] }: Pick<TaskConfig, 'paths' | 'mounts'>,
  chroot: Chroot,
): Promise<EnclosureMount[]> {
  for (const place of OF_THE_ENCLOSURE) await makePlace(place, paths, true);
  const machine = chroot.entries.map(({ source, destination }): EnclosureMount => {
    return { how: 'bind', propagation: 'private', options: FOR_READING, source, destination };
  });
  const shared: EnclosureMount = {
    how: 'bind',
    propagation: 'private',
    options: FOR_WRITING,
    source: paths.allocDir,
    destination: INSIDE.allocDir,
  };
  // The secrets may be on a file system of their own, which a mount of the task's directory does not include.
  const secrets = { ...shared, options: FOR_SECRETS, source: paths.secretsDir, destination: INSIDE.secretsDir };
  const own = await Promise.all(mounts.map(mountOf));
  const all = [...machine, shared, secrets, ...own.toSorted((a, b) => (a.destination < b.destination ? -1 : 1))];
  for (const { source, destination } of all)
    if (destination !== '/dev') await makePlace(destination, paths, (await stat(source)).isDirectory());
  return all;
}

async function mountOf({ source, destination, readOnly, propagation }: TaskMount): Promise<EnclosureMount> {
  const at = asAbsolute(destination);
  // Devices work only in mounts at or below /dev.
  const flags = at === '/dev' || at.startsWith('/dev/') ? 'nosuid' : FOR_WRITING;
  const options = readOnly ? `ro,${flags}` : flags;
  if (propagation === 'bidirectional') {
    if (!(await isPassedOn(source)))
      throw new StartError(`${source} is not on a shared mount: what is mounted at ${at} would be seen by nobody`);
    return { how: 'rbind', propagation: 'rshared', options, source, destination: at };
  }
  if (propagation === 'host-to-task') return { how: 'rbind', propagation: 'rslave', options, source, destination: at };
  // A read-only mount leaves out the mounts below it, because they would stay writable.
  const how = readOnly ? 'bind' : 'rbind';
  return { how, propagation: readOnly ? 'private' : 'rprivate', options, source, destination: at };
}

const WALK = { make: true, links: 'none', closesNotes: false } as const;

/**
 * Makes a place by opening each segment instead of checking it. If a task of the allocation makes a link meanwhile, the
 * start is refused.
 */
async function makePlace(destination: string, { allocDir, taskDir }: TaskPaths, isDirectory: boolean): Promise<void> {
  const isShared = destination.startsWith(`${INSIDE.allocDir}/`);
  const root = isShared ? allocDir : taskDir;
  const relative = isShared ? path.relative(INSIDE.allocDir, destination) : destination.slice(1);
  try {
    const above = await OpenDirectory.find(root, path.dirname(relative), WALK);
    try {
      const name = entryName(path.basename(relative));
      if (isDirectory) await (await above.openChild(name, true)).close();
      else
        await (
          await openItself(above.pathOfEntry(name), destination, constants.O_WRONLY | constants.O_CREAT, 0o644)
        ).close();
    } finally {
      await above.close();
    }
  } catch {
    throw new StartError(`${destination} of the task is taken: nothing can be mounted there`);
  }
}
