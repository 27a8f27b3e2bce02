import { lstat, mkdir, readlink, symlink, unlink } from 'node:fs/promises';
import path from 'node:path';
import { insideAlloc } from '../../hooks/inside-alloc.js';
import { type TaskConfig, StartError } from '../driver.js';

/**
 * Gives a task that sees the machine's own files its mounts: a link at `<task directory>/<destination>` each. A link of
 * an earlier start is replaced; anything else in the way is left alone and refuses the start.
 * @throws StartError, EscapesError
 */
export async function linkMounts({ mounts = [], paths }: TaskConfig): Promise<void> {
  for (const { source, destination } of mounts) {
    const parent = await insideAlloc(paths.taskDir, path.dirname(path.join('/', destination)));
    const link = path.join(parent, path.basename(destination));
    const there = await lstat(link).catch(() => undefined);
    if (there?.isSymbolicLink()) {
      if ((await readlink(link)) === source) continue;
      await unlink(link);
    } else if (there) throw new StartError(`${destination} of the task is taken: nothing can be mounted there`);
    await mkdir(parent, { recursive: true });
    await symlink(source, link);
  }
}
