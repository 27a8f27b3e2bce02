import { createHash, randomUUID } from 'node:crypto';
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { identityOf, isAlive, isErrno, type ProcessIdentity } from './process-identity.js';

/** Another process has the lock, and lives. */
export class LockHeldError extends Error {
  override readonly name = 'LockHeldError';
  constructor(
    readonly file: string,
    readonly pid: number,
  ) {
    super(`${file} is held by process ${pid}`);
  }
}

/**
 * Takes a lock for this process: a file that names its owner, put in place as a whole. It counts while that process lives,
 * so nothing has to be cleaned up after a SIGKILL. Of any number that come at once one gets it, also where they find what a
 * dead owner has left. Beside the file there are, for moments, others whose names begin with its name and a dot.
 * @returns gives it back, once
 * @throws LockHeldError; what the file system refuses, as it is
 */
export async function takeLock(file: string): Promise<() => Promise<void>> {
  await new Lock(file, JSON.stringify(identityOf(process.pid))).acquireLock(file);
  let given = false;
  return async () => {
    if (given) return;
    given = true;
    await rm(file, { force: true });
  };
}

/**
 * What a dead owner has left is replaced by whoever holds the lock on replacing just that: several may find it at once, and
 * one that was slow finds something else there.
 */
class Lock {
  constructor(
    private readonly name: string,
    private readonly own: string,
  ) {}

  async acquireLock(file: string): Promise<void> {
    for (;;) {
      if (await this.placed(file)) return;
      const left = await textOf(file);
      if (left === undefined) continue; // it was given back
      const owner = ownerOf(left);
      if (owner && isAlive(owner)) throw new LockHeldError(file, owner.pid);
      const replacing = `${this.name}.${createHash('sha256').update(file).update(left).digest('hex')}`;
      await this.acquireLock(replacing);
      try {
        if ((await textOf(file)) !== left) continue;
        const beside = await this.written();
        return await rename(beside, file);
      } finally {
        await rm(replacing, { force: true });
      }
    }
  }

  /** False: there is one. */
  private async placed(file: string): Promise<boolean> {
    const beside = await this.written();
    try {
      await link(beside, file);
      return true;
    } catch (error) {
      if (isErrno(error, 'EEXIST')) return false;
      throw error;
    } finally {
      await rm(beside, { force: true });
    }
  }

  private async written(): Promise<string> {
    const beside = `${this.name}.${randomUUID()}`;
    await writeFile(beside, this.own, { mode: 0o600 });
    return beside;
  }
}

/** Undefined: it is not there. */
async function textOf(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined;
    throw error;
  }
}

/** Undefined: what is written there names nobody. */
function ownerOf(text: string): ProcessIdentity | undefined {
  try {
    return JSON.parse(text) as ProcessIdentity;
  } catch {
    return undefined;
  }
}
