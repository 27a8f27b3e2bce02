/**
 * A stored time of day for which something waits, and an upper limit of that wait. The clock that stated the time may
 * have been wrong, so the wait never exceeds the intended one, counted from the moment at which the time was first
 * seen. In unix ms.
 */
export interface StatedTime {
  readonly statedMs: number;
  /** This limit moves along when the clock is set. */
  latestMs: number;
}

/** @param longestMs the intended wait; Infinity if it is unknown */
export const statedTime = (statedMs: number, nowMs: number, longestMs: number): StatedTime => ({
  statedMs,
  latestMs: nowMs + Math.max(0, longestMs),
});

/** Returns when the time is due by the present clock. */
export const dueAtMs = ({ statedMs, latestMs }: StatedTime): number => Math.min(statedMs, latestMs);
