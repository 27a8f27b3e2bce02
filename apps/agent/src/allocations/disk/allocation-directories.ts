import type { TaskPaths } from '../../drivers/driver.js';

/**
 * AllocationDirectories are the directories of allocations (agent.md section 20). The file system implements them
 * (allocation-directories.store.ts).
 */
export interface AllocationDirectories {
  /** Makes missing directories and returns the paths of a task. */
  build(allocId: string, task: string): Promise<TaskPaths>;
  exists(allocId: string): Promise<boolean>;
  /** Returns the ids of all allocations that have a directory. */
  list(): Promise<readonly string[]>;
  /**
   * Moves the data of a sticky disk from one allocation to the next (AG-224): the shared data, and the `local`
   * directory of each task. It does not overwrite existing data of the next allocation, and ignores missing data.
   */
  inheritDisk(from: string, to: string, tasks: readonly string[]): Promise<void>;
  /** Removes the whole directory, after unmounting all mounts in it (AG-223). */
  remove(allocId: string): Promise<void>;
}
