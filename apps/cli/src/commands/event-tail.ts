import type { Call, ServerCommand } from '../command-spec.js';
import { Display, VERBOSE_FLAG } from '../display.js';
import { EventFollower, type FollowOptions, type Start } from '../event-follower.js';
import type { EventLine, StreamEvent } from '../event-line.js';
import { EVENT_HEADER, eventRow } from '../event-row.js';
import { type ExactJson, formatExact, membersOf, parseExact } from '../exact-json.js';
import { FlagFailure, isInterrupt } from '../failure.js';

export const command: ServerCommand = {
  usage: '[<topic>[:<key>]…]',
  description:
    'Follows the event stream and goes on by itself, without gap or repetition, when the connection breaks. Topics such as ' +
    'Job, Evaluation, Allocation, Deployment, Node; none: all.\n\nExit codes: 0 ended as asked; 1 refused; ' +
    '3 (-strict) the wanted index is no longer retained.\n\nNeeds read access to what the topics show; all topics: a management token.',
  flags: [
    { name: 'topic', kind: 'list', value: 'topic[:key]', help: 'A topic to follow, like the arguments.' },
    {
      name: 'index',
      kind: 'text',
      value: 'n|now|oldest',
      help: 'First index wanted; now (the default): what comes next.',
    },
    { name: 'type', kind: 'list', value: 'type', help: 'Only events of this type.' },
    { name: 'no-follow', kind: 'switch', help: 'End when what was newest at the start has been shown.' },
    { name: 'count', kind: 'integer', value: 'n', help: 'End after n events.' },
    { name: 'timeout', kind: 'duration', value: 'duration', help: 'End after that time.' },
    { name: 'strict', kind: 'switch', help: 'Fail instead of starting later than asked.' },
    { name: 'json', kind: 'switch', help: "The server's lines, one JSON object each." },
    VERBOSE_FLAG,
  ],
  takes: { min: 0, max: Number.POSITIVE_INFINITY, otherwise: '' },
  run,
};

async function run(call: Call): Promise<number> {
  const { flags, terminal, args, random } = call;
  const start = startOf(flags.text('index') ?? 'now');
  const options: FollowOptions = { start, strict: flags.on('strict'), untilHead: flags.on('no-follow') };
  const topics = [...args, ...flags.list('topic')];
  const deadline = new Deadline(flags.durationMs('timeout'));
  const follower = new EventFollower(options, {
    open: (query, signal) =>
      call.api.stream(
        '/v1/event/stream',
        { ...query, topic: topics.length > 0 ? topics : ['*'] },
        AbortSignal.any([signal, deadline.signal]),
      ),
    sleep: (ms) => deadline.race(call.sleep(ms)),
    random,
    note: (text) => terminal.note(text),
    warn: (text) => terminal.warn(text),
  });
  const printer = new EventPrinter(call);
  try {
    for await (const line of follower.lines()) if (await printer.print(line)) break;
  } catch (error) {
    if (!isInterrupt(error)) throw error;
    // CL-1008: Ctrl-C; the end of the time looks the same and says nothing.
    if (!deadline.signal.aborted && printer.last > 0)
      terminal.note(`Last index: ${printer.last}. Resume with -index ${printer.last + 1}`);
  } finally {
    deadline.stop();
  }
  return 0;
}

/** @throws FlagFailure */
function startOf(text: string): Start {
  if (text === 'now' || text === 'oldest') return text;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new FlagFailure(`invalid value "${text}" for flag -index: neither a whole number nor now nor oldest`);
}

/** Prints lines as text or JSON, reduced to the wanted types; knows when enough is printed. */
class EventPrinter {
  /** Index of the last line that was printed whole, or passed by. */
  last = 0;
  private printed = 0;
  private headerDue = true;
  private readonly types: ReadonlySet<string>;
  private readonly limit: number;

  constructor(private readonly call: Call) {
    this.types = new Set(call.flags.list('type'));
    this.limit = call.flags.integer('count') ?? Number.POSITIVE_INFINITY;
  }

  /** Resolves with true when -count is reached. A line is flushed before the next is read (CL-1009, CL-1010). */
  async print(line: EventLine): Promise<boolean> {
    const { terminal, flags } = this.call;
    const passing = line.Events.filter((event) => this.passes(event));
    const events = passing.slice(0, this.limit - this.printed);
    this.printed += events.length;
    if (events.length > 0) await terminal.bytes(flags.on('json') ? this.jsonOf(line) : this.textOf(line, events));
    this.last = line.Index;
    return this.printed >= this.limit;
  }

  private passes(event: StreamEvent): boolean {
    return this.types.size === 0 || this.types.has(event.Type);
  }

  private textOf(line: EventLine, events: readonly StreamEvent[]): string {
    const display = Display.of(this.call);
    const header = this.headerDue ? `${EVENT_HEADER}\n` : '';
    this.headerDue = false;
    return header + events.map((event) => `${eventRow(line, event, display)}\n`).join('');
  }

  private jsonOf(line: EventLine): string {
    if (this.types.size === 0) return `${line.text}\n`;
    const whole = membersOf(parseExact(line.text));
    const events = Array.isArray(whole['Events']) ? whole['Events'] : [];
    return `${formatExact({ ...whole, Events: events.filter((event) => this.typePasses(event)) }, 0)}\n`;
  }

  private typePasses(event: ExactJson): boolean {
    const type = membersOf(event)['Type'];
    return typeof type === 'string' && this.types.has(type);
  }
}

/** The end of -timeout, as an abort. */
class Deadline {
  private readonly controller = new AbortController();
  private readonly timer: NodeJS.Timeout | undefined;

  constructor(ms: number | undefined) {
    if (ms !== undefined) this.timer = setTimeout(() => this.controller.abort(), ms);
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  stop(): void {
    clearTimeout(this.timer);
  }

  /** Rejects with an AbortError when the deadline comes first. */
  async race(wait: Promise<void>): Promise<void> {
    let over: () => void = () => undefined;
    const aborted = new Promise<void>((_, reject) => {
      over = () => reject(new DOMException('The time is over', 'AbortError'));
      if (this.signal.aborted) over();
      else this.signal.addEventListener('abort', over, { once: true });
    });
    await Promise.race([wait, aborted]).finally(() => this.signal.removeEventListener('abort', over));
  }
}
