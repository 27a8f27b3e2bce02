/** Signals closer together than this are one Ctrl-C: the terminal sends it to the whole group, and npm passes it on too. */
const SAME_KEYSTROKE_MS = 500;
/** What a shell says of a program that SIGINT ended. */
const EXIT_INTERRUPTED = 130;

/**
 * How a run ends: running ── signal, or nobody reads our output ──► asked; running ── failure ──► failed. The first
 * one counts. `asked` begins an orderly stop; a second signal ends the process as soon as `impatient` has killed the
 * tasks, and a third signal ends it at once. Servers and services then end by themselves (libs/embedded).
 */
export class EndOfRun {
  private readonly controller = new AbortController();
  private firstSignalMs: number | undefined;
  private isImpatient = false;
  private failed: Error | undefined;

  constructor(private readonly impatient: () => Promise<void>) {}

  /** Aborted as soon as the run is to end, for either reason. */
  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** Why it failed; undefined when somebody asked for the end. */
  get failure(): Error | undefined {
    return this.failed;
  }

  /** Resolves when the run is to end. */
  readonly happened = new Promise<void>((resolve) =>
    this.controller.signal.addEventListener('abort', () => resolve(), { once: true }),
  );

  requestEnd(): void {
    this.controller.abort();
  }

  fail(error: Error): void {
    if (this.signal.aborted) return;
    this.failed = error;
    this.controller.abort();
  }

  /** Listens to signals, to the closing of our output, and to errors nobody caught. */
  listen(): this {
    const onSignal = (): void => {
      const nowMs = performance.now();
      this.firstSignalMs ??= nowMs;
      if (nowMs - this.firstSignalMs <= SAME_KEYSTROKE_MS) return this.requestEnd();
      if (this.isImpatient) process.exit(EXIT_INTERRUPTED);
      this.isImpatient = true;
      void this.impatient().finally(() => process.exit(EXIT_INTERRUPTED));
    };
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, onSignal);
    // `npm start | head`: whoever watched is gone, and nobody could see the rest.
    for (const stream of [process.stdout, process.stderr]) stream.on('error', () => this.requestEnd());
    process.on('uncaughtException', (error) => this.fail(error));
    return this;
  }
}
