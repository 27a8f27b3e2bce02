import { constants, lstat, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { isErrno } from '@waybill/processes';
import type { AllocationDirectories } from './allocation-directories.js';
import type { TaskPaths } from '../../drivers/driver.js';
import { taskName } from '../../paths/allocation-names.js';
import { DONE } from '../../tasks/hooks/once.store.js';
import { unmountBelow } from './mount-table.store.js';
import type { SecretsMemory } from './secrets-memory.store.js';
import { below, entryName, ownDirectory, pathName } from '../../paths/path-name.js';

/** The mode of directories that all tasks of an allocation share, whatever their users are. */
const SHARED = 0o777;
/** The mode of directories for the task and the agent only. */
const PRIVATE = 0o700;

/**
 * AllocationDirectoryStore makes the directories `<root>/<alloc>/alloc/{logs,tmp,data}` and
 * `<root>/<alloc>/<task>/{local,secrets,private,tmp}` (AG-220). It keeps no state: it asks the machine for existing
 * directories and mounts.
 */
export class AllocationDirectoryStore implements AllocationDirectories {
  /** @param secrets the memory for secrets; if it is absent, secrets are on the disk like the rest */
  constructor(
    private readonly root: string,
    private readonly secrets?: SecretsMemory,
  ) {}

  async build(allocId: string, task: string): Promise<TaskPaths> {
    const paths = this.paths(allocId, task);
    await mkdir(paths.taskDir, { recursive: true });
    await Promise.all([
      this.buildSecrets(paths),
      ...(['logs', 'tmp', 'data'] as const).map((name) => ensureDirectory(below(paths.allocDir, name), SHARED)),
      ...(['local', 'tmp'] as const).map((name) => ensureDirectory(below(paths.taskDir, name), SHARED)),
      ensureDirectory(paths.privateDir, PRIVATE),
    ]);
    return paths;
  }

  paths(allocId: string, task: string): TaskPaths {
    const allocDir = below(this.directoryOf(allocId), 'alloc');
    const taskDir = below(this.directoryOf(allocId), taskName(task));
    return {
      allocDir,
      logsDir: below(allocDir, 'logs'),
      taskDir,
      localDir: below(taskDir, 'local'),
      secretsDir: below(taskDir, 'secrets'),
      privateDir: below(taskDir, 'private'),
    };
  }

  /**
   * Closes the store at the end of the agent.
   * @param areTasksOver whether the tasks end with the agent; then their secrets leave memory
   */
  async close(areTasksOver: boolean): Promise<void> {
    if (areTasksOver) await this.secrets?.unmountTree(this.root);
    this.secrets?.close();
  }

  /** Says whether an allocation has a directory. For an invalid id the answer is no. */
  async exists(allocId: string): Promise<boolean> {
    try {
      return (await stat(this.directoryOf(allocId))).isDirectory();
    } catch {
      return false;
    }
  }

  async list(): Promise<readonly string[]> {
    const entries = await readdir(this.root, { withFileTypes: true }).catch(() => []);
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  }

  async inheritDisk(from: string, to: string, tasks: readonly string[]): Promise<void> {
    await inheritDirectories(this.directoryOf(from), this.directoryOf(to), tasks);
  }

  async remove(allocId: string): Promise<void> {
    await unmountBelow(this.directoryOf(allocId));
    await rm(this.directoryOf(allocId), { recursive: true, force: true });
  }

  private async buildSecrets({ secretsDir, privateDir }: TaskPaths): Promise<void> {
    const isNew = await ensureDirectory(secretsDir, PRIVATE);
    const isCovered = await this.secrets?.mountOver(secretsDir, isNew);
    if (!isCovered || isNew) return;
    // The task has run here before, for instance before a reboot. The steps that fill the directory have to run again.
    const marks = (await readdir(privateDir)).filter((name) => name.endsWith(DONE));
    await Promise.all(marks.map((name) => rm(below(privateDir, entryName(name)), { force: true })));
  }

  /** @throws UnsafeNameError */
  directoryOf(allocId: string): string {
    return below(ownDirectory(this.root), pathName(allocId, 'the allocation'));
  }
}

/**
 * Moves the kept data from one directory of an allocation, or a directory in progress, to another.
 * @throws UnsafeNameError
 */
export async function inheritDirectories(before: string, after: string, tasks: readonly string[]): Promise<void> {
  const names = tasks.map((task) => taskName(task));
  await moveDirectory(below(before, 'alloc', 'data'), below(after, 'alloc', 'data'));
  for (const name of names) await moveDirectory(below(before, name, 'local'), below(after, name, 'local'));
}

/** Moves a directory to a place that is absent or an empty directory. */
async function moveDirectory(from: string, to: string): Promise<void> {
  if (!(await isDirectory(from))) return;
  await mkdir(path.dirname(to), { recursive: true });
  try {
    await rename(from, to);
  } catch (error) {
    if (!isErrno(error, 'ENOTEMPTY') && !isErrno(error, 'EEXIST')) throw error;
  }
}

/** Says whether the path is a directory. A link is not, wherever it leads. */
const isDirectory = (file: string): Promise<boolean> =>
  lstat(file).then(
    (found) => found.isDirectory(),
    () => false,
  );

/**
 * Makes a directory.
 * @returns whether it was missing
 * @throws Error if a task has put a link in its place, which would lead out of the allocation
 */
async function ensureDirectory(dir: string, mode: number): Promise<boolean> {
  const made = await mkdir(dir, { recursive: true, mode });
  const opened = await open(dir, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    // This is independent of the process's umask. Private directories keep their mode, because a driver may have opened
    // one to its task.
    if (mode === SHARED) await opened.chmod(mode);
  } finally {
    await opened.close();
  }
  return made !== undefined;
}
