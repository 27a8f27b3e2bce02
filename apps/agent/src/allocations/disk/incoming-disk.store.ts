import { chmod, mkdir, open, rm } from 'node:fs/promises';
import { type AllocationDirectoryStore, inherited } from './allocation-directories.store.js';
import type { IncomingDisk } from './previous-disk.js';
import { below, belowAsText } from '../../paths/path-name.js';

/** Beside the directories of the tasks, none of which can have this name. */
const UNFINISHED = '.incoming';

/** A disk under way, in a directory of its own below that of the allocation, moved into place when it is whole. */
export function incomingDisk(directories: AllocationDirectoryStore, allocId: string): IncomingDisk {
  const root = below(directories.directoryOf(allocId), UNFINISHED);
  return {
    directory: async (name, mode) => {
      await mkdir(belowAsText(root, name), { recursive: true });
      await chmod(belowAsText(root, name), mode); // the process's umask must not decide it
    },
    file: async (name, mode) => {
      const file = await open(belowAsText(root, name), 'wx', 0o600);
      await file.chmod(mode);
      return { write: (data) => file.writeFile(data), close: () => file.close() };
    },
    complete: async (tasks) => {
      await inherited(root, directories.directoryOf(allocId), tasks);
      await rm(root, { recursive: true, force: true });
    },
    discard: () => rm(root, { recursive: true, force: true }),
  };
}
