import { takeArchive } from '@waybill/projection';
import type { Pool } from 'pg';

export interface SaveSnapshotDeps {
  readonly database: Pool;
  /** Returns the lowest index whose events can be read. */
  readonly eventFloor: () => Promise<number>;
  readonly newId: () => string;
}

/** SaveSnapshot packs the whole state into an archive (OP-40). It keeps nothing. */
export class SaveSnapshot {
  constructor(private readonly deps: SaveSnapshotDeps) {}

  /** Returns the archive's bytes. Cost: reads all rows, in one database transaction. */
  async save(): Promise<Uint8Array> {
    const { database, eventFloor, newId } = this.deps;
    const { bytes } = await takeArchive(database, eventFloor, newId());
    return bytes;
  }
}
