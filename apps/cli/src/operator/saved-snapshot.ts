import { existsSync } from 'node:fs';
import { rename, rm, writeFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { sha256, unpackArchive } from '@waybill/model/snapshot-archive';
import { headerText } from '../server/api-client.js';
import type { Call } from '../command-spec.js';
import { CommandFailure, failed } from '../failure.js';
import { SNAPSHOT_PATH } from './snapshot-file.js';

/** @throws CommandFailure if the file exists */
export function mustBeNew(file: string): void {
  if (existsSync(file)) throw new CommandFailure(`Destination file already exists: "${file}"`);
}

/** Saves the cluster's state to a new file, which gets its name once it is verified. @throws CommandFailure */
export async function saveSnapshot(api: Call['api'], file: string, stale = false): Promise<void> {
  mustBeNew(file);
  const archive = await fetched(api, stale);
  const beside = `${file}.tmp`;
  try {
    await writeFile(beside, archive, { mode: 0o600, flag: 'wx' });
    await rename(beside, file);
  } catch (error) {
    await rm(beside, { force: true });
    throw failed('writing snapshot file', error);
  }
}

/** Downloads the snapshot and compares it with the digest that the server sent (OP-40). */
async function fetched(api: Call['api'], stale: boolean): Promise<Buffer> {
  try {
    const { headers, body } = await api.stream(SNAPSHOT_PATH, stale ? { stale } : {});
    const archive = await buffer(body);
    if (headerText(headers, 'digest') !== `sha-256=${sha256(archive, 'base64')}`)
      throw new CommandFailure('Error verifying snapshot: its digest is not the one that the server named');
    await unpackArchive(archive);
    return archive;
  } catch (error) {
    throw failed('saving snapshot', error);
  }
}
