import type { EventAbout } from './event-frame.js';

/** A topic and a key, each perhaps `*`: events that have both. */
export type Interest = readonly [topic: string, key: string];

/** Interested in everything. */
export const EVERYTHING: readonly Interest[] = [['*', '*']];

/** A topic has no colon in it (EV-22). */
export const interestName = (topic: string, key: string): string => `${topic}:${key}`;
export const EVERYTHING_NAME = interestName('*', '*');

/** The names of all interests that an event is found under. */
export function* namesOf({ topic, keys }: EventAbout): Iterable<string> {
  for (const wanted of [topic, '*']) {
    yield interestName(wanted, '*');
    for (const key of keys) yield interestName(wanted, key);
  }
}

/**
 * Who is interested in which events, looked up by what an event is about: an event costs its keys and those it finds,
 * never those who are interested in something else. Namespaces are not looked at.
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

  /** Calls `found` with everyone interested, with some more than once. `found` may remove them. */
  find(event: EventAbout, found: (one: T) => void): void {
    for (const name of namesOf(event)) {
      const known = this.byInterest.get(name);
      if (known) for (const one of known) found(one);
    }
  }
}
