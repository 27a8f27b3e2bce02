import { readlink, symlink, unlink } from 'node:fs/promises';
import { isErrno } from '@waybill/processes';
import { inOpenParent } from '../../paths/inside-allocation.store.js';
import { type TaskConfig, StartError } from '../driver.js';
import { asAbsolute } from '../../paths/path-name.js';

/**
 * Makes the mounts of a task that sees the machine's own files: a link at `<task directory>/<destination>` for each. It
 * replaces a link of an earlier start. Anything else in the way stays, and the start is refused.
 * @throws StartError, EscapesError, TakenError
 */
export async function linkMounts({ mounts = [], paths }: TaskConfig): Promise<void> {
  for (const { source, destination } of mounts)
    await inOpenParent(paths.taskDir, asAbsolute(destination).slice(1), async (parent, name) => {
      const link = parent.pathOfEntry(name);
      const there = await readlink(link).catch((error: unknown) => {
        if (isErrno(error, 'ENOENT')) return undefined;
        throw new StartError(`${destination} of the task is taken: nothing can be mounted there`);
      });
      if (there === source) return;
      if (there !== undefined) await unlink(link);
      await symlink(source, link);
    });
}
