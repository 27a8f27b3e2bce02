import { pause, type Timers } from '@waybill/model';

/**
 * The first and the longest pause between two attempts, in milliseconds. Each pause is twice as long as the one before.
 */
export const FIRST_PAUSE_MS = 50;
export const LONGEST_PAUSE_MS = 2_000;

export interface RetryOptions {
  readonly timers: Timers;
  readonly signal: AbortSignal;
  /** Says whether another attempt can help. */
  readonly worthwhile: (error: unknown) => boolean;
  readonly onFailure: (error: unknown, attempt: number) => void;
}

/**
 * Runs `work` until it succeeds, with growing pauses. The number of attempts is not limited, because the work has to
 * wait for a server.
 * @throws the error of `work` if another attempt cannot help, or after `signal` is aborted
 */
export async function retried<T>(work: () => Promise<T>, options: RetryOptions): Promise<T> {
  for (let attempt = 1, pauseMs = FIRST_PAUSE_MS; ; attempt++, pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS))
    try {
      return await work();
    } catch (error) {
      if (options.signal.aborted || !options.worthwhile(error)) throw error;
      options.onFailure(error, attempt);
      await pause(options.timers, pauseMs, options.signal);
    }
}
