/** Signals within this time count as one Ctrl-C: the terminal sends it to the whole group, and npm passes it on too. */
const SAME_KEYSTROKE_MS = 500;
/** The exit code that shells use for a program that SIGINT ended. */
const EXIT_INTERRUPTED = 130;

/**
 * EndOfRun decides how a run ends: running ── signal, or the output is closed ──► requested; running ── failure ──►
 * failed. The first of the two counts. A request begins an orderly stop. A second signal ends the process as soon as
 * `impatient` has killed the tasks, and a third signal ends it at once. Servers and services then end by themselves
 * (libs/embedded).
 */
export class EndOfRun {
  private readonly controller = new AbortController();
  private firstSignalMs: number | undefined;
  private isImpatient = false;
  private failed: Error | undefined;

  constructor(private readonly impatient: () => Promise<void>) {}

  /** The signal is aborted as soon as the run has to end, for either reason. */
  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** The error of a failed run. It is undefined if the end was requested. */
  get failure(): Error | undefined {
    return this.failed;
  }

  /** Resolves when the run has to end. */
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

  /** Listens to signals, to the closing of the output, and to uncaught errors. */
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
    // `npm start | head`: the reader has gone, so nobody could see further output.
    for (const stream of [process.stdout, process.stderr]) stream.on('error', () => this.requestEnd());
    process.on('uncaughtException', (error) => this.fail(error));
    return this;
  }
}
