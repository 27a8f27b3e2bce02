import { lstat, realpath } from 'node:fs/promises';
import path from 'node:path';
import { openFound } from './plain-file.store.js';
import { EscapesError, OpenDirectory } from './open-directory.store.js';
import { asAbsolute, belowAsText, entryName, isWithin, type PathName } from './path-name.js';

const WALK = { make: true, links: 'inside', closesNotes: 'of allocation' } as const;
const WALK_OF_TASK = { make: true, links: 'inside', closesNotes: 'of task' } as const;

/** Where what a job names is, from the directory of its allocation on; as text. @throws EscapesError */
function fromAllocation(taskDir: string, wanted: string): string {
  const allocation = path.dirname(taskDir);
  // One that already names the allocation comes of a variable such as NOMAD_TASK_DIR.
  const named = asAbsolute(wanted);
  const relative = isWithin(allocation, named)
    ? path.relative(allocation, named)
    : path.normalize(`${path.basename(taskDir)}/${wanted}`);
  if (relative === '..' || relative.startsWith('../') || relative.includes('\0')) throw new EscapesError(wanted);
  return relative;
}

/**
 * A directory below a task's, or elsewhere in its allocation, that a job names: made if it is missing, and open, so that
 * no link that another task makes meanwhile leads what is written there out of the allocation. To be closed.
 * @throws EscapesError, TakenError, and what the file system says
 */
export function openInside(taskDir: string, wanted: string): Promise<OpenDirectory> {
  return OpenDirectory.find(path.dirname(taskDir), fromAllocation(taskDir, wanted), WALK);
}

/** The same of the directory in which a file is to be. @throws as openInside */
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
 * The same of a file that is to be below the task's own directory: a link that leads elsewhere in the allocation refuses it
 * too (AU-123). @throws as openInside
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
 * A path below a task's directory that a job names, checked to stay in the allocation's, also through links that another
 * task may have made. For reading, or for those who can only be told a path: what is there may be another thing by the time
 * it is used, and has to be looked at again (readInside).
 * @throws EscapesError
 */
export async function insideAlloc(taskDir: string, wanted: string): Promise<string> {
  const allocation = await realpath(path.dirname(taskDir));
  const target = belowAsText(allocation, fromAllocation(taskDir, wanted));
  let existing = target;
  while (!(await isThere(existing))) existing = path.dirname(existing);
  // A link that leads nowhere yet is one too: whoever writes through it makes what it names.
  const found = await realpath(existing).catch(() => '');
  if (!isWithin(allocation, found)) throw new EscapesError(wanted);
  return target;
}

/** A file is longer than whoever reads it takes. */
export class FileTooLongError extends Error {
  override readonly name = 'FileTooLongError';
}

/**
 * The text of a file that a task may have put there, at a path that was checked.
 * @throws EscapesError, NotPlainError, FileTooLongError, and what the file system says
 */
export async function readInside(taskDir: string, checked: string, maxBytes: number): Promise<string> {
  const { file, at } = await openFound(await realpath(checked));
  try {
    if (!isWithin(await realpath(path.dirname(taskDir)), at)) throw new EscapesError(checked);
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
