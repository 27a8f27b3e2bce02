import type { Clock, Timers } from '@waybill/model';

/** The wait between attempts doubles from 2 s to a minute. Attempts end after a day by default (VL-227). */
export const FIRST_WAIT_MS = 2_000;
export const MAX_WAIT_MS = 60_000;
export const PATIENCE_MS = 24 * 3_600_000;

export interface RetryDependencies {
  readonly clock: Clock;
  readonly timers: Timers;
  /** Ends the waiting. The last failure is thrown then. */
  readonly signal: AbortSignal;
  /** The time in milliseconds after which attempts end; the default is PATIENCE_MS. */
  readonly patienceMs?: number;
  /** Is called after a failure that will be retried. */
  readonly onRetry?: (error: unknown) => void;
}

/** Tries at once, then again with growing waits as long as a failure is worth a retry. @throws the last failure */
export async function retryWithBackoff<T>(
  work: () => Promise<T>,
  isWorthIt: (error: unknown) => boolean,
  { clock, timers, signal, onRetry, patienceMs = PATIENCE_MS }: RetryDependencies,
): Promise<T> {
  const untilMs = clock.nowMs() + patienceMs;
  for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(waitMs * 2, MAX_WAIT_MS)) {
    try {
      return await work();
    } catch (error) {
      if (!isWorthIt(error) || signal.aborted || clock.nowMs() + waitMs > untilMs) throw error;
      onRetry?.(error);
      await pauseUnlessAborted(waitMs, timers, signal);
      if (signal.aborted) throw error;
    }
  }
}

function pauseUnlessAborted(ms: number, timers: Timers, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      cancel();
      signal.removeEventListener('abort', end);
      resolve();
    };
    const cancel = timers.after(ms, end);
    signal.addEventListener('abort', end, { once: true });
  });
}
