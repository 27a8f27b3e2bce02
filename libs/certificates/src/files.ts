import { access, rm, writeFile } from 'node:fs/promises';
import type { KeyPair } from './keys.js';

/** Where a pair is kept. */
export interface PairFiles {
  readonly certificate: string;
  readonly key: string;
}

/** A file that would be written is there already. */
export class CertificateFileExistsError extends Error {
  override readonly name = 'CertificateFileExistsError';
  constructor(readonly file: string) {
    super(`${file} already exists`);
  }
}

/** Everybody may read a certificate, only its owner the key. */
const CERTIFICATE_MODE = 0o644;
const KEY_MODE = 0o600;

/** Writes a pair, or nothing: existing files are never overwritten. @throws CertificateFileExistsError */
export async function savePair(files: PairFiles, { certificate, key }: KeyPair): Promise<void> {
  for (const file of [files.certificate, files.key]) if (await exists(file)) throw new CertificateFileExistsError(file);
  await writeFile(files.key, key, { mode: KEY_MODE, flag: 'wx' });
  try {
    await writeFile(files.certificate, certificate, { mode: CERTIFICATE_MODE, flag: 'wx' });
  } catch (error) {
    await rm(files.key, { force: true }); // a key without its certificate is of no use, and in the way of the next try
    throw error;
  }
}

const exists = (file: string): Promise<boolean> =>
  access(file).then(
    () => true,
    () => false,
  );
