import { type CancelTimer, type Clock, errorText, type Timers } from '@waybill/model';
import type { Logger } from '@waybill/telemetry';

/** Milliseconds after which an unfinished step of a start is logged, and logged again. */
export const STEP_LOG_MS = 10_000;
/**
 * Milliseconds after which a step is stuck, so that `/healthz` requests a restart. Longer than loading a large state
 * takes.
 */
export const STEP_LIMIT_MS = 600_000;

/** Milliseconds before a failed step is retried. */
export const STEP_RETRY_MS = 1_000;

/** A step in progress. */
interface RunningStep {
  readonly name: string;
  readonly sinceMs: number;
  readonly hasLimit: boolean;
  /** Start of its present attempt. */
  attemptMs: number;
  /** Reason for the failure of its last attempt. Empty during the first. */
  reason: string;
}

export interface StartStepsDeps {
  /** Elapsed time. */
  readonly monotonic: Clock;
  readonly timers: Timers;
  readonly logger: Pick<Logger, 'info' | 'warn'>;
}

/**
 * The steps of a start that are in progress. A waiting service names them on its ops port at once, and in its log every
 * STEP_LOG_MS. Several steps may run at once. A step contains no other step, because its limit would cover all attempts
 * of that one. Cost: a timer for each step.
 */
export class StartSteps {
  private readonly running = new Set<RunningStep>();

  constructor(private readonly deps: StartStepsDeps) {}

  /**
   * Runs a step.
   * @param name completes "starting: …", such as "connecting to NATS"
   * @param options.hasLimit false if the step waits for a person and is never stuck
   * @throws any error of the step
   */
  during<T>(name: string, step: () => Promise<T>, { hasLimit = true } = {}): Promise<T> {
    return this.runStep(name, step, hasLimit);
  }

  /**
   * Runs a step until it succeeds, because its prerequisites may start later than this process. A new reason for a
   * failure is logged, and shown with the name of the step.
   * @param isPassing whether to retry after this error
   * @throws any error of the step that is not retried
   */
  untilDone<T>(name: string, step: () => Promise<T>, isPassing: (error: unknown) => boolean): Promise<T> {
    const { timers, monotonic, logger } = this.deps;
    return this.runStep(
      name,
      async (running) => {
        for (;;) {
          try {
            return await step();
          } catch (error) {
            if (!isPassing(error)) throw error;
            const reason = reasonOf(error);
            if (reason !== running.reason) logger.warn(`waiting, ${name}: ${reason}`);
            running.reason = reason;
          }
          await new Promise<void>((resolve) => timers.after(STEP_RETRY_MS, resolve));
          running.attemptMs = monotonic.nowMs();
        }
      },
      true,
    );
  }

  private async runStep<T>(name: string, step: (running: RunningStep) => Promise<T>, hasLimit: boolean): Promise<T> {
    const nowMs = this.deps.monotonic.nowMs();
    const running: RunningStep = { name, sinceMs: nowMs, hasLimit, attemptMs: nowMs, reason: '' };
    this.running.add(running);
    const cancel = this.logWhile(running);
    try {
      return await step(running);
    } finally {
      cancel();
      this.running.delete(running);
    }
  }

  /** The steps in progress in their order, each with the reason why it has not succeeded yet. */
  get names(): readonly string[] {
    return [...this.running].map(({ name, reason }) => (reason === '' ? name : `${name}: ${reason}`));
  }

  /** Whether an attempt at a step takes longer than STEP_LIMIT_MS. */
  get isStuck(): boolean {
    const nowMs = this.deps.monotonic.nowMs();
    return [...this.running].some(({ attemptMs, hasLimit }) => hasLimit && nowMs - attemptMs > STEP_LIMIT_MS);
  }

  private logWhile(running: RunningStep): CancelTimer {
    const { timers, monotonic, logger } = this.deps;
    let cancel: CancelTimer = () => {};
    const logLater = (): void => {
      cancel = timers.after(STEP_LOG_MS, () => {
        const { name, reason, sinceMs } = running;
        const seconds = Math.round((monotonic.nowMs() - sinceMs) / 1_000);
        logger.info(`still ${name}`, { seconds, ...(reason !== '' && { reason }) });
        logLater();
      });
    };
    logLater();
    return () => cancel();
  }
}

/** Returns the reason in one line, from the cause that is more specific than the error. */
function reasonOf(error: unknown): string {
  const own = error instanceof AggregateError ? '' : errorText(error);
  // With several addresses for a name, there is an error for each.
  const below =
    error instanceof AggregateError ? (error.errors as unknown[])[0] : error instanceof Error && error.cause;
  const cause = below ? reasonOf(below) : '';
  return [own, own.includes(cause) ? '' : cause].filter((text) => text !== '').join(': ');
}
