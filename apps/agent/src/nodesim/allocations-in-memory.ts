import type { AllocationDirectories } from '../allocations/disk/allocation-directories.js';
import type { AllocationRecord, AllocationRecords } from '../allocations/records/allocation-record.js';
import type { TaskPaths } from '../drivers/driver.js';

/** Directories without files, because a simulated task writes none. */
export const noDirectories: AllocationDirectories = {
  async build(allocId, task): Promise<TaskPaths> {
    const allocDir = `/simulated/${allocId}/alloc`;
    const taskDir = `/simulated/${allocId}/${task}`;
    return {
      allocDir,
      taskDir,
      logsDir: `${allocDir}/logs`,
      localDir: `${taskDir}/local`,
      secretsDir: `${taskDir}/secrets`,
      privateDir: `${taskDir}/private`,
    };
  },
  list: async () => [],
  exists: async () => false,
  inheritDisk: async () => {},
  remove: async () => {},
};

/**
 * Records that store nothing. A simulated machine that restarts has lost its allocations, like a machine with a new
 * disk.
 */
export const noRecords: AllocationRecords = {
  save: async () => {},
  remove: async () => {},
  load: async (): Promise<AllocationRecord[]> => [],
};
