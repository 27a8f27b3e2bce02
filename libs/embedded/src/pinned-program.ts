import { webcrypto } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { AlteredProgramError } from './failures.js';

/** There is one list per package and version, in the form of `sha256sum`. scripts/pin-programs.mjs writes the lists. */
const LISTS = fileURLToPath(new URL('../pinned/', import.meta.url));

/** PinnedProgram is a program of an npm package as it is installed on this machine. */
export interface PinnedProgram {
  /** The name for people: `nats-server 2.14.0`. */
  readonly what: string;
  /** The name of the npm package, which selects the list. */
  readonly packageName: string;
  readonly version: string;
  /** The folder to which the paths of the list are relative. */
  readonly root: string;
  /**
   * Folders below `root` that must hold only listed files and `links`, because the program would load a library that is
   * added there.
   */
  readonly closed: readonly string[];
  /** The symbolic links that belong in closed folders, relative to `root`. */
  readonly links: readonly string[];
  /** The command that restores the files of the package. */
  readonly repair: string;
}

/** @returns SHA-256 by path below the package */
export function pinnedFiles(packageName: string, version: string, lists = LISTS): ReadonlyMap<string, string> {
  const file = path.join(lists, `${packageName.replace(/^@/, '').replace('/', '-')}-${version}.sha256`);
  if (!existsSync(file)) return new Map();
  const lines = readFileSync(file, 'utf8').split('\n');
  return new Map(lines.filter((line) => line !== '').map((line) => [line.slice(66), line.slice(0, 64)]));
}

/**
 * Compares all of a program's files with the list in the repository. Costs about 20 ms for nats-server and 80 ms for
 * PostgreSQL, on the thread pool for the most part: call it beside other work, and await it before anything is executed.
 * It finds damage and exchanged packages, not somebody who exchanges the file between the check and the start.
 *
 * @throws AlteredProgramError that names the first file
 */
export async function assertUnaltered(program: PinnedProgram, lists = LISTS): Promise<void> {
  const { what, packageName, version, root, repair } = program;
  const listed = pinnedFiles(packageName, version, lists);
  if (listed.size === 0)
    throw new AlteredProgramError(
      root,
      `${packageName} ${version} is not a version that this Waybill knows: ${repair}`,
    );
  const added = unlisted(program, listed);
  if (added !== undefined)
    throw new AlteredProgramError(
      added,
      `${what} was not started: ${added} does not belong to ${packageName} ${version}. Remove it, or ${repair}`,
    );
  await Promise.all(
    [...listed].map(async ([name, expected]) => {
      const file = path.join(root, name);
      const found = await sha256(file);
      if (found !== expected)
        throw new AlteredProgramError(
          file,
          `${what} was not started: ${file} ${found === undefined ? 'is missing' : `has SHA-256 ${found}`}, and Waybill was tested with ${expected}. To repair it, ${repair}`,
        );
    }),
  );
}

function unlisted({ root, closed, links }: PinnedProgram, listed: ReadonlyMap<string, string>): string | undefined {
  for (const folder of closed)
    for (const entry of readdirSync(path.join(root, folder), { recursive: true, withFileTypes: true })) {
      const file = path.join(entry.parentPath, entry.name);
      const name = path.relative(root, file);
      if (entry.isDirectory() || (entry.isFile() && listed.has(name))) continue;
      if (!entry.isSymbolicLink() || !links.includes(name)) return file;
    }
  return undefined;
}

/** On the thread pool, so that other work of a start goes on meanwhile. */
async function sha256(file: string): Promise<string | undefined> {
  try {
    return Buffer.from(await webcrypto.subtle.digest('SHA-256', await readFile(file))).toString('hex');
  } catch {
    return undefined;
  }
}
