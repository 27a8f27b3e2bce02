import { lstat, mkdir, rm, rmdir } from 'node:fs/promises';
import path from 'node:path';
import { isErrno } from '@waybill/processes';
import { isMountPoint } from '../../allocations/disk/mount-table.store.js';

/** The directories in which volumes are mounted, as the mounter needs them. */
export interface MountPlaces {
  isMounted(place: string): Promise<boolean>;
  exists(place: string): Promise<boolean>;
  /** With all above it; for the agent and plugins only. */
  make(directory: string): Promise<void>;
  /** An empty directory, or nothing. @throws when something is in it or mounted there */
  remove(directory: string): Promise<void>;
  /** The socket of a plugin that is gone, with its directory. */
  removeSocket(socketPath: string): Promise<void>;
  /** The directory and those above it as far as they are empty, up to `root`. */
  removeEmpty(directory: string, root: string): Promise<void>;
}

/** Nothing here removes anything but empty directories and sockets: what is below a mount is not the agent's. */
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
