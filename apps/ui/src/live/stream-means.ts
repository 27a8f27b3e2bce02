import type { StreamMeans } from './event-stream.js';

/** The browser's own clock, timers and connections. */
export const browserMeans: StreamMeans = {
  fetch: (url, init) => fetch(url, { ...init, cache: 'no-store' }),
  nowMs: () => Date.now(),
  wait: (ms, signal) =>
    new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const timer = setTimeout(resolve, ms);
      signal.addEventListener('abort', () => {
        clearTimeout(timer);
        resolve();
      });
    }),
};
