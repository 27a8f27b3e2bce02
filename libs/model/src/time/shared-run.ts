/**
 * Runs work whose result serves all callers that requested it before the run began. A call during a run may be too late
 * for that run, so all such calls share the next one.
 *
 * Modes: idle → running ⇄ running with one more run waiting. Limit: one run at a time, and one that waits. Cost: none
 * beside the work.
 */
export class SharedRun<Result = void> {
  private running: Promise<Result> | undefined;
  private waiting: Promise<Result> | undefined;

  constructor(private readonly work: () => Promise<Result>) {}

  get isIdle(): boolean {
    return !this.running && !this.waiting;
  }

  /** Returns the result of a run that starts after this call. @throws any error of that run */
  requestRun(): Promise<Result> {
    if (this.waiting) return this.waiting;
    if (!this.running) return this.begin();
    return (this.waiting = this.running
      .catch(() => undefined) // its own askers hear of it
      .then(() => {
        this.waiting = undefined;
        return this.begin();
      }));
  }

  /** Resolves once no run is active or waiting, whatever its result. */
  async settled(): Promise<void> {
    while (!this.isIdle) await (this.waiting ?? this.running)?.catch(() => undefined);
  }

  private begin(): Promise<Result> {
    const run = this.work().finally(() => {
      if (this.running === run) this.running = undefined;
    });
    this.running = run;
    return run;
  }
}
