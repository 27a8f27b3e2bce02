import { mkdirSync, statSync } from 'node:fs';
import { mkdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { isErrno } from './process-identity.js';

/** The file system takes no directory of that name, although the directory above is there: /proc is such a place. */
export class CannotCreateDirectoryError extends Error {
  override readonly name = 'CannotCreateDirectoryError';
  constructor(
    readonly dir: string,
    remedy: string,
  ) {
    super(`cannot create ${dir}: ${remedy}`);
  }
}

export interface DirectoryWish {
  /** Mode of the directories that are made. Default: what the umask leaves. */
  readonly mode?: number;
  /** What the person can do when the place is impossible. Default: `choose another directory`. */
  readonly otherwise?: string;
}

const OTHERWISE = 'choose another directory';

/**
 * Makes a directory that a setting names, with those above it; one that is there stays as it is. Node's own recursive form
 * never returns where the file system answers ENOENT below a directory that exists, which `mkdir` in /proc does.
 * @throws CannotCreateDirectoryError; what else the file system refuses, as it is
 */
export async function makeDirectory(dir: string, wish: DirectoryWish = {}): Promise<void> {
  const refusal = await mkdir(dir, { mode: wish.mode }).then(() => undefined, asError);
  if (refusal === undefined || (await isDirectory(dir))) return;
  const above = path.dirname(dir);
  if (!isErrno(refusal, 'ENOENT') || above === dir) throw refusal;
  await makeDirectory(above, wish);
  try {
    await mkdir(dir, { mode: wish.mode });
  } catch (error) {
    if (!(await isDirectory(dir))) throw finalRefusal(error, dir, wish);
  }
}

/** The same for code that starts synchronously. */
export function makeDirectorySync(dir: string, wish: DirectoryWish = {}): void {
  const refusal = refusalOf(dir, wish);
  if (refusal === undefined || isDirectorySync(dir)) return;
  const above = path.dirname(dir);
  if (!isErrno(refusal, 'ENOENT') || above === dir) throw refusal;
  makeDirectorySync(above, wish);
  const again = refusalOf(dir, wish);
  if (again !== undefined && !isDirectorySync(dir)) throw finalRefusal(again, dir, wish);
}

function refusalOf(dir: string, { mode }: DirectoryWish): Error | undefined {
  try {
    mkdirSync(dir, { mode });
    return undefined;
  } catch (error) {
    return asError(error);
  }
}

/** The directory above is there by now, so ENOENT is not about it. */
const finalRefusal = (error: unknown, dir: string, { otherwise = OTHERWISE }: DirectoryWish): unknown =>
  isErrno(error, 'ENOENT') ? new CannotCreateDirectoryError(dir, otherwise) : error;

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));

const isDirectory = async (dir: string): Promise<boolean> =>
  await stat(dir).then(
    (found) => found.isDirectory(),
    () => false,
  );

const isDirectorySync = (dir: string): boolean => statSync(dir, { throwIfNoEntry: false })?.isDirectory() ?? false;
