import type { EventAbout } from './event-frame.js';

/** A topic and a key, either of which may be `*`. It matches events that have both. */
export type Interest = readonly [topic: string, key: string];

/** Matches every event. */
export const EVERYTHING: readonly Interest[] = [['*', '*']];

/** Returns the name of an interest. A topic never contains a colon (EV-22). */
export const interestName = (topic: string, key: string): string => `${topic}:${key}`;
export const EVERYTHING_NAME = interestName('*', '*');

/** Yields the names of all interests that match an event. */
export function* namesOf({ topic, keys }: EventAbout): Iterable<string> {
  for (const wanted of [topic, '*']) {
    yield interestName(wanted, '*');
    for (const key of keys) yield interestName(wanted, key);
  }
}

/**
 * Finds who is interested in an event. The cost of an event depends on its keys and its matches, never on other
 * interests. Namespaces are not compared.
 */
export class EventRoutes<T> {
  private readonly byInterest = new Map<string, Set<T>>();

  add(interests: readonly Interest[], one: T): void {
    for (const interest of interests) {
      const name = interestName(...interest);
      const known = this.byInterest.get(name);
      if (known) known.add(one);
      else this.byInterest.set(name, new Set([one]));
    }
  }

  remove(interests: readonly Interest[], one: T): void {
    for (const interest of interests) {
      const name = interestName(...interest);
      const known = this.byInterest.get(name);
      known?.delete(one);
      if (known?.size === 0) this.byInterest.delete(name);
    }
  }

  /** Calls `found` for every match, for some more than once. `found` may remove them. */
  find(event: EventAbout, found: (one: T) => void): void {
    for (const name of namesOf(event)) {
      const known = this.byInterest.get(name);
      if (known) for (const one of known) found(one);
    }
  }
}
