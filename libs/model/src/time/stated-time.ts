/**
 * A time of day that something waits for, as it was stored, and the latest by the time that passes. Whoever stored it may
 * have had a wrong clock: nothing waits longer than the wait that was meant, from when it was first seen. Unix ms.
 */
export interface StatedTime {
  readonly statedMs: number;
  /** Moves with the clock when that is set. */
  latestMs: number;
}

/** @param longestMs the wait that was meant; Infinity: nobody knows */
export const statedTime = (statedMs: number, nowMs: number, longestMs: number): StatedTime => ({
  statedMs,
  latestMs: nowMs + Math.max(0, longestMs),
});

/** When it is due by the clock as it is now. */
export const dueAtMs = ({ statedMs, latestMs }: StatedTime): number => Math.min(statedMs, latestMs);
