import { constants, type FileHandle, open, readlink, realpath } from 'node:fs/promises';
import path from 'node:path';
import { isErrno } from '@waybill/processes';
import { below, belowAsText, entryName } from './path-name.js';

/**
 * NotPlainError says that a task has put another kind of file, or a link on the way, in the place of a file of the
 * agent.
 */
export class NotPlainError extends Error {
  override readonly name = 'NotPlainError';
  constructor(file: string) {
    super(`${file} is no regular file`);
  }
}

/** The errors of `open` for a link, a directory, and a pipe without a reader. */
const OTHER_THINGS = ['ELOOP', 'ENXIO', 'EISDIR'];

/**
 * Opens a file in a directory into which tasks write, too. It follows no link, neither in the file's place nor on the
 * way below `trusted`, whatever is moved meanwhile. It does not wait for the other end of a pipe.
 * @param trusted a directory that no task can replace
 * @param flags as in `constants`
 * @throws NotPlainError, and the file system's errors
 */
export async function openPlain(trusted: string, relative: string, flags: number, mode?: number): Promise<FileHandle> {
  const wanted = belowAsText(await realpath(trusted), relative);
  const directory = await open(path.dirname(wanted), constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    let at = path.dirname(wanted);
    if (process.platform === 'linux') {
      const opened = `/proc/self/fd/${directory.fd}`;
      if ((await readlink(opened)) !== at) throw new NotPlainError(wanted);
      at = opened;
    } else if ((await realpath(at)) !== at) throw new NotPlainError(wanted);
    return await openItself(below(at, entryName(path.basename(wanted))), wanted, flags, mode);
  } finally {
    await directory.close();
  }
}

/**
 * Opens a regular file without following a link in its place.
 * @param wanted its name in errors
 * @throws NotPlainError
 */
export async function openItself(at: string, wanted: string, flags: number, mode?: number): Promise<FileHandle> {
  const file = await open(at, flags | constants.O_NOFOLLOW | constants.O_NONBLOCK, mode).catch((error: unknown) => {
    throw OTHER_THINGS.some((code) => isErrno(error, code)) ? new NotPlainError(wanted) : error;
  });
  if ((await file.stat()).isFile()) return file;
  await file.close();
  throw new NotPlainError(wanted);
}

/**
 * Opens a path without links for reading, and returns the real path of the opened file. A directory on the way may have
 * become a link since the check. It does not wait for the other end of a pipe.
 * @throws NotPlainError, and the file system's errors
 */
export async function openFound(found: string): Promise<{ readonly file: FileHandle; readonly at: string }> {
  const file = await openItself(found, found, constants.O_RDONLY);
  if (process.platform !== 'linux') return { file, at: found };
  const at = await readlink(`/proc/self/fd/${file.fd}`);
  return { file, at: at.replace(/ \(deleted\)$/, '') };
}
