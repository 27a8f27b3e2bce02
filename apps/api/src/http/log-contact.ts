import type { Clock } from '@waybill/model';

/** Whether the log is connected, and when that changes. `NatsLink` is one. */
export interface Connection {
  readonly up: boolean;
  onChange(listener: (up: boolean) => void): () => void;
}

/** What the read model knows of itself. */
export interface ReadModelAge {
  /** ms since it was surely current; 0 while it is. */
  readonly lastContactMs: number;
  readonly knownLeader: boolean;
}

/**
 * How old an answer may be (API-31): as long as the log is connected the read model follows it; from the moment the
 * connection is lost nobody here knows what was written since. Costs a look at two numbers.
 */
export class LogContact {
  private lostMs: number | undefined;

  constructor(
    private readonly connection: Connection,
    private readonly clock: Clock,
  ) {
    const note = (up: boolean): void => void (this.lostMs = up ? undefined : (this.lostMs ?? clock.nowMs()));
    note(connection.up);
    connection.onChange(note);
  }

  readonly age = (): ReadModelAge => ({
    lastContactMs: this.lostMs === undefined ? 0 : Math.max(0, this.clock.nowMs() - this.lostMs),
    knownLeader: this.connection.up,
  });
}
