import type { AllocationDirectories } from '../allocations/disk/allocation-directories.js';
import type { AllocationRecord, AllocationRecords } from '../allocations/records/allocation-record.js';
import type { TaskPaths } from '../drivers/driver.js';

/** No files: a simulated task has nothing to put there. */
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
  inherit: async () => {},
  remove: async () => {},
};

/** No records: a simulated machine that starts again has lost its allocations, like one with a new disk. */
export const noRecords: AllocationRecords = {
  save: async () => {},
  remove: async () => {},
  load: async (): Promise<AllocationRecord[]> => [],
};
