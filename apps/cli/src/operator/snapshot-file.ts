import { readFile } from 'node:fs/promises';
import { type ArchiveMeta, unpackArchive } from '@waybill/model/snapshot-archive';
import { failed } from '../failure.js';

export const SNAPSHOT_PATH = '/v1/operator/snapshot';

/** A file that a snapshot was saved to, looked at whole. */
export interface SnapshotFile {
  readonly bytes: Buffer;
  readonly meta: ArchiveMeta;
}

/** @throws CommandFailure it cannot be read, or is no whole archive */
export async function readSnapshot(file: string): Promise<SnapshotFile> {
  try {
    const bytes = await readFile(file);
    return { bytes, meta: (await unpackArchive(bytes)).meta };
  } catch (error) {
    throw failed('reading snapshot file', error);
  }
}
