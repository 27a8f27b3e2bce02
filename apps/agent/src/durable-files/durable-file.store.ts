import { SharedRun } from '@waybill/model';
import { mkdir, open, rename } from 'node:fs/promises';
import path from 'node:path';

/** The extension of an unfinished write. */
export const UNFINISHED = '.new';

/**
 * Replaces a file so that a crash at any moment leaves the old or the new one. It writes a second file, makes it
 * durable, then renames it. Only the owner can read it. Cost: two flushes; concurrent writes share the second.
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

/** Flushes a directory, because a rename is durable only after that. */
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
