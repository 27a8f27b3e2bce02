import { lstat, mkdir, rm, rmdir } from 'node:fs/promises';
import path from 'node:path';
import { isErrno } from '@waybill/processes';
import { isMountPoint } from '../../allocations/disk/mount-table.store.js';

/** MountPlaces are the mounter's operations on the directories in which volumes are mounted. */
export interface MountPlaces {
  isMounted(place: string): Promise<boolean>;
  exists(place: string): Promise<boolean>;
  /** Makes a directory with all its parents, for the agent and plugins only. */
  make(directory: string): Promise<void>;
  /** Removes an empty directory, if it exists. @throws an error if it has contents or a mount */
  remove(directory: string): Promise<void>;
  /** Removes the socket of a plugin that is gone, with its directory. */
  removeSocket(socketPath: string): Promise<void>;
  /** Removes the directory and its parents up to `root`, as far as they are empty. */
  removeEmpty(directory: string, root: string): Promise<void>;
}

/**
 * The operations on this machine. They remove only empty directories and sockets, because the contents of a mount do
 * not belong to the agent.
 */
export const mountPlaces: MountPlaces = {
  isMounted: isMountPoint,
  exists: (place) =>
    lstat(place).then(
      () => true,
      () => false,
    ),
  make: async (directory) => void (await mkdir(directory, { recursive: true, mode: 0o700 })),
  remove: async (directory) => {
    await rmdir(directory).catch((error: unknown) => {
      if (!isErrno(error, 'ENOENT')) throw error;
    });
  },
  removeSocket: async (socketPath) => {
    await rm(socketPath, { force: true });
    await rmdir(path.dirname(socketPath)).catch((error: unknown) => {
      if (!isErrno(error, 'ENOENT')) throw error;
    });
  },
  removeEmpty: async (directory, root) => {
    for (let at = directory; at.startsWith(root + path.sep); at = path.dirname(at)) {
      try {
        await rmdir(at);
      } catch (error) {
        if (!isErrno(error, 'ENOENT')) return;
      }
    }
  },
};
