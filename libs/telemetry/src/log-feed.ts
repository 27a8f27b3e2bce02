interface Listener {
  readonly rank: number;
  readonly take: (line: string) => void;
}

/**
 * The log of a process for those who watch it live. A line that nobody wants is not made; while somebody listens at a
 * lower level than is written, the loggers make those lines too, for the listener alone. Cost: one call per line and
 * listener.
 */
export class LogFeed {
  private readonly listeners = new Set<Listener>();

  /** Of the least important lines that somebody wants; Infinity: nobody listens. */
  get lowest(): number {
    let lowest = Infinity;
    for (const { rank } of this.listeners) lowest = Math.min(lowest, rank);
    return lowest;
  }

  /** @param rank of the least important lines wanted @param take gets JSON lines; must not log @returns ends it */
  subscribe(rank: number, take: (line: string) => void): () => void {
    const listener = { rank, take };
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  offer(rank: number, line: string): void {
    for (const listener of this.listeners) if (rank >= listener.rank) listener.take(line);
  }
}

/** Everything that is logged in this process, whatever the service. */
export const processLog = new LogFeed();
