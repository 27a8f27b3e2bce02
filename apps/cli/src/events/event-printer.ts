import type { Call } from '../command-spec.js';
import { renderer } from '../terminal/data-printer.js';
import { Display } from '../terminal/display.js';
import type { EventLine, StreamEvent } from './event-line.js';
import { EVENT_HEADER, eventRow } from './event-row.js';
import { type ExactJson, formatExact, membersOf, parseExact } from '../terminal/exact-json.js';
import { causeOf, CommandFailure } from '../failure.js';

/** Whether an event is wanted. @throws CommandFailure if the expression does not fit the event */
type EventFilter = (event: object) => boolean;

/** Prints the wanted events of each line as text, as JSON or with a template, and counts them. */
export class EventPrinter {
  /** Index of the last line that was printed completely or skipped. */
  last = 0;
  private printed = 0;
  private headerDue = true;
  private readonly limit: number;

  private constructor(
    private readonly call: Call,
    private readonly passes: EventFilter | undefined,
    private readonly rendered: ((event: ExactJson) => string) | undefined,
    /** Lines from before this time, in unix nanoseconds, are skipped. */
    private readonly sinceNs: number,
  ) {
    this.limit = call.flags.integer('count') ?? Number.POSITIVE_INFINITY;
  }

  /** Filters and templates are loaded only if they are used. @throws CommandFailure */
  static async of(call: Call, sinceNs = 0): Promise<EventPrinter> {
    const template = call.flags.text('t');
    return new EventPrinter(
      call,
      await filterOf(call),
      template === undefined ? undefined : await renderer(template),
      sinceNs,
    );
  }

  /** Resolves with true when -count is reached. Each line is flushed before the next is read (CL-1009, CL-1010). */
  async print(line: EventLine): Promise<boolean> {
    const passing =
      (line.Time ?? this.sinceNs) < this.sinceNs ? [] : line.Events.filter((event) => this.passes?.(event) ?? true);
    const events = passing.slice(0, this.limit - this.printed);
    this.printed += events.length;
    if (events.length > 0) await this.call.terminal.bytes(this.textOf(line, events));
    this.last = line.Index;
    return this.printed >= this.limit;
  }

  private textOf(line: EventLine, events: readonly StreamEvent[]): string {
    const { rendered } = this;
    if (rendered)
      return this.exactEvents(line, events)
        .map((event) => `${rendered(event)}\n`)
        .join('');
    if (this.call.flags.on('json')) return this.jsonOf(line, events);
    const display = Display.of(this.call);
    const header = this.headerDue ? `${EVENT_HEADER}\n` : '';
    this.headerDue = false;
    return header + events.map((event) => `${eventRow(line, event, display)}\n`).join('');
  }

  /** Returns the server's line exactly, without the unwanted events. */
  private jsonOf(line: EventLine, events: readonly StreamEvent[]): string {
    if (events.length === line.Events.length) return `${line.text}\n`;
    const whole = membersOf(parseExact(line.text));
    return `${formatExact({ ...whole, Events: this.exactEvents(line, events) }, 0)}\n`;
  }

  private exactEvents(line: EventLine, wanted: readonly StreamEvent[]): ExactJson[] {
    const all = membersOf(parseExact(line.text))['Events'];
    const chosen = new Set(wanted);
    return (Array.isArray(all) ? all : []).filter((_, at) => {
      const event = line.Events[at];
      return event !== undefined && chosen.has(event);
    });
  }
}

/**
 * Returns the filter of -type and -filter. The expression is evaluated on the event as it is sent (API-68). @throws
 * CommandFailure
 */
async function filterOf({ flags }: Call): Promise<EventFilter | undefined> {
  const types = new Set(flags.list('type'));
  const ofType: EventFilter = (event) => types.size === 0 || ('Type' in event && types.has(String(event.Type)));
  const expression = flags.text('filter');
  if (expression === undefined) return types.size === 0 ? undefined : ofType;
  const { Filter } = await import('@waybill/model');
  const failing = <T>(work: () => T): T => {
    try {
      return work();
    } catch (error) {
      throw new CommandFailure(`Error filtering events: ${causeOf(error)}`);
    }
  };
  const filter = failing(() => Filter.parse(expression));
  return (event) => ofType(event) && failing(() => filter.matches(event));
}
