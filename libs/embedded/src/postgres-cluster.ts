import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chownSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { makeDirectorySync } from '@waybill/processes';
import { assertDiskSpace } from './disk-space.js';
import { explainFailure } from './explain-failure.js';
import { DataDirectoryError } from './failures.js';
import type { PostgresBinaries } from './postgres-binaries.js';
import { clusterHome, ensureClusterHome } from './postgres-location.js';
import { isRoot, unprivilegedUser, type UserIds } from './unprivileged-user.js';

const run = promisify(execFile);

export const DATABASE_USER = 'waybill';
/** The package's major version. A cluster of another version needs that version's binaries. */
const MAJOR_VERSION = '18';
const INITDB_TIMEOUT_MS = 60_000;
const UNFINISHED = 'unfinished-';

export interface PostgresCluster {
  /** The directory with `data`, PostgreSQL's own directory, and the log. */
  readonly home: string;
  readonly password: string;
  /** The user that runs the server. If it is undefined, it is the user of this process. */
  readonly user: UserIds | undefined;
}

export interface NewCluster {
  readonly dir: string;
  /** The password. By default it is generated. It only counts when the cluster is created. */
  readonly password?: string;
  /** Skips syncing the new files and keeps a log of small files, for clusters that are thrown away. */
  readonly unsynced: boolean;
  /**
   * Copies the contents of another cluster's `dir` instead of creating an empty one, its password included. The other
   * server must have stopped.
   */
  readonly copyOf?: string | undefined;
  /** Resolves when `initdb` may be executed. */
  readonly checked: Promise<void>;
}

/**
 * Opens the cluster below `dir`, and creates it if there is none: UTF-8 with the builtin C.UTF-8 locale on every
 * machine, and password authentication only. An interrupted creation starts over. Throws AlteredProgramError,
 * DataDirectoryError, DiskFullError, ServerFailedError.
 */
export async function openCluster(binaries: PostgresBinaries, wanted: NewCluster): Promise<PostgresCluster> {
  const dir = path.resolve(wanted.dir);
  makeDirectorySync(dir, { mode: 0o755, otherwise: 'choose another data directory' });
  const home = ensureClusterHome(dir);
  const data = path.join(home, 'data');
  const passwordFile = path.join(dir, 'password');
  if (existsSync(data)) {
    assertSameMajor(data);
    return { home, password: readPassword(passwordFile), user: ownerOf(data) };
  }
  await Promise.all([wanted.checked, assertDiskSpace(home)]);
  if (wanted.copyOf !== undefined) {
    await copyInto(home, data, path.resolve(wanted.copyOf));
    copyFileSync(path.join(wanted.copyOf, 'password'), passwordFile);
    return { home, password: readPassword(passwordFile), user: ownerOf(data) };
  }
  const password = wanted.password ?? randomBytes(24).toString('base64url');
  writeFileSync(passwordFile, `${password}\n`, { mode: 0o600 });
  const user = isRoot() ? unprivilegedUser() : undefined;
  await create(binaries, { home, data, password, user, unsynced: wanted.unsynced });
  return { home, password, user };
}

interface NewDataDirectory {
  readonly home: string;
  /** The data directory, inside `home`. */
  readonly data: string;
  readonly password: string;
  /** The owner of the files. If it is absent, it is the user of this process. */
  readonly user: UserIds | undefined;
  readonly unsynced: boolean;
}

async function create({ initdb }: PostgresBinaries, wanted: NewDataDirectory): Promise<void> {
  const { home, data, password, user, unsynced } = wanted;
  removeUnfinished(home);
  const scratch = mkdtempSync(path.join(home, UNFINISHED)); // a name of its own: an initdb that fails empties its directory
  const passwordFile = `${scratch}.password`;
  writeFileSync(passwordFile, `${password}\n`, { mode: 0o600 });
  if (user) for (const file of [scratch, passwordFile]) chownSync(file, user.uid, user.gid);
  try {
    const identity = ['-U', DATABASE_USER, '--pwfile', passwordFile, '-A', 'scram-sha-256'];
    const locale = ['-E', 'UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'];
    // With checksums, a page that the disk has changed gives an error and not a wrong answer.
    const pages = ['--data-checksums'];
    // A cluster with log files of the usual 16 MB would be twice as large to copy.
    const sync = unsynced ? ['--no-sync', '--wal-segsize=1'] : [];
    await run(initdb, ['-D', scratch, ...identity, ...locale, ...pages, ...sync, '--no-instructions'], {
      ...user,
      cwd: scratch,
      env: serverEnvironment(),
      timeout: INITDB_TIMEOUT_MS,
    });
    renameSync(scratch, data);
  } catch (error) {
    const output = error instanceof Error && 'stderr' in error ? String(error.stderr) : String(error);
    throw explainFailure({
      server: 'initdb',
      port: 0,
      dir: home,
      logFile: '-',
      output,
      ending: 'no new database cluster',
    });
  } finally {
    rmSync(passwordFile, { force: true });
  }
}

/**
 * Copies a cluster. This costs a quarter of `initdb`. `cp` keeps owners and modes, and copies a thousand files faster
 * than Node.
 */
async function copyInto(home: string, data: string, from: string): Promise<void> {
  removeUnfinished(home);
  const scratch = mkdtempSync(path.join(home, UNFINISHED));
  const copy = path.join(scratch, 'data');
  await run('cp', ['-a', path.join(clusterHome(from), 'data'), copy]);
  renameSync(copy, data);
  removeUnfinished(home);
}

/** Removes the files of a killed creation. */
function removeUnfinished(home: string): void {
  for (const name of readdirSync(home))
    if (name.startsWith(UNFINISHED)) rmSync(path.join(home, name), { recursive: true, force: true });
}

/**
 * Returns the environment of a server. The person's locale and time zone must not decide how the database sorts or
 * prints.
 */
export function serverEnvironment(): NodeJS.ProcessEnv {
  return { ...process.env, LC_ALL: 'C', TZ: 'UTC' };
}

function assertSameMajor(data: string): void {
  const versionFile = path.join(data, 'PG_VERSION');
  const major = existsSync(versionFile) ? readFileSync(versionFile, 'utf8').trim() : 'unknown';
  if (major === MAJOR_VERSION) return;
  throw new DataDirectoryError(
    data,
    Number(major) > Number(MAJOR_VERSION) ? 'newer' : 'damaged',
    `${data} was written by PostgreSQL ${major}, this is ${MAJOR_VERSION}: use the version that wrote it or start with --fresh.`,
  );
}

function readPassword(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    throw new DataDirectoryError(
      file,
      'damaged',
      `The database password cannot be read from ${file}: restore it or start with --fresh.`,
    );
  }
}

/**
 * Returns the owner of the files. The files decide, because the user may have been chosen before another candidate
 * existed.
 */
function ownerOf(data: string): UserIds | undefined {
  if (!isRoot()) return undefined;
  const { uid, gid } = statSync(data);
  return { uid, gid };
}
