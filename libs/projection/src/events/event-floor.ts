import { type EventStorage, READ_BYTES, READ_MESSAGES } from './event-window.js';

/**
 * Lowest index whose events can still be read without loss, at least 1 (API-263); never inside a frame (EV-74).
 * @param applied index that the read model has reached
 * @throws when the stream cannot be reached
 */
export async function eventFloor(storage: EventStorage, applied: number): Promise<number> {
  const { first, last } = await storage.bounds();
  for (let at = first; at <= last;) {
    const parts = await storage.read(at, READ_MESSAGES, READ_BYTES);
    const begin = parts.find((part) => part.part === 1);
    // Nothing was ever trimmed: everything from the first index on is there.
    if (begin) return first <= 1 ? 1 : begin.index;
    const newest = parts.at(-1);
    if (!newest) break;
    at = newest.sequence + 1;
  }
  return first <= 1 ? 1 : applied + 1;
}
