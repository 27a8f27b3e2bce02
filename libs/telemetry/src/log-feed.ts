interface Listener {
  readonly rank: number;
  readonly take: (line: string) => void;
  /** The only service whose lines the listener wants; undefined: the lines of all. */
  readonly service: string | undefined;
}

/**
 * LogFeed gives the log of a process to live listeners. Loggers do not format a line that nobody wants. While a
 * listener wants a lower level than the log's own, the loggers format those lines too, for the listener alone. Cost:
 * one call per line and listener.
 */
export class LogFeed {
  private readonly listeners = new Set<Listener>();

  /** The rank of the least important lines that a listener wants. It is Infinity when there is no listener. */
  get lowest(): number {
    let lowest = Infinity;
    for (const { rank } of this.listeners) lowest = Math.min(lowest, rank);
    return lowest;
  }

  /**
   * @param rank the rank of the least important lines that the listener wants @param take receives JSON lines; it must
   * not log @returns a function that ends the subscription
   */
  subscribe(rank: number, take: (line: string) => void): () => void {
    return this.add({ rank, take, service: undefined });
  }

  /** Returns the part of the feed that one service logs, where several share a process. */
  ofService(service: string): Pick<LogFeed, 'subscribe'> {
    return { subscribe: (rank, take) => this.add({ rank, take, service }) };
  }

  /** @param service the service that logs the line */
  offer(rank: number, line: string, service: string): void {
    for (const listener of this.listeners)
      if (rank >= listener.rank && (listener.service === undefined || listener.service === service))
        listener.take(line);
  }

  private add(listener: Listener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
}

/** processLog carries everything that any service logs in this process. */
export const processLog = new LogFeed();
