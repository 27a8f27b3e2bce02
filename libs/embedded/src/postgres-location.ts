import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { DataDirectoryError } from './failures.js';
import { SYSTEM_DIRECTORY, ensureSystemDirectory } from './system-directory.js';
import { isReachableByAll, isRoot } from './unprivileged-user.js';

/** The file that names, beside the password, the directory of a cluster that lives elsewhere. */
const POINTER = 'location';
/** The file in such a directory with the path to which it belongs. */
const OWNER = 'belongs-to';
const RELOCATED_NAME = /^data-[0-9a-f]{16}$/;

/**
 * Returns where the cluster of the PostgreSQL directory `dir` lives: inside it, or below /var/lib/waybill for root if
 * `dir` is in a private place that the unprivileged user can't reach. The choice is made once and kept in a pointer
 * file, so it survives changed permissions and a moved directory, and a fresh directory at an old path never finds an
 * old cluster.
 */
export function clusterHome(dir: string): string {
  return relocatedHome(dir) ?? path.resolve(dir);
}

/** Returns the relocated home if `dir` has one. Throws DataDirectoryError for a pointer to any other place. */
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
 * Chooses and creates the home. `dir` must exist. Throws DataDirectoryError if a cluster that was reachable no longer
 * is.
 */
export function ensureClusterHome(dir: string): string {
  const known = relocatedHome(dir);
  if (known !== undefined) {
    mkdirSync(known, { recursive: true, mode: 0o755 });
    writeFileSync(path.join(known, OWNER), `${dir}\n`); // it may have been moved
    return known;
  }
  if (!isRoot() || isReachableByAll(dir)) return dir;
  if (existsSync(path.join(dir, 'data')))
    throw new DataDirectoryError(
      dir,
      'unreachable',
      `The user that runs PostgreSQL can no longer enter ${dir}: make it and the directories above it passable again (chmod o+x).`,
    );
  const home = path.join(ensureSystemDirectory(), `data-${randomBytes(8).toString('hex')}`);
  mkdirSync(home, { mode: 0o755 });
  writeFileSync(path.join(home, OWNER), `${dir}\n`);
  writeFileSync(path.join(dir, POINTER), `${home}\n`, { mode: 0o600 });
  return home;
}

/**
 * Returns homes below /var/lib/waybill that their directory does not name: the rest of a directory that was removed by
 * hand. A directory that was moved and not started since looks the same, so these homes are reported and never removed.
 */
export function unclaimedHomes(): { readonly home: string; readonly owner: string }[] {
  if (!isRoot() || !existsSync(SYSTEM_DIRECTORY)) return [];
  return readdirSync(SYSTEM_DIRECTORY).flatMap((name) => {
    const home = path.join(SYSTEM_DIRECTORY, name);
    const claim = path.join(home, OWNER);
    if (!RELOCATED_NAME.test(name) || !existsSync(claim)) return [];
    const owner = readFileSync(claim, 'utf8').trim();
    const pointer = path.join(owner, POINTER);
    const claimed = existsSync(pointer) && readFileSync(pointer, 'utf8').trim() === home;
    return claimed ? [] : [{ home, owner }];
  });
}
