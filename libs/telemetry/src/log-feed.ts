interface Listener {
  readonly rank: number;
  readonly take: (line: string) => void;
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
    const listener = { rank, take };
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  offer(rank: number, line: string): void {
    for (const listener of this.listeners) if (rank >= listener.rank) listener.take(line);
  }
}

/** processLog carries everything that any service logs in this process. */
export const processLog = new LogFeed();
