import { useSyncExternalStore } from 'react';
import { distanceInWords, exactTime, millisecondsOf } from '../words/times.js';

const TICK_MS = 1_000;

/** One timer for all that shows how long ago something was, and none when nothing does. */
const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;
let now = Date.now();

function listen(tell: () => void): () => void {
  listeners.add(tell);
  timer ??= setInterval(() => {
    now = Date.now();
    for (const one of listeners) one();
  }, TICK_MS);
  return () => {
    listeners.delete(tell);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** Unix milliseconds, to the second. */
export const useNow = (): number => useSyncExternalStore(listen, () => now);

/** A time in words, and exactly when pointed at. */
export function TimeAgo({ time }: { readonly time: number | string | null | undefined }) {
  const nowMs = useNow();
  const ms = millisecondsOf(time);
  if (ms === undefined) return <span>—</span>;
  return (
    <time dateTime={new Date(ms).toISOString()} title={exactTime(ms)}>
      {distanceInWords(ms, Math.max(nowMs, Math.min(ms, nowMs + TICK_MS)))}
    </time>
  );
}
