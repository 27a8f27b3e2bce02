/**
 * Work that does for everybody who had asked before it began. idle → running ⇄ running with one more waiting: whoever asks
 * while one runs may have come too late for it, and shares the next one with all others who do. At most one waits.
 */
export class SharedRun {
  private running: Promise<void> | undefined;
  private waiting: Promise<void> | undefined;

  constructor(private readonly work: () => Promise<void>) {}

  get isIdle(): boolean {
    return !this.running && !this.waiting;
  }

  /** Resolves when work that began after this call has ended; rejects as that does. */
  requestRun(): Promise<void> {
    if (this.waiting) return this.waiting;
    if (!this.running) return this.begin();
    return (this.waiting = this.running
      .catch(() => undefined) // its own askers hear of it
      .then(() => {
        this.waiting = undefined;
        return this.begin();
      }));
  }

  /** Resolves when nothing runs or waits, however that ended. */
  async settled(): Promise<void> {
    while (!this.isIdle) await (this.waiting ?? this.running)?.catch(() => undefined);
  }

  private begin(): Promise<void> {
    const run = this.work().finally(() => {
      if (this.running === run) this.running = undefined;
    });
    this.running = run;
    return run;
  }
}
