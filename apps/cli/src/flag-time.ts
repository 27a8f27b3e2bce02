import { parseDuration } from './go-duration.js';

/** The RFC 3339 time that a flag names: itself, or that long ago (`2h`). */
export function pastTime(text: string, nowMs: number): string {
  const agoMs = parseDuration(text);
  return agoMs === undefined ? text : new Date(nowMs - agoMs).toISOString();
}
