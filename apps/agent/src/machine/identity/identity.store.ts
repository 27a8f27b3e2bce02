import { readFile } from 'node:fs/promises';
import { isErrno, LockHeldError, makeDirectory, takeLock } from '@waybill/processes';
import { writeDurably } from '../../durable-files/durable-file.store.js';
import { below } from '../../paths/path-name.js';

export interface AgentIdentity {
  readonly nodeId: string;
  readonly secretId: string;
}

const AGENT_DIRECTORY = { mode: 0o700, otherwise: 'choose another directory with WAYBILL_AGENT_DIR' };
/** The mode of a new directory below which tasks of other users run: they pass through it and cannot list it. */
const PASSABLE = 0o711;

/** DirectoryInUseError says that another agent uses the directory (AG-14). */
export class DirectoryInUseError extends Error {
  override readonly name = 'DirectoryInUseError';
  constructor(dir: string, pid: number) {
    super(`the agent directory ${dir} is in use by process ${pid}: give each agent its own WAYBILL_AGENT_DIR`);
  }
}

/** Loads the identity of this machine, or creates it once, in files that only the owner may read (AG-10). */
export async function loadIdentity(
  dir: string,
  newId: () => string,
  newNodeId: () => string = newId,
): Promise<AgentIdentity> {
  await makeDirectory(dir, AGENT_DIRECTORY);
  return {
    nodeId: await storedOrNew(below(dir, 'client-id'), newNodeId),
    secretId: await storedOrNew(below(dir, 'secret-id'), newId),
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
 * Locks the directory for this process. It takes over a lock whose process is gone.
 * @param isPassable whether other users may pass through a directory that this call makes, to those of their tasks
 * @returns a function that releases the lock
 * @throws DirectoryInUseError
 */
export async function lockDirectory(dir: string, isPassable = false): Promise<() => Promise<void>> {
  await makeDirectory(dir, isPassable ? { ...AGENT_DIRECTORY, mode: PASSABLE } : AGENT_DIRECTORY);
  try {
    return await takeLock(below(dir, 'agent.lock'));
  } catch (error) {
    throw error instanceof LockHeldError ? new DirectoryInUseError(dir, error.pid) : error;
  }
}
