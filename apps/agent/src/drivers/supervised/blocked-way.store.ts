import { stat } from 'node:fs/promises';
import path from 'node:path';
import type { UserIds } from '../user-ids.js';

const OWNER_ENTERS = 0o100;
const GROUP_ENTERS = 0o010;
const OTHERS_ENTER = 0o001;

/**
 * Returns why a user cannot reach a directory of a task: the first directory on the way that the user may not enter.
 * The result is undefined if there is none. Access lists are not read, so call it only after a start has failed.
 */
export async function blockedWay(target: string, { uid, gid }: UserIds): Promise<string | undefined> {
  if (uid === 0) return undefined;
  for (const dir of directoriesTo(target)) {
    const found = await stat(dir).catch(() => undefined);
    if (!found) return undefined;
    const needed = found.uid === uid ? OWNER_ENTERS : found.gid === gid ? GROUP_ENTERS : OTHERS_ENTER;
    if ((found.mode & needed) !== 0) continue;
    const mode = (found.mode & 0o777).toString(8);
    return (
      `the user with id ${uid} may not enter ${dir} (mode ${mode}), which leads to the directory of the task: ` +
      `allow it with "chmod o+x ${dir}"`
    );
  }
  return undefined;
}

/** Returns a directory and all directories above it, from the root on. */
function directoriesTo(target: string): string[] {
  const above = path.dirname(target);
  return above === target ? [target] : [...directoriesTo(above), target];
}
