import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import path from 'node:path';
import type { GivenAssertion } from './auth-method-request.js';

/** The largest size in bytes of a file with a key or a certificate. */
const MAX_FILE_BYTES = 64 * 1_024;

/** ReadFile is the content of a file, or the reason why it cannot be read. */
export type ReadFile = { readonly text: string } | { readonly problem: string };

/** AssertionFiles has the key files of client assertions by their paths. */
export type AssertionFiles = ReadonlyMap<string, ReadFile>;

/** Reads the files that a client assertion names, from this server (AU-16). The promise never rejects. */
export async function readAssertionFiles(assertion: GivenAssertion | null): Promise<AssertionFiles> {
  const { PemKeyFile = '', PemCertFile = '' } = assertion?.PrivateKey ?? {};
  const paths = [PemKeyFile, PemCertFile].filter((file) => path.isAbsolute(file));
  return new Map(await Promise.all(paths.map(async (file) => [file, await readKeyFile(file)] as const)));
}

/** Reads a regular file. Reading a pipe would wait for its writer. The promise never rejects. */
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
