import { readFile } from 'node:fs/promises';
import { type ArchiveMeta, unpackArchive } from '@waybill/model/snapshot-archive';
import { failed } from '../failure.js';

export const SNAPSHOT_PATH = '/v1/operator/snapshot';

/** A verified snapshot file. */
export interface SnapshotFile {
  readonly bytes: Buffer;
  readonly meta: ArchiveMeta;
}

/** @throws CommandFailure if the file cannot be read or is not an intact archive */
export async function readSnapshot(file: string): Promise<SnapshotFile> {
  try {
    const bytes = await readFile(file);
    return { bytes, meta: (await unpackArchive(bytes)).meta };
  } catch (error) {
    throw failed('reading snapshot file', error);
  }
}
