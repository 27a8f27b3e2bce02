import type { SetAsideRow, SharedTexts } from '@waybill/projection';
import type { Applied, StateMachine } from '@waybill/state';

/** ProjectionStore is Postgres as the projector uses it. */
export interface ProjectionStore {
  /** Loads the state at the applied index into an empty machine and returns the index. */
  load(machine: StateMachine): Promise<number>;
  /**
   * Writes transactions. It returns the rows that Postgres refused to store; the store sets them aside.
   * @param texts the shared texts of the events of the same transactions
   * @param framed the index of the newest frame in EVENTS at the commit
   * @param published resolves when the frames are in EVENTS; the store commits nothing before
   * @throws ProjectionMovedError if the projection is not at the index before the first transaction
   * @throws the error of `published`; nothing was written
   */
  write(
    applied: readonly Applied[],
    texts: SharedTexts,
    framed: number,
    published?: Promise<void>,
  ): Promise<readonly SetAsideRow[]>;
  /** Returns the index of the newest frame that was in EVENTS at the last write; 0 if it is not known. */
  framedIndex(): Promise<number>;
  /** Returns the number of rows that are set aside. */
  setAside(): Promise<number>;
}

/** Announcer tells all listeners how far the projection is. It may lose messages. */
export interface Announcer {
  send(announcement: string): void;
}
