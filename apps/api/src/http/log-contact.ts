import type { Clock } from '@waybill/model';

/** Connection says whether the log is connected, and reports changes. `NatsLink` implements it. */
export interface Connection {
  readonly up: boolean;
  onChange(listener: (up: boolean) => void): () => void;
}

/** ReadModelAge says how current the read model is. */
export interface ReadModelAge {
  /** The milliseconds since the read model was certainly current; 0 while it is. */
  readonly lastContactMs: number;
  readonly knownLeader: boolean;
}

/**
 * LogContact says how old an answer may be (API-31). While the log is connected, the read model follows it. After the
 * connection is lost, this process does not know what was written since. Cost: it compares two numbers.
 */
export class LogContact {
  private lostMs: number | undefined;

  constructor(
    private readonly connection: Connection,
    private readonly clock: Clock,
  ) {
    const recordContact = (up: boolean): void => void (this.lostMs = up ? undefined : (this.lostMs ?? clock.nowMs()));
    recordContact(connection.up);
    connection.onChange(recordContact);
  }

  readonly age = (): ReadModelAge => ({
    lastContactMs: this.lostMs === undefined ? 0 : Math.max(0, this.clock.nowMs() - this.lostMs),
    knownLeader: this.connection.up,
  });
}
