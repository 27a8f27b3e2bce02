import { mkdir, open, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import type { Template } from '@waybill/model';
import { insideAlloc, readInside } from '../hooks/inside-alloc.js';

/** A path that a job may also give in full, as `${NOMAD_SECRETS_DIR}` does. @throws EscapesError */
export function templatePath(taskDir: string, wanted: string): Promise<string> {
  const isFull = path.isAbsolute(wanted) && !path.relative(path.dirname(taskDir), wanted).startsWith('..');
  return insideAlloc(taskDir, isFull ? path.relative(taskDir, wanted) : wanted);
}

/**
 * Puts a rendered text where its template says; whoever reads the file sees the old text or the new, never a part.
 * @returns whether it is another than before @throws EscapesError
 */
export async function writeRendered(taskDir: string, spec: Template, text: string): Promise<boolean> {
  const file = await templatePath(taskDir, spec.DestPath);
  const before = await readInside(taskDir, file, Buffer.byteLength(text)).catch(() => null);
  if (before === text) return false;
  await mkdir(path.dirname(file), { recursive: true });
  const beside = `${file}.rendering`;
  await rm(beside, { recursive: true, force: true });
  const written = await open(beside, 'wx'); // never through a link that the task has put there
  try {
    await written.writeFile(text);
    await written.chmod(Number.parseInt(spec.Perms || '0644', 8));
    if ((spec.Uid ?? -1) >= 0 || (spec.Gid ?? -1) >= 0) await written.chown(spec.Uid ?? -1, spec.Gid ?? -1);
  } finally {
    await written.close();
  }
  await rename(beside, file);
  return true;
}
