import { constants } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import path from 'node:path';
import type { Template } from '@waybill/model';
import { openItself } from '../../paths/plain-file.store.js';
import { inOpenParent, insideAlloc } from '../../paths/inside-allocation.store.js';

/**
 * Returns the path relative to the task's directory. A job may also give a full path, as `${NOMAD_SECRETS_DIR}` does.
 */
function fromTask(taskDir: string, wanted: string): string {
  const isFull = path.isAbsolute(wanted) && !path.relative(path.dirname(taskDir), wanted).startsWith('..');
  return isFull ? path.relative(taskDir, wanted) : wanted;
}

/** Returns the path of a template's source. @throws EscapesError */
export const sourcePath = (taskDir: string, wanted: string): Promise<string> =>
  insideAlloc(taskDir, fromTask(taskDir, wanted));

/**
 * Writes a rendered text to the template's destination. Readers see the old text or the new one, never a part.
 * @returns whether the text differs from the one before
 * @throws EscapesError, TakenError
 */
export function writeRendered(taskDir: string, spec: Template, text: string): Promise<boolean> {
  return inOpenParent(taskDir, fromTask(taskDir, spec.DestPath), async (parent, name) => {
    if ((await textOf(parent.pathOfEntry(name), Buffer.byteLength(text))) === text) return false;
    await parent.replace(name, (file) => render(file, spec, text));
    return true;
  });
}

async function render(file: FileHandle, { Perms, Uid, Gid }: Template, text: string): Promise<void> {
  await file.writeFile(text);
  await file.chmod(Number.parseInt(Perms || '0644', 8));
  if ((Uid ?? -1) >= 0 || (Gid ?? -1) >= 0) await file.chown(Uid ?? -1, Gid ?? -1);
}

/** Returns the text of a file, or null if there is no file of this length. */
async function textOf(entry: string, bytes: number): Promise<string | null> {
  const file = await openItself(entry, entry, constants.O_RDONLY).catch(() => undefined);
  if (!file) return null;
  try {
    return (await file.stat()).size === bytes ? await file.readFile('utf8') : null;
  } finally {
    await file.close();
  }
}
