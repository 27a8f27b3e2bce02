import type { EventAbout } from './event-frame.js';

/** A topic and a key, each perhaps `*`: events that have both. */
export type Interest = readonly [topic: string, key: string];

/** Interested in everything. */
export const EVERYTHING: readonly Interest[] = [['*', '*']];

/**
 * Who is interested in which events, looked up by what an event is about: an event costs its keys and those it finds,
 * never those who are interested in something else. Namespaces are not looked at.
 */
export class EventRoutes<T> {
  private readonly byInterest = new Map<string, Set<T>>();

  add(interests: readonly Interest[], one: T): void {
    for (const interest of interests) {
      const name = nameOf(...interest);
      const known = this.byInterest.get(name);
      if (known) known.add(one);
      else this.byInterest.set(name, new Set([one]));
    }
  }

  remove(interests: readonly Interest[], one: T): void {
    for (const interest of interests) {
      const name = nameOf(...interest);
      const known = this.byInterest.get(name);
      known?.delete(one);
      if (known?.size === 0) this.byInterest.delete(name);
    }
  }

  /** Calls `found` with everyone interested, with some more than once. `found` may remove them. */
  find({ topic, keys }: EventAbout, found: (one: T) => void): void {
    for (const wanted of [topic, '*']) {
      this.tell(nameOf(wanted, '*'), found);
      for (const key of keys) this.tell(nameOf(wanted, key), found);
    }
  }

  private tell(name: string, found: (one: T) => void): void {
    const known = this.byInterest.get(name);
    if (known) for (const one of known) found(one);
  }
}

/** A topic has no colon in it (EV-22). */
const nameOf = (topic: string, key: string): string => `${topic}:${key}`;
