import { type CancelTimer, type Clock, errorText, type Timers } from '@waybill/model';
import type { Logger } from '@waybill/telemetry';

/** A step of a start that takes longer is logged, and again each time as long has passed, milliseconds. */
export const STEP_LOG_MS = 10_000;
/** A step that takes longer is stuck: `/healthz` asks for a restart, milliseconds. Longer than a large state takes to load. */
export const STEP_LIMIT_MS = 600_000;

/** Pause before a step that failed is tried again, milliseconds. */
export const STEP_RETRY_MS = 1_000;

/** A step that has begun and not ended. */
interface RunningStep {
  readonly name: string;
  readonly sinceMs: number;
  readonly hasLimit: boolean;
  /** When its present attempt began. */
  attemptMs: number;
  /** Why its last attempt failed; empty: it is the first. */
  reason: string;
}

export interface StartStepsDeps {
  /** Time that passes. */
  readonly monotonic: Clock;
  readonly timers: Timers;
  readonly logger: Pick<Logger, 'info' | 'warn'>;
}

/**
 * The steps of a start that are in progress, so that a service that waits says for what: on its ops port at once, and in
 * its log every STEP_LOG_MS. Several steps may run at once. A step contains no other one, because its limit would count the
 * attempts of that one together. Cost: a timer for each step.
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
  during<T>(name: string, step: () => Promise<T>, { hasLimit = true } = {}): Promise<T> {
    return this.runStep(name, step, hasLimit);
  }

  /**
   * Runs a step until it succeeds, because what it needs may come up later than this process. Why an attempt failed is
   * logged when it is new, and told with the name.
   * @param isPassing whether an attempt that failed with this error is followed by another one
   * @throws whatever the step throws and `isPassing` does not name
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

  /** The steps in progress, in the order in which they began, each with why it did not succeed yet. */
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

/** In one line, with the cause that says more than the error does. */
function reasonOf(error: unknown): string {
  const own = error instanceof AggregateError ? '' : errorText(error);
  // Of a name with several addresses, each was tried.
  const below =
    error instanceof AggregateError ? (error.errors as unknown[])[0] : error instanceof Error && error.cause;
  const cause = below ? reasonOf(below) : '';
  return [own, own.includes(cause) ? '' : cause].filter((text) => text !== '').join(': ');
}
