import { systemTimers } from '@waybill/model/system-timers';

/** Waits for any number of milliseconds. @throws AbortError as soon as `signal` is aborted */
export function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (): void => {
      cancel();
      signal.removeEventListener('abort', interrupted);
      resolve();
    };
    const interrupted = (): void => {
      cancel();
      reject(signal.reason as Error);
    };
    const cancel = systemTimers.after(ms, end);
    if (signal.aborted) interrupted();
    else signal.addEventListener('abort', interrupted, { once: true });
  });
}
