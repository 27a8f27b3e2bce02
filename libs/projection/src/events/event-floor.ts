import { type EventStorage, READ_BYTES, READ_MESSAGES } from './event-window.js';

/**
 * Returns the lowest index from which events can be read without loss, at least 1 (API-263) and never inside a frame
 * (EV-74).
 * @param applied index that the read model has reached
 * @throws if the stream cannot be reached
 */
export async function eventFloor(storage: EventStorage, applied: number): Promise<number> {
  const { first, last } = await storage.bounds();
  if (first <= 1) return 1; // nothing was ever trimmed
  for (let at = first; at <= last;) {
    const parts = await storage.readParts(at, READ_MESSAGES, READ_BYTES);
    const begin = parts.find((part) => part.part === 1);
    if (begin) return begin.index;
    const newest = parts.at(-1);
    if (!newest) break;
    at = newest.sequence + 1;
  }
  return applied + 1;
}
