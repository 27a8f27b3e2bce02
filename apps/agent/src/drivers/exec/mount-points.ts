import { lstat, mkdir, realpath, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { INSIDE, StartError, type TaskConfig, type TaskMount, type TaskPaths } from '../driver.js';
import type { Chroot } from './chroot.js';
import type { EnclosureMount } from './enclosure.js';
import { isPassedOn } from '../../disks/mount-table.store.js';

/** What the enclosure itself mounts. */
const OF_THE_ENCLOSURE = ['/proc', '/dev', '/private'];
const FOR_READING = 'ro,nosuid,nodev';
const FOR_WRITING = 'nosuid,nodev';
const FOR_SECRETS = 'nosuid,nodev,noexec';

/**
 * What is mounted into the root of a task, outer places first, each place made ready: a directory or an empty file for a
 * file, and no link on the way, because the agent would follow it as root.
 * @throws StartError when a place is taken, or what is to be shared with the machine cannot be
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
  // They may be a file system of their own, which a mount of the task's directory alone leaves out.
  const secrets = { ...shared, options: FOR_SECRETS, source: paths.secretsDir, destination: INSIDE.secretsDir };
  const own = await Promise.all(mounts.map(mountOf));
  const all = [...machine, shared, secrets, ...own.toSorted((a, b) => (a.destination < b.destination ? -1 : 1))];
  for (const { source, destination } of all)
    if (destination !== '/dev') await makePlace(destination, paths, (await stat(source)).isDirectory());
  return all;
}

async function mountOf({ source, destination, readOnly, propagation }: TaskMount): Promise<EnclosureMount> {
  const at = path.resolve('/', destination);
  // A device is of use only where devices are.
  const flags = at === '/dev' || at.startsWith('/dev/') ? 'nosuid' : FOR_WRITING;
  const options = readOnly ? `ro,${flags}` : flags;
  if (propagation === 'bidirectional') {
    if (!(await isPassedOn(source)))
      throw new StartError(`${source} is not on a shared mount: what is mounted at ${at} would be seen by nobody`);
    return { how: 'rbind', propagation: 'rshared', options, source, destination: at };
  }
  if (propagation === 'host-to-task') return { how: 'rbind', propagation: 'rslave', options, source, destination: at };
  // What is mounted below would stay writable: it is left out.
  const how = readOnly ? 'bind' : 'rbind';
  return { how, propagation: readOnly ? 'private' : 'rprivate', options, source, destination: at };
}

async function makePlace(destination: string, { allocDir, taskDir }: TaskPaths, isDirectory: boolean): Promise<void> {
  const isShared = destination.startsWith(`${INSIDE.allocDir}/`);
  const root = await realpath(isShared ? allocDir : taskDir);
  const place = path.join(root, isShared ? path.relative(INSIDE.allocDir, destination) : destination);
  const taken = new StartError(`${destination} of the task is taken: nothing can be mounted there`);
  await noLinks(root, place, taken);
  if (isDirectory) await mkdir(place, { recursive: true }).catch(() => Promise.reject(taken));
  else {
    await mkdir(path.dirname(place), { recursive: true }).catch(() => Promise.reject(taken));
    await writeFile(place, '', { flag: 'a' });
  }
  if ((await stat(place)).isDirectory() !== isDirectory) throw taken;
}

async function noLinks(root: string, place: string, taken: StartError): Promise<void> {
  for (let at = place; at !== root && at.startsWith(root); at = path.dirname(at)) {
    const there = await lstat(at).catch(() => undefined);
    if (there?.isSymbolicLink()) throw taken;
  }
}
