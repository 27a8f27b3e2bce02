import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { makeDirectorySync, takeLock } from '@waybill/processes';
import { asDataDirectoryFailure } from './data-directory-failure.js';
import { DataDirectoryError } from './failures.js';
import { awaitLeftoverServer } from './leftover-server.js';
import { natsFiles } from './nats-server.js';
import { postgresFiles } from './postgres-server.js';
import { clusterHome, relocatedHome } from './postgres-location.js';

/** The version of the directory's format. It is raised when a release can't read what an older one wrote. */
const FORMAT = 1;
const VERSION = 'version';
const LOCK = 'lock';
/** These entries stay. `bin` holds the fetched nats-server by default, which is a program and not data. */
const KEPT = new Set(['bin', LOCK]);
const OURS = new Set([...KEPT, VERSION, 'nats', 'postgres', 'agent', 'credentials', 'tls']);

export interface EmbeddedDataPaths {
  readonly root: string;
  /** The directory for startNats. */
  readonly nats: string;
  /** The directory for startPostgres. */
  readonly postgres: string;
  /**
   * The place of the cluster itself and its log: `postgres`, or a place below /var/lib/waybill for root with a private
   * directory.
   */
  readonly postgresHome: string;
  readonly agent: string;
  /** The credentials with which processes connect to the servers. */
  readonly credentials: string;
  /** The authority and the certificates of this installation. */
  readonly tls: string;
}

export interface OpenOptions {
  /** Removes all data first. Default false. */
  readonly fresh?: boolean;
  /** Starts with an empty database, which is filled from the log, and puts the existing one aside. Default false. */
  readonly freshDatabase?: boolean;
  readonly log?: (line: string) => void;
  /** Is called before the data are removed, to end processes other than the servers that still run in the directory. */
  readonly beforeRemoval?: (paths: EmbeddedDataPaths) => Promise<void>;
}

export interface DataDirectory {
  readonly paths: EmbeddedDataPaths;
  /** Lets another launcher use the directory. Call it only after everything that uses the directory has stopped. */
  release(): Promise<void>;
}

export function embeddedDataPaths(dir: string): EmbeddedDataPaths {
  const root = path.resolve(dir);
  const postgres = path.join(root, 'postgres');
  return {
    root,
    nats: path.join(root, 'nats'),
    postgres,
    postgresHome: clusterHome(postgres),
    agent: path.join(root, 'agent'),
    credentials: path.join(root, 'credentials'),
    tls: path.join(root, 'tls'),
  };
}

/**
 * Takes the data directory for this process: it creates the directory, locks it, and checks that this release can read
 * it. Throws DataDirectoryError (`permission`, `in-use`, `newer`, `damaged`, `foreign`, `impossible`) or DiskFullError.
 */
export async function openDataDirectory(dir: string, options: OpenOptions = {}): Promise<DataDirectory> {
  const root = path.resolve(dir);
  let release: (() => Promise<void>) | undefined;
  try {
    makeDirectorySync(root, { mode: 0o755 });
    release = await takeLock(path.join(root, LOCK));
    if (options.fresh) await removeData(root, options);
    stampOrCheckVersion(root);
    if (options.freshDatabase) await putDatabaseAside(root, options.log);
    return { paths: embeddedDataPaths(root), release };
  } catch (error) {
    await release?.();
    throw asDataDirectoryFailure(error, root);
  }
}

/**
 * Removes all data below `dir`, relocated data included, and keeps the fetched programs. It does nothing if the
 * directory doesn't exist. Throws DataDirectoryError: `in-use` while a launcher runs on it, `foreign` if it contains
 * something that isn't ours.
 */
export async function wipe(dir: string, options: Pick<OpenOptions, 'log'> = {}): Promise<void> {
  if (!existsSync(dir)) return;
  const directory = await openDataDirectory(dir, { ...options, fresh: true });
  await directory.release();
}

async function removeData(root: string, { log = () => {}, beforeRemoval }: OpenOptions): Promise<void> {
  const names = readdirSync(root);
  const foreign = names.find((name) => !OURS.has(name) && !name.startsWith(`${LOCK}.`));
  if (foreign !== undefined && !names.includes(VERSION))
    throw new DataDirectoryError(
      root,
      'foreign',
      `${root} holds ${foreign} and is not a data directory of Waybill: nothing was removed.`,
    );
  const nats = path.join(root, 'nats');
  const postgres = path.join(root, 'postgres');
  await awaitLeftoverServer({ ...natsFiles(nats), log });
  await awaitLeftoverServer({ ...postgresFiles(clusterHome(postgres)), log });
  await beforeRemoval?.(embeddedDataPaths(root));
  const relocated = relocatedHome(postgres);
  if (relocated !== undefined) rmSync(relocated, { recursive: true, force: true });
  for (const name of names) if (!KEPT.has(name)) rmSync(path.join(root, name), { recursive: true, force: true });
}

/**
 * Puts the database aside. If the log does not begin with its first transaction, nothing is lost: the database works
 * again when it is put back.
 */
async function putDatabaseAside(root: string, log: (line: string) => void = () => {}): Promise<void> {
  const postgres = path.join(root, 'postgres');
  if (!existsSync(postgres)) return;
  await awaitLeftoverServer({ ...postgresFiles(clusterHome(postgres)), log });
  const aside = `${postgres}.${new Date().toISOString().replaceAll(':', '-')}`;
  renameSync(postgres, aside);
  log(`the database was put aside as ${aside}: remove it once the new one is complete`);
}

function stampOrCheckVersion(root: string): void {
  const file = path.join(root, VERSION);
  if (!existsSync(file)) {
    const draft = `${file}.new`;
    writeFileSync(draft, `${JSON.stringify({ format: FORMAT })}\n`);
    renameSync(draft, file);
    return;
  }
  const format = formatIn(readFileSync(file, 'utf8'));
  if (format === undefined)
    throw new DataDirectoryError(root, 'damaged', `${file} cannot be read: restore it or start with --fresh.`);
  if (format > FORMAT)
    throw new DataDirectoryError(
      root,
      'newer',
      `${root} was written by a newer Waybill (format ${format}, this one knows ${FORMAT}): use that one or another data directory.`,
    );
}

/** Reads the version. The result is undefined for anything but a positive integer. */
function formatIn(content: string): number | undefined {
  try {
    const value: unknown = JSON.parse(content);
    if (typeof value !== 'object' || value === null || !('format' in value)) return undefined;
    return typeof value.format === 'number' && Number.isInteger(value.format) && value.format > 0
      ? value.format
      : undefined;
  } catch {
    return undefined;
  }
}
