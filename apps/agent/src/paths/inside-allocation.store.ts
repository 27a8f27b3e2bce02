import { type FileHandle, lstat, realpath } from 'node:fs/promises';
import path from 'node:path';
import { openFound } from './plain-file.store.js';
import { EscapesError, OpenDirectory } from './open-directory.store.js';
import { asAbsolute, belowAsText, entryName, isWithin, type PathName } from './path-name.js';

const WALK = { make: true, links: 'inside', closesNotes: 'of allocation' } as const;
const WALK_OF_TASK = { make: true, links: 'inside', closesNotes: 'of task' } as const;

/** Returns the path of a job's file relative to the directory of its allocation, as text. @throws EscapesError */
function fromAllocation(taskDir: string, wanted: string): string {
  const allocation = path.dirname(taskDir);
  // A path that already names the allocation comes from a variable such as NOMAD_TASK_DIR.
  const named = asAbsolute(wanted);
  const relative = isWithin(allocation, named)
    ? path.relative(allocation, named)
    : path.normalize(`${path.basename(taskDir)}/${wanted}`);
  if (relative === '..' || relative.startsWith('../') || relative.includes('\0')) throw new EscapesError(wanted);
  return relative;
}

/**
 * Opens a directory that a job names, below the task's directory or elsewhere in its allocation. It makes the directory
 * if it is missing. The directory stays open, so that no link of another task can lead writes out of the allocation.
 * The caller closes it.
 * @throws EscapesError, TakenError, and the file system's errors
 */
export function openInside(taskDir: string, wanted: string): Promise<OpenDirectory> {
  return OpenDirectory.find(path.dirname(taskDir), fromAllocation(taskDir, wanted), WALK);
}

/** Opens the parent directory of a file in the same way, and closes it after the work. @throws as openInside */
export async function inOpenParent<T>(
  taskDir: string,
  wanted: string,
  work: (parent: OpenDirectory, name: PathName) => Promise<T>,
): Promise<T> {
  const relative = fromAllocation(taskDir, wanted).replace(/\/+$/, '');
  const [above, last] = [path.dirname(relative), path.basename(relative)];
  if (last === '' || last === '.') throw new EscapesError(wanted);
  const parent = await OpenDirectory.find(path.dirname(taskDir), above, WALK);
  try {
    return await work(parent, entryName(last));
  } finally {
    await parent.close();
  }
}

/**
 * Does the same for a file that must be below the task's own directory. It also refuses a link that leads elsewhere in
 * the allocation (AU-123).
 * @throws as openInside
 */
export async function inOpenParentOfTask<T>(
  taskDir: string,
  wanted: string,
  work: (parent: OpenDirectory, name: PathName) => Promise<T>,
): Promise<T> {
  const relative = path.normalize(wanted);
  const [above, last] = [path.dirname(relative), path.basename(relative)];
  const isOutside = path.isAbsolute(relative) || relative.startsWith('../') || relative.includes('\0');
  if (isOutside || relative.endsWith('/') || ['.', '..'].includes(last)) throw new EscapesError(wanted);
  const parent = await OpenDirectory.find(taskDir, above, WALK_OF_TASK);
  try {
    return await work(parent, entryName(last));
  } finally {
    await parent.close();
  }
}

/**
 * Returns a path below a task's directory that a job names, checked to stay in the allocation's directory, including
 * links that another task may have made. It is for reading, and for programs that accept only a path. The target may
 * change before its use, so the user of the path has to check again (readInside).
 * @throws EscapesError
 */
export async function insideAlloc(taskDir: string, wanted: string): Promise<string> {
  const allocation = await realpath(path.dirname(taskDir));
  const target = belowAsText(allocation, fromAllocation(taskDir, wanted));
  let existing = target;
  while (!(await isThere(existing))) existing = path.dirname(existing);
  // A dangling link counts as existing, because a write through it makes its target.
  const found = await realpath(existing).catch(() => '');
  if (!isWithin(allocation, found)) throw new EscapesError(wanted);
  return target;
}

/** FileTooLongError says that a file is longer than its reader accepts. */
export class FileTooLongError extends Error {
  override readonly name = 'FileTooLongError';
}

/**
 * Opens a file that a task may have written, at a checked path, for reading. The caller closes it.
 * @throws EscapesError, NotPlainError, and the file system's errors
 */
export async function openToRead(taskDir: string, checked: string): Promise<FileHandle> {
  const { file, at } = await openFound(await realpath(checked));
  if (isWithin(await realpath(path.dirname(taskDir)), at)) return file;
  await file.close();
  throw new EscapesError(checked);
}

/**
 * Returns the text of a file that a task may have written, at a checked path.
 * @throws EscapesError, NotPlainError, FileTooLongError, and the file system's errors
 */
export async function readInside(taskDir: string, checked: string, maxBytes: number): Promise<string> {
  const file = await openToRead(taskDir, checked);
  try {
    const { size } = await file.stat();
    if (size > maxBytes) throw new FileTooLongError(`${checked} is longer than ${maxBytes} bytes`);
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
}

const isThere = (file: string): Promise<boolean> =>
  lstat(file).then(
    () => true,
    () => file === path.dirname(file),
  );
