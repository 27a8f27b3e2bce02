import { lstat, realpath } from 'node:fs/promises';
import path from 'node:path';
import { openFound } from '../files/plain-file.store.js';

/** What a job names leads out of the directory of its allocation. */
export class EscapesError extends Error {
  override readonly name = 'EscapesError';
  constructor(readonly wanted: string) {
    super(`path "${wanted}" escapes the alloc directory`);
  }
}

/**
 * A path below a task's directory that a job names, checked to stay in the allocation's, also through links that another
 * task may have made. What is to be written there need not exist yet.
 * @throws EscapesError
 */
export async function insideAlloc(taskDir: string, wanted: string): Promise<string> {
  const allocation = await realpath(path.dirname(taskDir));
  // One that already names the allocation comes of a variable such as NOMAD_TASK_DIR.
  const named = path.resolve('/', wanted);
  const target = isWithin(path.dirname(taskDir), named)
    ? path.join(allocation, path.relative(path.dirname(taskDir), named))
    : path.join(await realpath(taskDir), wanted);
  let existing = target;
  while (!(await isThere(existing))) existing = path.dirname(existing);
  // A link that leads nowhere yet is one too: whoever writes through it makes what it names.
  const found = await realpath(existing).catch(() => '');
  if (!isWithin(allocation, found) || !isWithin(allocation, target)) throw new EscapesError(wanted);
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

const isWithin = (root: string, found: string): boolean => found === root || found.startsWith(root + path.sep);
