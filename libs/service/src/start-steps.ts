import type { CancelTimer, Clock, Timers } from '@waybill/model';
import type { Logger } from '@waybill/telemetry';

/** A step of a start that takes longer is logged, and again each time as long has passed, milliseconds. */
export const STEP_LOG_MS = 10_000;
/** A step that takes longer is stuck: `/healthz` asks for a restart, milliseconds. Longer than a large state takes to load. */
export const STEP_LIMIT_MS = 600_000;

/** A step that has begun and not ended. */
interface RunningStep {
  readonly name: string;
  readonly sinceMs: number;
  readonly hasLimit: boolean;
}

export interface StartStepsDeps {
  /** Time that passes. */
  readonly monotonic: Clock;
  readonly timers: Timers;
  readonly logger: Pick<Logger, 'info'>;
}

/**
 * The steps of a start that are in progress, so that a service that waits says for what: on its ops port at once, and in
 * its log every STEP_LOG_MS. Several steps may run at once.
 */
export class StartSteps {
  private readonly running = new Set<RunningStep>();

  constructor(private readonly deps: StartStepsDeps) {}

  /**
   * Runs a step.
   * @param name completes "starting: …", such as "connecting to NATS"
   * @param options.hasLimit false: the step waits for a person, and is never stuck
   * @throws whatever the step throws
   */
  async during<T>(name: string, step: () => Promise<T>, { hasLimit = true } = {}): Promise<T> {
    const running: RunningStep = { name, sinceMs: this.deps.monotonic.nowMs(), hasLimit };
    this.running.add(running);
    const cancel = this.logWhile(running);
    try {
      return await step();
    } finally {
      cancel();
      this.running.delete(running);
    }
  }

  /** The steps in progress, in the order in which they began. */
  get names(): readonly string[] {
    return [...this.running].map(({ name }) => name);
  }

  /** Whether a step takes longer than STEP_LIMIT_MS. */
  get isStuck(): boolean {
    const nowMs = this.deps.monotonic.nowMs();
    return [...this.running].some(({ sinceMs, hasLimit }) => hasLimit && nowMs - sinceMs > STEP_LIMIT_MS);
  }

  private logWhile({ name, sinceMs }: RunningStep): CancelTimer {
    const { timers, monotonic, logger } = this.deps;
    let cancel: CancelTimer = () => {};
    const logLater = (): void => {
      cancel = timers.after(STEP_LOG_MS, () => {
        logger.info(`still ${name}`, { seconds: Math.round((monotonic.nowMs() - sinceMs) / 1_000) });
        logLater();
      });
    };
    logLater();
    return () => cancel();
  }
}
