import type { FileHandle } from 'node:fs/promises';
import type { UserIds } from '../drivers/user-ids.js';
import { inOpenParentOfTask } from '../paths/inside-allocation.store.js';

const OWNER_ONLY = 0o600;
/** The mode for a task whose user the agent does not know. The directory of secrets protects the file then. */
const READABLE = 0o644;

/**
 * Writes a token into a file below a task's directory (AU-157). Readers see the old token or the new one, never a part.
 * @param owner the task's user; undefined if the agent does not know it
 * @throws EscapesError (AU-123), TakenError, and the file system's errors
 */
export function writeToken(taskDir: string, wanted: string, token: string, owner: UserIds | undefined): Promise<void> {
  return inOpenParentOfTask(taskDir, wanted, (parent, name) =>
    parent.replace(name, async (file) => {
      await file.chmod(OWNER_ONLY);
      const isOwned = owner !== undefined && (await changeOwner(file, owner));
      await file.writeFile(token);
      if (!isOwned) await file.chmod(READABLE);
    }),
  );
}

/** Gives the file to a user. It resolves to false if the agent may not, because it is not root. */
const changeOwner = (file: FileHandle, { uid, gid }: UserIds): Promise<boolean> =>
  file.chown(uid, gid).then(
    () => true,
    () => false,
  );
