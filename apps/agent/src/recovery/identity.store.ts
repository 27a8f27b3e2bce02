import { createHash, randomUUID } from 'node:crypto';
import { link, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { writeDurably } from './durable-file.store.js';
import { identityOf, isAlive, isErrno, type ProcessIdentity } from '../drivers/process-identity.js';

export interface AgentIdentity {
  readonly nodeId: string;
  readonly secretId: string;
}

/** AG-14: another agent runs on this directory. */
export class DirectoryInUseError extends Error {
  override readonly name = 'DirectoryInUseError';
  constructor(dir: string, pid: number) {
    super(`the agent directory ${dir} is in use by process ${pid}: give each agent its own WAYBILL_AGENT_DIR`);
  }
}

/** AG-10: who this machine is, made once and kept; files readable by the owner only. */
export async function loadIdentity(dir: string, newId: () => string): Promise<AgentIdentity> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  return {
    nodeId: await storedOrNew(path.join(dir, 'client-id'), newId),
    secretId: await storedOrNew(path.join(dir, 'secret-id'), newId),
  };
}

async function storedOrNew(file: string, newId: () => string): Promise<string> {
  try {
    const stored = (await readFile(file, 'utf8')).trim();
    if (stored !== '') return stored;
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) throw error;
  }
  const made = newId();
  await writeDurably(file, made);
  return made;
}

/**
 * Takes the directory for this process; one left behind by a process that is gone is taken over.
 * @returns gives it back
 * @throws DirectoryInUseError
 */
export async function lockDirectory(dir: string): Promise<() => Promise<void>> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const file = path.join(dir, 'agent.lock');
  await new Lock(dir, JSON.stringify(identityOf(process.pid))).take(file);
  return () => rm(file, { force: true });
}

/**
 * A file that names its owner, put in place as a whole. What a dead owner has left is replaced by whoever holds the lock
 * on replacing just that: several agents may find it at once, and one that was slow finds something else there.
 */
class Lock {
  constructor(
    private readonly dir: string,
    private readonly own: string,
  ) {}

  async take(file: string): Promise<void> {
    for (;;) {
      if (await this.placed(file)) return;
      const left = await textOf(file);
      if (left === undefined) continue; // it was given back
      const owner = ownerOf(left);
      if (owner && isAlive(owner)) throw new DirectoryInUseError(this.dir, owner.pid);
      const replacing = path.join(
        this.dir,
        `agent.lock.${createHash('sha256').update(file).update(left).digest('hex')}`,
      );
      await this.take(replacing);
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
    const beside = path.join(this.dir, `agent.lock.${randomUUID()}`);
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
