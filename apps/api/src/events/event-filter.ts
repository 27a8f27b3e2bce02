import type { EventAbout, Interest, StoredFrame } from '@waybill/projection';
import { badRequest } from '../http/api-error.js';

/** Keys by topic, as asked for; `*` stands for all. */
export type Topics = ReadonlyMap<string, ReadonlySet<string>>;

/**
 * The `topic` parameters of a request (EV-22): `<Topic>`, `<Topic>:<key>`, any number of them; none means everything.
 * @throws Refusal invalid for more than one colon
 */
export function parseTopics(given: readonly string[]): Topics {
  const topics = new Map<string, Set<string>>();
  for (const text of given.length > 0 ? given : ['*:*']) {
    const parts = text.split(':');
    if (parts.length > 2)
      throw badRequest(`Invalid topic query: error parsing topics: Invalid key value pair for topic, topic: ${text}`);
    const [topic = '', key = '*'] = parts;
    const keys = topics.get(topic);
    if (keys) keys.add(key);
    else topics.set(topic, new Set([key]));
  }
  return topics;
}

/** Lines to be sent together, each with its newline, and the index of the last of them. */
export interface Lines {
  readonly bytes: string | Uint8Array;
  readonly last: number;
}

/** Which events of the stream a subscriber gets (EV-30 to EV-34). Costs O(keys of the event) per event. */
export class EventFilter {
  private readonly matchesAll: boolean;

  constructor(
    private readonly topics: Topics,
    /** `*`: all. */
    private readonly namespace: string,
    /** Whether the subscriber may see an event; absent: all of them. */
    private readonly allows?: (event: EventAbout) => boolean,
  ) {
    this.matchesAll = !allows && namespace === '*' && topics.get('*')?.has('*') === true;
  }

  /** Topics and keys that it may match. */
  get interests(): readonly Interest[] {
    return [...this.topics].flatMap(([topic, keys]) => [...keys].map((key): Interest => [topic, key]));
  }

  matches(event: EventAbout): boolean {
    if (event.namespace !== '' && this.namespace !== '*' && event.namespace !== this.namespace) return false;
    const isWanted = matchesKeys(this.topics.get('*'), event) || matchesKeys(this.topics.get(event.topic), event);
    return isWanted && (!this.allows || this.allows(event));
  }

  /**
   * The line for a frame, with its newline: as it was stored when every event matches, undefined when none does (EV-26).
   * Looks into the payloads only when some match and some do not (EV-72).
   */
  lineOf(frame: StoredFrame): string | Uint8Array | undefined {
    if (this.matchesAll) return frame.line;
    const matching = frame.events.map((event) => this.matches(event));
    if (!matching.includes(true)) return undefined;
    if (!matching.includes(false)) return frame.line;
    const Events = frame.frame.Events.filter((_, at) => matching[at]);
    return `${JSON.stringify({ ...frame.frame, Events })}\n`;
  }

  /** The lines for these frames. Stored ones that lie next to each other in memory are sent as one piece of it. */
  *linesOf(frames: readonly StoredFrame[]): Iterable<Lines> {
    let pending: Lines | undefined;
    for (const frame of frames) {
      const bytes = this.lineOf(frame);
      if (bytes === undefined) continue;
      const joined = pending && joinedInMemory(pending.bytes, bytes);
      if (pending && !joined) yield pending;
      pending = { bytes: joined ?? bytes, last: frame.index };
    }
    if (pending) yield pending;
  }
}

/** One view of both, if the second begins where the first ends. */
function joinedInMemory(first: string | Uint8Array, second: string | Uint8Array): Uint8Array | undefined {
  if (typeof first === 'string' || typeof second === 'string' || first.buffer !== second.buffer) return undefined;
  if (first.byteOffset + first.byteLength !== second.byteOffset) return undefined;
  return new Uint8Array(first.buffer, first.byteOffset, first.byteLength + second.byteLength);
}

function matchesKeys(keys: ReadonlySet<string> | undefined, event: EventAbout): boolean {
  if (!keys) return false;
  return keys.has('*') || event.keys.some((key) => keys.has(key));
}
