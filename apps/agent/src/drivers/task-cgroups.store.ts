import { errorText } from '@waybill/model';
import { closeSync, constants, existsSync, mkdirSync, openSync, rmdirSync } from 'node:fs';
import { readdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { isErrno } from '@waybill/processes';
import { readMounts } from '../allocations/disk/mount-table.store.js';
import { below, entryName, pathName } from '../paths/path-name.js';

/** The longest wait in milliseconds for killed processes to leave a cgroup. */
const EMPTY_TIMEOUT_MS = 5_000;
const LOOK_MS = 10;

/** NoCgroupsError says that this machine cannot give tasks their own cgroups. The message says why. */
export class NoCgroupsError extends Error {
  override readonly name = 'NoCgroupsError';
}

/**
 * TaskCgroups makes one cgroup per run of a task in the version 2 tree. With it, all processes that the task starts can
 * be found and killed together: a process can leave its process group and its session, but not its cgroup. It sets no
 * limits. A run's cgroup has the run's name, so a restarted agent finds it again.
 */
export class TaskCgroups {
  private constructor(private readonly root: string) {}

  /** @throws NoCgroupsError */
  static async find(): Promise<TaskCgroups> {
    // Version 2 has one tree, wherever it is mounted.
    const mounted = (await readMounts()).find(({ type }) => type === 'cgroup2');
    if (!mounted) throw new NoCgroupsError('no file system of type cgroup2 is mounted');
    const root = below(mounted.point, 'waybill');
    try {
      mkdirSync(root, { recursive: true });
      tryRights(root, mounted.point);
    } catch (error) {
      throw new NoCgroupsError(`${root} cannot be used: ${errorText(error)}`);
    }
    if (!existsSync(below(root, 'cgroup.kill')))
      throw new NoCgroupsError('the kernel cannot kill a cgroup: it is older than 5.14');
    for (const run of await readdir(root)) removeIfEmpty(below(root, entryName(run))); // removes cgroups of agents that lost their directory
    return new TaskCgroups(root);
  }

  make(run: string): void {
    mkdirSync(this.directoryOf(run), { recursive: true });
  }

  /**
   * Moves a process into the run's cgroup; its later children are in it, too. The kernel takes some 10 ms for each move.
   * @throws Error if the process is gone
   */
  async place(run: string, pid: number): Promise<void> {
    this.make(run); // another agent may have removed it as a remnant
    await writeFile(below(this.directoryOf(run), 'cgroup.procs'), String(pid));
  }

  /** Removes the cgroup of a run of which nothing was started. */
  removeUnstarted(run: string): void {
    removeIfEmpty(this.directoryOf(run));
  }

  /**
   * Kills all processes in the cgroup of a run and removes it. A missing cgroup counts as done.
   * @returns false if some processes survive
   */
  async kill(run: string): Promise<boolean> {
    const directory = this.directoryOf(run);
    if (!existsSync(directory)) return true;
    // A task may have made its own cgroups below. The kernel kills them together, and they are removed from the
    // innermost.
    try {
      await writeFile(below(directory, 'cgroup.kill'), '1');
    } catch (error) {
      if (isErrno(error, 'ENOENT') || isErrno(error, 'ENODEV')) return true; // another process has just removed it
      throw error;
    }
    for (const deadline = performance.now() + EMPTY_TIMEOUT_MS; await isPopulated(directory);) {
      if (performance.now() >= deadline) return false;
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
    await removeTree(directory);
    return true;
  }

  private directoryOf(run: string): string {
    return below(this.root, pathName(run, 'the run'));
  }
}

/**
 * Checks the agent's rights. Another user may have made the directory, and moving a process also needs a right on the
 * directory above.
 * @throws Error
 */
function tryRights(root: string, mountPoint: string): void {
  const trial = below(root, pathName(`trial.${process.pid}`));
  mkdirSync(trial, { recursive: true });
  rmdirSync(trial);
  closeSync(openSync(below(mountPoint, 'cgroup.procs'), constants.O_WRONLY));
}

function removeIfEmpty(directory: string): void {
  try {
    rmdirSync(directory);
  } catch {
    // The cgroup is in use, or does not exist.
  }
}

async function isPopulated(directory: string): Promise<boolean> {
  return (await readFile(below(directory, 'cgroup.events'), 'utf8').catch(() => '')).includes('populated 1');
}

async function removeTree(directory: string): Promise<void> {
  const inside = await readdir(directory, { withFileTypes: true }).catch(() => []);
  for (const entry of inside) if (entry.isDirectory()) await removeTree(below(directory, entryName(entry.name)));
  await rmdir(directory).catch(() => {});
}
