import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import path from 'node:path';
import type { GivenAssertion } from './auth-method-request.js';

/** Bytes of a file with a key or a certificate. */
const MAX_FILE_BYTES = 64 * 1_024;

/** The content of a file, or why it cannot be read. */
export type ReadFile = { readonly text: string } | { readonly problem: string };

/** What the key files of client assertions hold, by their paths. */
export type AssertionFiles = ReadonlyMap<string, ReadFile>;

/** The files that a client assertion names, as this server has them (AU-16). Resolves always. */
export async function readAssertionFiles(assertion: GivenAssertion | null): Promise<AssertionFiles> {
  const { PemKeyFile = '', PemCertFile = '' } = assertion?.PrivateKey ?? {};
  const paths = [PemKeyFile, PemCertFile].filter((file) => path.isAbsolute(file));
  return new Map(await Promise.all(paths.map(async (file) => [file, await readKeyFile(file)] as const)));
}

/** Only files: reading a pipe would wait for whoever writes into it. Resolves always. */
export async function readKeyFile(file: string): Promise<ReadFile> {
  try {
    const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const stats = await handle.stat();
      if (!stats.isFile()) return { problem: 'it is not a file' };
      if (stats.size > MAX_FILE_BYTES) return { problem: `it is larger than ${MAX_FILE_BYTES} bytes` };
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(MAX_FILE_BYTES), 0, MAX_FILE_BYTES, 0);
      return { text: buffer.toString('latin1', 0, bytesRead) };
    } finally {
      await handle.close();
    }
  } catch (error) {
    return { problem: error instanceof Error && 'code' in error ? String(error.code) : 'it cannot be opened' };
  }
}
