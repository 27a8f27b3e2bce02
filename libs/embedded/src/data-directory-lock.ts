import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { DataDirectoryError } from './failures.js';
import { isAlive } from './leftover-server.js';

const LOCK = 'lock';
/** Each turn somebody else's dead lock was removed or somebody was faster; more turns than this mean a bug. */
const ATTEMPTS = 10;

interface Holder {
  readonly pid: number;
  /** When that process started, in the kernel's ticks: a reused process id is somebody else. Empty where unknown. */
  readonly started: string;
}

/**
 * One launcher per data directory. The lock names a process; it counts while that process lives, so nothing has to be
 * cleaned up after a SIGKILL. Returns the function that gives it up.
 * Throws DataDirectoryError `in-use`, and file system errors as they are.
 */
export function lockDataDirectory(dir: string): () => void {
  const lock = path.join(dir, LOCK);
  const mine = JSON.stringify({ pid: process.pid, started: startOf(process.pid) } satisfies Holder);
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    if (claim(lock, mine)) return () => release(lock, mine);
    const content = contentOf(lock);
    if (content === undefined) continue; // given up meanwhile
    const holder = parse(content);
    if (holder !== undefined && isAlive(holder.pid) && startOf(holder.pid) === holder.started)
      throw new DataDirectoryError(
        dir,
        'in-use',
        `${dir} is in use by process ${holder.pid}: stop that one first or choose another data directory.`,
      );
    removeDead(lock, content);
  }
  throw new DataDirectoryError(dir, 'in-use', `${lock} cannot be taken: another start is under way, try again.`);
}

/** Written aside and linked, so that nobody ever reads half a lock. */
function claim(lock: string, mine: string): boolean {
  const draft = `${lock}.${process.pid}`;
  writeFileSync(draft, mine, { mode: 0o644 });
  try {
    linkSync(draft, lock);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Moves the dead lock away; if another start has replaced it in between, that one is put back. */
function removeDead(lock: string, dead: string): void {
  const aside = `${lock}.${process.pid}.dead`;
  try {
    renameSync(lock, aside);
    if (contentOf(aside) !== dead) linkSync(aside, lock);
  } catch {
    // somebody else was faster; the next attempt sees what is there now
  } finally {
    rmSync(aside, { force: true });
  }
}

function release(lock: string, mine: string): void {
  if (contentOf(lock) === mine) rmSync(lock, { force: true });
}

function contentOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

function parse(content: string): Holder | undefined {
  try {
    const value: unknown = JSON.parse(content);
    if (typeof value !== 'object' || value === null || !('pid' in value) || !('started' in value)) return undefined;
    const { pid, started } = value;
    return typeof pid === 'number' && pid > 0 && typeof started === 'string' ? { pid, started } : undefined;
  } catch {
    return undefined;
  }
}

/** Field 22 of /proc/<pid>/stat; the command's name before it may hold spaces and brackets. */
function startOf(pid: number): string {
  const stat = contentOf(`/proc/${pid}/stat`);
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
}
