import { readFile } from 'node:fs/promises';
import { type CertificateError, type KeyPair, type PairFiles, savePair } from '@waybill/certificates';
import { causeOf, CommandFailure } from '../failure.js';

/** @throws CommandFailure */
export async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new CommandFailure(`Error reading file: ${causeOf(error)}`);
  }
}

/** Writes a new pair of files. Its directory must exist, and no file is overwritten. @throws CommandFailure */
export async function saved(files: PairFiles, pair: KeyPair): Promise<void> {
  try {
    await savePair(files, pair);
  } catch (error) {
    throw new CommandFailure(`Error writing certificate: ${causeOf(error)}`);
  }
}

/** Returns the failure for a file whose content is not the needed certificate or key. */
export const unusable = (file: string, { message }: CertificateError): CommandFailure =>
  new CommandFailure(`Error parsing ${file}: ${message}`);
