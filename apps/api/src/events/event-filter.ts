import type { EventAbout, Interest, StoredFrame } from '@waybill/projection';
import { badRequest } from '../http/api-error.js';

/** Keys by topic, as asked for; `*` stands for all. */
export type Topics = ReadonlyMap<string, ReadonlySet<string>>;

/**
 * The `topic` parameters of a request (EV-22): `<Topic>`, `<Topic>:<key>`, any number of them; none means everything.
 * @throws ApiError 400 for more than one colon
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

/** Which events of the stream a subscriber gets (EV-30 to EV-34). Costs O(keys of the event) per event. */
export class EventFilter {
  constructor(
    private readonly topics: Topics,
    /** `*`: all. */
    private readonly namespace: string,
  ) {}

  /** Topics and keys that it may match. */
  get interests(): readonly Interest[] {
    return [...this.topics].flatMap(([topic, keys]) => [...keys].map((key): Interest => [topic, key]));
  }

  matches(event: EventAbout): boolean {
    if (event.namespace !== '' && this.namespace !== '*' && event.namespace !== this.namespace) return false;
    return matchesKeys(this.topics.get('*'), event) || matchesKeys(this.topics.get(event.topic), event);
  }

  /**
   * The line for a frame, with its newline: as it was stored when every event matches, undefined when none does (EV-26).
   * Looks into the payloads only when some match and some do not (EV-72).
   */
  lineOf(frame: StoredFrame): string | Uint8Array | undefined {
    const matching = frame.events.map((event) => this.matches(event));
    if (!matching.includes(true)) return undefined;
    if (!matching.includes(false)) return frame.line;
    const Events = frame.frame.Events.filter((_, at) => matching[at]);
    return `${JSON.stringify({ ...frame.frame, Events })}\n`;
  }
}

function matchesKeys(keys: ReadonlySet<string> | undefined, event: EventAbout): boolean {
  if (!keys) return false;
  return keys.has('*') || event.keys.some((key) => keys.has(key));
}
