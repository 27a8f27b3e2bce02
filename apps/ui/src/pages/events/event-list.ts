import type { Change } from '../../live/change.js';

/** The number of events that a page keeps. Older ones are dropped. */
export const MOST_EVENTS = 1_000;

export const eventKey = ({ index, topic, namespace, key }: Change): string => [index, topic, namespace, key].join('/');

/** Merges two lists of events, each event once, the newest first. Events with the same index keep their order. */
export function merged(known: readonly Change[], more: readonly Change[]): readonly Change[] {
  const byKey = new Map([...more, ...known].map((event) => [eventKey(event), event]));
  return [...byKey.values()].toSorted((a, b) => b.index - a.index).slice(0, MOST_EVENTS);
}

export interface EventFilter {
  readonly topic?: string;
  /** A text in the name of the object, of its job, or of the type of the event. */
  readonly search?: string;
}

export function filteredEvents(events: readonly Change[], { topic, search = '' }: EventFilter): readonly Change[] {
  const text = search.trim().toLowerCase();
  return events
    .filter((event) => topic === undefined || event.topic === topic)
    .filter(({ key, type, filterKeys }) => [key, type, ...filterKeys].join(' ').toLowerCase().includes(text));
}
