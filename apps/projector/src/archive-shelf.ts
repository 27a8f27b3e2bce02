import type { TakenArchive } from '@waybill/projection';

/** ShelvedArchive is a stored archive. */
export interface ShelvedArchive {
  readonly name: string;
  /** The archive contains every effect up to this index. */
  readonly index: number;
  /** The time of the archive in Unix milliseconds, rounded down to seconds. */
  readonly takenAtMs: number;
}

/** ArchiveShelf is the place where archives are kept. */
export interface ArchiveShelf {
  /** Returns the finished archives in the order of their indexes. */
  list(): Promise<ShelvedArchive[]>;
  /** Says whether the archive can be restored. It reads and checks all of it. [OP-45] */
  isWhole(archive: ShelvedArchive): Promise<boolean>;
  /** Stores an archive. The archive has its name only when it is durable, and then the promise resolves. */
  put(archive: TakenArchive, takenAtMs: number): Promise<ShelvedArchive>;
  remove(archive: ShelvedArchive): Promise<void>;
}
