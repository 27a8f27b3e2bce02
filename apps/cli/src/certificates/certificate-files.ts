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

/** Writes a new pair. Its directory must exist; nothing in it is overwritten. @throws CommandFailure */
export async function saved(files: PairFiles, pair: KeyPair): Promise<void> {
  try {
    await savePair(files, pair);
  } catch (error) {
    throw new CommandFailure(`Error writing certificate: ${causeOf(error)}`);
  }
}

/** Of a file whose content is no certificate or key, or not the one that is needed. */
export const unusable = (file: string, { message }: CertificateError): CommandFailure =>
  new CommandFailure(`Error parsing ${file}: ${message}`);
