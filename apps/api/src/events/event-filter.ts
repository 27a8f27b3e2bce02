import type { EventAbout, Interest, StoredFrame } from '@waybill/projection';
import { badRequest } from '../http/api-error.js';

/** The requested keys by topic; `*` stands for all. */
export type Topics = ReadonlyMap<string, ReadonlySet<string>>;

/**
 * Reads the `topic` parameters of a request (EV-22): any number of `<Topic>` and `<Topic>:<key>`. Without a parameter
 * everything is requested.
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

/** Lines are sent together. They include their newlines and come with the index of the last one. */
export interface Lines {
  readonly bytes: string | Uint8Array;
  readonly last: number;
}

/**
 * EventFilter decides which events of the stream a subscriber gets (EV-30 to EV-34). Cost: O(keys of the event) per
 * event.
 */
export class EventFilter {
  private readonly matchesAll: boolean;

  constructor(
    private readonly topics: Topics,
    /** The requested namespace; `*` stands for all. */
    private readonly namespace: string,
    /** Says whether the subscriber may see an event. If it is absent, the subscriber may see all. */
    private readonly allows?: (event: EventAbout) => boolean,
  ) {
    this.matchesAll = !allows && namespace === '*' && topics.get('*')?.has('*') === true;
  }

  /** Returns the topics and keys that the filter may match. */
  get interests(): readonly Interest[] {
    return [...this.topics].flatMap(([topic, keys]) => [...keys].map((key): Interest => [topic, key]));
  }

  matches(event: EventAbout): boolean {
    if (event.namespace !== '' && this.namespace !== '*' && event.namespace !== this.namespace) return false;
    const isWanted = matchesKeys(this.topics.get('*'), event) || matchesKeys(this.topics.get(event.topic), event);
    return isWanted && (!this.allows || this.allows(event));
  }

  /**
   * Returns the line for a frame, with its newline. It is the stored line if every event matches, and undefined if none
   * does (EV-26). The filter reads the payloads only if some match and some do not (EV-72).
   */
  lineOf(frame: StoredFrame): string | Uint8Array | undefined {
    if (this.matchesAll) return frame.line;
    const matching = frame.events.map((event) => this.matches(event));
    if (!matching.includes(true)) return undefined;
    if (!matching.includes(false)) return frame.line;
    const Events = frame.frame.Events.filter((_, at) => matching[at]);
    return `${JSON.stringify({ ...frame.frame, Events })}\n`;
  }

  /** Returns the lines for these frames. It joins stored lines that are adjacent in memory to one piece. */
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

/** Returns one view of both if the second begins where the first ends. */
function joinedInMemory(first: string | Uint8Array, second: string | Uint8Array): Uint8Array | undefined {
  if (typeof first === 'string' || typeof second === 'string' || first.buffer !== second.buffer) return undefined;
  if (first.byteOffset + first.byteLength !== second.byteOffset) return undefined;
  return new Uint8Array(first.buffer, first.byteOffset, first.byteLength + second.byteLength);
}

function matchesKeys(keys: ReadonlySet<string> | undefined, event: EventAbout): boolean {
  if (!keys) return false;
  return keys.has('*') || event.keys.some((key) => keys.has(key));
}
