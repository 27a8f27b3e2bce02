import { realpath } from 'node:fs/promises';
import path from 'node:path';

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
  const target = path.join(await realpath(taskDir), wanted);
  let existing = target;
  while (!isWithin(allocation, (await realpath(existing).catch(() => undefined)) ?? '')) {
    const found = await realpath(existing).catch(() => undefined);
    if (found !== undefined || existing === path.dirname(existing)) throw new EscapesError(wanted);
    existing = path.dirname(existing);
  }
  if (!isWithin(allocation, target)) throw new EscapesError(wanted);
  return target;
}

const isWithin = (root: string, found: string): boolean => found === root || found.startsWith(root + path.sep);
