import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { DataDirectoryError } from './failures.js';
import { SYSTEM_DIRECTORY, ensureSystemDirectory } from './system-directory.js';
import { isReachableByAll, isRoot } from './unprivileged-user.js';

/** Names, beside the password, the directory the cluster lives in when it isn't this one. */
const POINTER = 'location';
/** In such a directory: the path it belongs to. */
const OWNER = 'belongs-to';
const RELOCATED_NAME = /^data-[0-9a-f]{16}$/;

/**
 * Where the cluster of the PostgreSQL directory `dir` lives: inside it, or, for root when `dir` is in a private place that
 * the unprivileged user can't reach, below /var/lib/waybill. The choice is made once and kept in a pointer file, so it
 * survives changed permissions and a moved directory, and a fresh directory at an old path never finds an old cluster.
 */
export function clusterHome(dir: string): string {
  return relocatedHome(dir) ?? path.resolve(dir);
}

/** The relocated home, if `dir` has one. Throws DataDirectoryError for a pointer to anywhere else. */
export function relocatedHome(dir: string): string | undefined {
  const pointer = path.join(dir, POINTER);
  if (!existsSync(pointer)) return undefined;
  const home = readFileSync(pointer, 'utf8').trim();
  if (path.dirname(home) !== SYSTEM_DIRECTORY || !RELOCATED_NAME.test(path.basename(home)))
    throw new DataDirectoryError(
      dir,
      'damaged',
      `${pointer} does not name a directory of ours: remove ${dir} by hand.`,
    );
  return home;
}

/**
 * Decides and creates the home. `dir` must exist.
 * Throws DataDirectoryError when a cluster that was reachable no longer is.
 */
export function ensureClusterHome(dir: string): string {
  const known = relocatedHome(dir);
  if (known !== undefined) {
    mkdirSync(known, { recursive: true, mode: 0o755 });
    return known;
  }
  if (!isRoot() || isReachableByAll(dir)) return dir;
  if (existsSync(path.join(dir, 'data')))
    throw new DataDirectoryError(
      dir,
      'unreachable',
      `The user that runs PostgreSQL can no longer enter ${dir}: make it and the directories above it passable again (chmod o+x).`,
    );
  removeAbandonedHomes(dir);
  const home = path.join(ensureSystemDirectory(), `data-${randomBytes(8).toString('hex')}`);
  mkdirSync(home, { mode: 0o755 });
  writeFileSync(path.join(home, OWNER), `${dir}\n`);
  writeFileSync(path.join(dir, POINTER), `${home}\n`, { mode: 0o600 });
  return home;
}

/** Whoever removes a data directory by hand leaves its cluster behind; it goes when the same path gets a new one. */
function removeAbandonedHomes(dir: string): void {
  for (const name of readdirSync(ensureSystemDirectory())) {
    const home = path.join(SYSTEM_DIRECTORY, name);
    const owner = path.join(home, OWNER);
    if (!RELOCATED_NAME.test(name) || !statSync(home).isDirectory() || !existsSync(owner)) continue;
    if (readFileSync(owner, 'utf8').trim() === dir) rmSync(home, { recursive: true, force: true });
  }
}
