import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { makeDirectorySync, takeLock } from '@waybill/processes';
import { asDataDirectoryFailure } from './data-directory-failure.js';
import { DataDirectoryError } from './failures.js';
import { awaitLeftoverServer } from './leftover-server.js';
import { natsFiles } from './nats-server.js';
import { postgresFiles } from './postgres-server.js';
import { clusterHome, relocatedHome } from './postgres-location.js';

/** Raised when a release can't read what an older one wrote. */
const FORMAT = 1;
const VERSION = 'version';
const LOCK = 'lock';
/** The fetched nats-server lies there by default; it is a program, not data. */
const KEPT = new Set(['bin', LOCK]);
const OURS = new Set([...KEPT, VERSION, 'nats', 'postgres', 'agent', 'credentials', 'tls']);

export interface EmbeddedDataPaths {
  readonly root: string;
  /** For startNats. */
  readonly nats: string;
  /** For startPostgres. */
  readonly postgres: string;
  /** Where the cluster itself and its log are: `postgres`, or for root with a private directory a place below /var/lib/waybill. */
  readonly postgresHome: string;
  readonly agent: string;
  /** What lets a process in at the servers. */
  readonly credentials: string;
  /** The authority and the certificates of this installation. */
  readonly tls: string;
}

export interface OpenOptions {
  /** Start with nothing: removes all data first. Default false. */
  readonly fresh?: boolean;
  /** Start with an empty database, to be filled from the log: the one that is there is put aside. Default false. */
  readonly freshDatabase?: boolean;
  readonly log?: (line: string) => void;
  /** Called before the data are removed, to end processes other than the servers that still run in the directory. */
  readonly beforeRemoval?: (paths: EmbeddedDataPaths) => Promise<void>;
}

export interface DataDirectory {
  readonly paths: EmbeddedDataPaths;
  /** Lets another launcher in. Only after everything that uses the directory has stopped. */
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
 * Takes the data directory for this process: creates it, locks it, checks that this release can read it.
 * Throws DataDirectoryError (`permission`, `in-use`, `newer`, `damaged`, `foreign`, `impossible`) or DiskFullError.
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
 * Removes all data below `dir`, also what was relocated, and keeps the fetched programs. Nothing to do when it doesn't exist.
 * Throws DataDirectoryError: `in-use` while a launcher runs on it, `foreign` when something in it isn't ours.
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

/** Nothing is lost if the log does not reach back to its first transaction: put back, the database is what it was. */
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

/** Undefined for anything but a positive whole number. */
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
