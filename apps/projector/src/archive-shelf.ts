import type { TakenArchive } from '@waybill/projection';

/** An archive that was put away. */
export interface ShelvedArchive {
  readonly name: string;
  /** Every effect up to this index is in it. */
  readonly index: number;
  /** Unix milliseconds, whole seconds. */
  readonly takenAtMs: number;
}

/** Where archives are kept. */
export interface ArchiveShelf {
  /** Those that are finished, in the order of their indexes. */
  list(): Promise<ShelvedArchive[]>;
  /** Whether it can be restored: all of it is read and looked at (OP-45). */
  isWhole(archive: ShelvedArchive): Promise<boolean>;
  /** Resolves when it lies there for good under its name, which it has only then. */
  put(archive: TakenArchive, takenAtMs: number): Promise<ShelvedArchive>;
  remove(archive: ShelvedArchive): Promise<void>;
}
