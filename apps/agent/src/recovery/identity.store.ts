import { mkdir, open, readFile, rm } from 'node:fs/promises';
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
  const self = identityOf(process.pid);
  for (;;) {
    try {
      const handle = await open(file, 'wx', 0o600);
      await handle.writeFile(JSON.stringify(self));
      await handle.close();
      return () => rm(file, { force: true });
    } catch (error) {
      if (!isErrno(error, 'EEXIST')) throw error;
      const owner = await ownerOf(file);
      if (owner && isAlive(owner)) throw new DirectoryInUseError(dir, owner.pid);
      await rm(file, { force: true });
    }
  }
}

async function ownerOf(file: string): Promise<ProcessIdentity | undefined> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as ProcessIdentity;
  } catch {
    return undefined;
  }
}
