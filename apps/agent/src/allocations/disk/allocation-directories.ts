import type { TaskPaths } from '../../drivers/driver.js';

/** The directories of allocations (agent.md section 20). Implemented on the file system (allocation-directories.store.ts). */
export interface AllocationDirectories {
  /** Makes what is missing, and tells where a task's are. */
  build(allocId: string, task: string): Promise<TaskPaths>;
  exists(allocId: string): Promise<boolean>;
  /** Ids of all allocations that have one. */
  list(): Promise<readonly string[]>;
  /**
   * Moves what a sticky disk keeps from one allocation to the next (AG-224): the shared data, and the `local` directory of
   * each task. What the next one has already is left alone; what is not there is not missed.
   */
  inherit(from: string, to: string, tasks: readonly string[]): Promise<void>;
  /** All of it, what is mounted in it first (AG-223). */
  remove(allocId: string): Promise<void>;
}
