import { chmod } from 'node:fs/promises';
import { insideAlloc } from '../../paths/inside-allocation.store.js';
import { EscapesError } from '../../paths/open-directory.store.js';
import { type TaskConfig, TaskConfigError } from '../driver.js';
import { relativeSources } from './container-options.js';
import type { DockerConfig } from './docker-config.js';

/** Where what a job mounts of the task's directory is. @throws TaskConfigError when it leads out of the allocation */
export async function foundSources(task: TaskConfig, config: DockerConfig): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const source of relativeSources(config)) {
    try {
      found.set(source, await insideAlloc(task.paths.taskDir, source));
    } catch (error) {
      throw error instanceof EscapesError ? new TaskConfigError(`docker: ${error.message}`) : error;
    }
  }
  return found;
}

/** A user of the container's own may be anybody: what is the task's is open inside, and closed to others on the machine. */
export async function openDirectories({ paths }: TaskConfig): Promise<void> {
  await chmod(paths.taskDir, 0o700);
  await chmod(paths.secretsDir, 0o777);
}
