import type { SetAsideRow, SharedTexts } from '@waybill/projection';
import type { Applied, StateMachine } from '@waybill/state';

/** Postgres, as the projector uses it. */
export interface ProjectionStore {
  /** Loads the state as of the applied index into an empty machine; answers the index. */
  load(machine: StateMachine): Promise<number>;
  /**
   * Answers the rows that Postgres refused to store, which are set aside.
   * @param texts of the events of the same transactions
   * @param framed index of the newest frame in EVENTS by now
   * @throws ProjectionMovedError when the projection is not at the index before the first
   */
  write(applied: readonly Applied[], texts: SharedTexts, framed: number): Promise<readonly SetAsideRow[]>;
  /** Index of the newest frame that was in EVENTS at the last write; 0: nothing is known of it. */
  framedIndex(): Promise<number>;
  /** How many rows are set aside. */
  setAside(): Promise<number>;
}

/** Tells everybody how far the projection is; may lose messages. */
export interface Announcer {
  send(announcement: string): void;
}
