import type { FileHandle } from 'node:fs/promises';
import type { UserIds } from '../drivers/user-ids.js';
import { inOpenParentOfTask } from '../paths/inside-allocation.store.js';

const OWNER_ONLY = 0o600;
/** For a task whose user the agent does not know: the directory of secrets is the protection. */
const READABLE = 0o644;

/**
 * Puts a token into a file below a task's directory (AU-157): whoever reads it sees the old token or the new, never a part.
 * @param owner the task's user; undefined: nobody knows who will read it
 * @throws EscapesError (AU-123), TakenError, and what the file system says
 */
export function writeToken(taskDir: string, wanted: string, token: string, owner: UserIds | undefined): Promise<void> {
  return inOpenParentOfTask(taskDir, wanted, (parent, name) =>
    parent.replace(name, async (file) => {
      await file.chmod(OWNER_ONLY);
      const isOwned = owner !== undefined && (await givenTo(file, owner));
      await file.writeFile(token);
      if (!isOwned) await file.chmod(READABLE);
    }),
  );
}

/** Whether the file is that user's now: an agent that is not root cannot give files away. */
const givenTo = (file: FileHandle, { uid, gid }: UserIds): Promise<boolean> =>
  file.chown(uid, gid).then(
    () => true,
    () => false,
  );
