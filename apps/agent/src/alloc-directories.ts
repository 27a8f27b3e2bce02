import type { TaskPaths } from './drivers/driver.js';

/** The directories of allocations (agent.md section 20). Implemented on the file system (alloc-directories.store.ts). */
export interface AllocDirectories {
  /** Makes what is missing, and tells where a task's are. */
  build(allocId: string, task: string): Promise<TaskPaths>;
  exists(allocId: string): Promise<boolean>;
  remove(allocId: string): Promise<void>;
}
