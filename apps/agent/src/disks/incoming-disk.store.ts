import { chmod, mkdir, open, rm } from 'node:fs/promises';
import path from 'node:path';
import type { AllocDirectoryStore } from './alloc-directories.store.js';
import type { IncomingDisk } from './previous-disk.js';

/** Beside the directories of the tasks, whose names cannot begin with a dot. */
const UNFINISHED = '.incoming';

/** A disk under way, in a directory of its own below that of the allocation, moved into place when it is whole. */
export function incomingDisk(directories: AllocDirectoryStore, allocId: string): IncomingDisk {
  const unfinished = path.join(allocId, UNFINISHED);
  const root = directories.directoryOf(unfinished);
  return {
    directory: async (name, mode) => {
      await mkdir(path.join(root, name), { recursive: true });
      await chmod(path.join(root, name), mode); // the process's umask must not decide it
    },
    file: async (name, mode) => {
      const file = await open(path.join(root, name), 'wx', 0o600);
      await file.chmod(mode);
      return { write: (data) => file.writeFile(data), close: () => file.close() };
    },
    complete: async (tasks) => {
      await directories.inherit(unfinished, allocId, tasks);
      await rm(root, { recursive: true, force: true });
    },
    discard: () => rm(root, { recursive: true, force: true }),
  };
}
