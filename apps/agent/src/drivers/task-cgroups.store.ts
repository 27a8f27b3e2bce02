import { errorText } from '@waybill/model';
import { closeSync, constants, existsSync, mkdirSync, openSync, rmdirSync, writeFileSync } from 'node:fs';
import { readdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { isErrno } from '@waybill/processes';
import { mounts } from '../allocations/disk/mount-table.store.js';
import { below, entryName, pathName } from '../paths/path-name.js';

/** How long processes that were killed may take to leave. */
const EMPTY_TIMEOUT_MS = 5_000;
const LOOK_MS = 10;

/** Why this machine can keep no task in a cgroup of its own. */
export class NoCgroupsError extends Error {
  override readonly name = 'NoCgroupsError';
}

/**
 * A cgroup for each run of a task, in the second version's tree, so that whatever the task starts can be found and killed
 * together: a process leaves its group and its session at will, but not its cgroup. No limits are set. A run's cgroup is named
 * after the run, so an agent that was restarted finds it again.
 */
export class TaskCgroups {
  private constructor(private readonly root: string) {}

  /** @throws NoCgroupsError */
  static async find(): Promise<TaskCgroups> {
    // Of the second version there is one tree, wherever it is mounted.
    const mounted = (await mounts()).find(({ type }) => type === 'cgroup2');
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
    for (const run of await readdir(root)) removeIfEmpty(below(root, entryName(run))); // of agents that were lost with their directory
    return new TaskCgroups(root);
  }

  make(run: string): void {
    mkdirSync(this.directoryOf(run), { recursive: true });
  }

  /** From now on the process, and whatever it starts, is in the run's cgroup. @throws when it is gone already */
  place(run: string, pid: number): void {
    this.make(run); // another agent may have taken it for one that was left behind
    writeFileSync(below(this.directoryOf(run), 'cgroup.procs'), String(pid));
  }

  /** Nothing of the run was started. */
  forget(run: string): void {
    removeIfEmpty(this.directoryOf(run));
  }

  /** Kills everything in the cgroup of a run and removes it; one that is not there is done. @returns false: some live on */
  async kill(run: string): Promise<boolean> {
    const directory = this.directoryOf(run);
    if (!existsSync(directory)) return true;
    // A task may have made cgroups of its own below: they are killed together, and removed from the innermost.
    try {
      await writeFile(below(directory, 'cgroup.kill'), '1');
    } catch (error) {
      if (isErrno(error, 'ENOENT') || isErrno(error, 'ENODEV')) return true; // somebody else has just removed it
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

/** The directory may be there because another user made it. To move a process takes a right above it too. @throws */
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
    // It is in use, or none.
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
