import type { Timers } from './timers.js';

/** Resolves after that many milliseconds, or as soon as one of the signals is aborted. No timer or listener remains. */
export function pause(timers: Timers, ms: number, ...signals: readonly AbortSignal[]): Promise<void> {
  if (signals.some(({ aborted }) => aborted)) return Promise.resolve();
  return new Promise((resolve) => {
    const end = (): void => {
      cancel();
      for (const signal of signals) signal.removeEventListener('abort', end);
      resolve();
    };
    const cancel = timers.after(ms, end);
    for (const signal of signals) signal.addEventListener('abort', end);
  });
}
