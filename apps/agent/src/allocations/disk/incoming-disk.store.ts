import { chmod, mkdir, open, rm } from 'node:fs/promises';
import { type AllocationDirectoryStore, inheritDirectories } from './allocation-directories.store.js';
import type { IncomingDisk } from './previous-disk.js';
import { below, belowAsText } from '../../paths/path-name.js';

/** The directory's name beside the directories of tasks. No task can have this name. */
const UNFINISHED = '.incoming';

/** Returns an unfinished disk in its own directory below that of the allocation. `complete` moves it into place. */
export function incomingDisk(directories: AllocationDirectoryStore, allocId: string): IncomingDisk {
  const root = below(directories.directoryOf(allocId), UNFINISHED);
  return {
    directory: async (name, mode) => {
      await mkdir(belowAsText(root, name), { recursive: true });
      await chmod(belowAsText(root, name), mode); // independent of the process's umask
    },
    file: async (name, mode) => {
      const file = await open(belowAsText(root, name), 'wx', 0o600);
      await file.chmod(mode);
      return { write: (data) => file.writeFile(data), close: () => file.close() };
    },
    complete: async (tasks) => {
      await inheritDirectories(root, directories.directoryOf(allocId), tasks);
      await rm(root, { recursive: true, force: true });
    },
    discard: () => rm(root, { recursive: true, force: true }),
  };
}
