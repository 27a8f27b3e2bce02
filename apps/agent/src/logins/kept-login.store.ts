import { below, pathName } from '../paths/path-name.js';
import { readInside } from '../paths/inside-allocation.store.js';
import { OpenDirectory } from '../paths/open-directory.store.js';
import type { TaskPaths } from '../drivers/driver.js';
import { memberOf, numberOf, textOf } from './server-call.js';
import type { HeldToken } from './task-login.js';

const MAX_KEPT_BYTES = 16_384;

/** The file of a token in the task's private directory, which the task's files in the API do not show. */
const fileOf = (product: string) => `${product}_login.json`;

/** The directory is the agent's own, so a link in it is no part of its work. */
const WALK = { make: true, links: 'none', closesNotes: false } as const;
const OWNER_ONLY = 0o600;

/** Keeps a token on the disk, readable by the agent's user only. @throws the file system's errors */
export async function keepLogin(
  { taskDir }: Pick<TaskPaths, 'taskDir'>,
  product: string,
  held: HeldToken,
): Promise<void> {
  const directory = await OpenDirectory.find(taskDir, 'private', WALK);
  try {
    await directory.replace(pathName(fileOf(product)), async (file) => {
      await file.chmod(OWNER_ONLY);
      await file.writeFile(JSON.stringify(held));
    });
  } finally {
    await directory.close();
  }
}

/** Returns the token that an earlier agent kept, or undefined. A damaged file counts as none. */
export async function keptLogin(
  { taskDir, privateDir }: Pick<TaskPaths, 'taskDir' | 'privateDir'>,
  product: string,
): Promise<HeldToken | undefined> {
  try {
    const text = await readInside(taskDir, below(privateDir, pathName(fileOf(product))), MAX_KEPT_BYTES);
    const kept: unknown = JSON.parse(text);
    const expiresAtMs = memberOf(kept, 'expiresAtMs');
    const token = textOf(memberOf(kept, 'token'));
    if (token === '') return undefined;
    return {
      token,
      expiresAtMs: typeof expiresAtMs === 'number' ? expiresAtMs : null,
      renewable: memberOf(kept, 'renewable') === true,
      lifeMs: numberOf(memberOf(kept, 'lifeMs')),
    };
  } catch {
    return undefined;
  }
}
