import { realpath } from 'node:fs/promises';
import path from 'node:path';
import { RpcError } from '@waybill/rpc';
import { belowAsText, isWithin } from '../../paths/path-name.js';

/** Directories of a task that clients may not read, with the word for their contents in errors. */
const CLOSED: Readonly<Record<string, string>> = { secrets: 'secret', private: 'private' };

/**
 * Resolves a path of an allocation, including links (AG-302).
 *
 * @param root the allocation's directory
 * @throws RpcError invalid if it leads out of the directory, forbidden if it leads to secrets; the file system's
 * errors, such as ENOENT
 */
export async function resolveAllocPath(root: string, wanted: string): Promise<string> {
  const inside = path.normalize(wanted.replace(/^\/+/, ''));
  if (inside === '..' || inside.startsWith('../')) throw escapeError();
  const lexical = belowAsText(root, inside);
  refuseClosed(root, lexical, wanted);
  const found = await realpath(lexical);
  checkAllocPath(await realpath(root), found, wanted);
  return found;
}

/** Checks a path without links in the same way. @throws RpcError invalid, forbidden */
export function checkAllocPath(realRoot: string, found: string, wanted: string): void {
  if (!isWithin(realRoot, found)) throw escapeError();
  refuseClosed(realRoot, found, wanted);
}

function refuseClosed(root: string, found: string, wanted: string): void {
  const [task, directory = ''] = path.relative(root, found).split(path.sep);
  const holds = task === 'alloc' ? undefined : CLOSED[directory];
  if (holds) throw new RpcError('forbidden', `Reading ${holds} file prohibited: ${wanted}`);
}

/** Returns the refusal of a path that leaves the allocation's directory (AG-302). */
export const escapeError = (): RpcError => new RpcError('invalid', 'Path escapes the alloc directory');
