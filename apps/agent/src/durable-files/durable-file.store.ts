import { SharedRun } from '@waybill/model';
import { mkdir, open, rename } from 'node:fs/promises';
import path from 'node:path';

/** What an unfinished write is called. */
export const UNFINISHED = '.new';

/**
 * Replaces a file so that a crash at any moment leaves the old or the new one: written beside, made durable, then put in
 * place. Readable by the owner only. Cost: two flushes, of which all that are written at once share the second.
 */
export async function writeDurably(file: string, text: string): Promise<void> {
  const dir = path.dirname(file);
  await mkdir(dir, { recursive: true });
  const handle = await open(file + UNFINISHED, 'w', 0o600);
  try {
    await handle.writeFile(text);
    await handle.datasync();
  } finally {
    await handle.close();
  }
  await rename(file + UNFINISHED, file);
  await flushDirectory(dir);
}

const flushes = new Map<string, SharedRun>();

/** A rename is durable only when its directory is. */
async function flushDirectory(dir: string): Promise<void> {
  const flush = flushes.get(dir) ?? new SharedRun(() => flushNow(dir));
  flushes.set(dir, flush);
  try {
    await flush.requestRun();
  } finally {
    if (flush.isIdle) flushes.delete(dir);
  }
}

async function flushNow(dir: string): Promise<void> {
  const handle = await open(dir, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
