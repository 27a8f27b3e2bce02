import { headerText, type StreamAnswer } from '../server/api-client.js';
import { AnswerFailure, isTransient } from '../server/api-failure.js';
import { completeLines, type EventLine, parseLine } from './event-line.js';
import { causeOf, CommandFailure, isInterrupt } from '../failure.js';

/** The connection counts as dead after this silence, because the server sends a heartbeat every 30 s (CL-1004). */
const SILENCE_MS = 75_000;
const FIRST_WAIT_MS = 1_000;
const MAX_WAIT_MS = 30_000;
/** Random part added to a wait. */
const JITTER = 0.25;
/** The largest index, which requests only new events (CL-1011). */
const BEYOND_NEWEST = '9223372036854775807';
const NO_LONGER_RETAINED = 3;

/** Where to start: an index, after the newest event, or at the oldest retained one. */
export type Start = number | 'now' | 'oldest';

export interface FollowOptions {
  readonly start: Start;
  /** Fail instead of starting later than requested (CL-1007). */
  readonly strict: boolean;
  /** End after the event that was newest at the start. */
  readonly untilHead: boolean;
}

export interface FollowerTools {
  /** Opens the stream at this index. */
  readonly open: (
    query: { index: string; strict?: boolean; until?: 'head' },
    signal: AbortSignal,
  ) => Promise<StreamAnswer>;
  readonly sleep: (ms: number) => Promise<void>;
  readonly random: () => number;
  readonly note: (text: string) => void;
  readonly warn: (text: string) => void;
}

/**
 * The lines of the event stream, each once and in order, over any number of connections (CL-1003, CL-1004). States:
 * connecting → reading → waiting (the connection ended, fell silent or was refused for now) → connecting. The run ends
 * by `untilHead`, by a permanent refusal, if the very first connection fails, or by Ctrl-C. Between connections only
 * the next wanted index is kept, so no line is missed or repeated.
 */
export class EventFollower {
  private wanted: number | undefined;
  private headIndex = 0;
  private outage = false;
  private waitMs = FIRST_WAIT_MS;
  private connected = false;

  constructor(
    private readonly options: FollowOptions,
    private readonly tools: FollowerTools,
  ) {
    if (typeof options.start === 'number') this.wanted = options.start;
    else if (options.start === 'oldest') this.wanted = 1;
  }

  /** Index of the newest event when the first connection started. 0 if unknown. */
  get head(): number {
    return this.headIndex;
  }

  /** @throws CommandFailure for a permanent refusal (CL-1005, CL-1007); AbortError at Ctrl-C */
  async *lines(): AsyncGenerator<EventLine> {
    for (;;) {
      try {
        if (yield* this.oneConnection()) return;
        await this.pause('the connection ended');
      } catch (error) {
        if (isInterrupt(error) || error instanceof CommandFailure) throw error;
        const passing = this.connected && (isTransient(error) || error instanceof SyntaxError);
        if (!passing) throw this.refused(error);
        await this.pause(causeOf(error));
      }
    }
  }

  /** Yields the lines of one connection. Returns true when the run is over. */
  private async *oneConnection(): AsyncGenerator<EventLine, boolean> {
    const silence = new SilenceTimer();
    try {
      const strict = this.options.strict && this.options.start !== 'oldest' ? { strict: true } : {};
      const until = this.options.untilHead ? ({ until: 'head' } as const) : {};
      const query = { index: String(this.wanted ?? BEYOND_NEWEST), ...strict, ...until };
      const answer = await this.tools.open(query, silence.signal);
      this.begin(answer);
      if (this.options.untilHead && this.head > 0 && (this.wanted ?? 0) > this.head) return true;
      let heartbeats = 0;
      for await (const text of completeLines(silence.watched(answer.body))) {
        const parsed = parseLine(text);
        if (parsed.kind === 'heartbeat') {
          // The first heartbeat comes at once. A later one shows that the replay is complete or that there are no
          // events.
          if (this.options.untilHead && ++heartbeats > 1) return true;
          continue;
        }
        const { line } = parsed;
        if (this.wanted !== undefined && line.Index < this.wanted) continue;
        if (this.options.untilHead && this.head > 0 && line.Index > this.head) return true;
        this.wanted = line.Index + 1;
        yield line;
        if (this.options.untilHead && this.head > 0 && line.Index >= this.head) return true;
      }
      return false;
    } catch (error) {
      if (silence.expired) return false;
      throw error;
    } finally {
      silence.stop();
    }
  }

  private begin({ headers }: StreamAnswer): void {
    if (this.outage) this.tools.note('The event stream is back');
    this.outage = false;
    this.waitMs = FIRST_WAIT_MS;
    const number = (name: string) => Number(headerText(headers, name) || 0);
    const floor = number('x-waybill-event-floor');
    const head = number('x-waybill-event-head');
    if (!this.connected) this.headIndex = head;
    if (this.wanted === undefined && head > 0) this.wanted = head + 1;
    const oldest = !this.connected && this.options.start === 'oldest';
    if (this.wanted !== undefined && floor > this.wanted && !oldest) this.belowFloor(this.wanted, floor);
    this.connected = true;
  }

  /** Warns that events were lost. @throws CommandFailure if the user requested strictness (CL-1007) */
  private belowFloor(wanted: number, floor: number): void {
    if (this.options.strict) throw notRetained(wanted, floor);
    this.tools.warn(`Events before index ${floor} are no longer retained; starting there`);
  }

  private refused(error: unknown): CommandFailure {
    if (error instanceof AnswerFailure && error.status === 410)
      return notRetained(this.wanted ?? 0, Number(error.headers['x-waybill-event-floor'] ?? 0));
    return new CommandFailure(`Error reading events: ${causeOf(error)}`);
  }

  private async pause(why: string): Promise<void> {
    if (!this.outage) this.tools.note(`The event stream broke off: ${why}; trying again`);
    this.outage = true;
    const ms = this.waitMs * (1 + this.tools.random() * JITTER);
    this.waitMs = Math.min(this.waitMs * 2, MAX_WAIT_MS);
    await this.tools.sleep(ms);
  }
}

const notRetained = (wanted: number, floor: number): CommandFailure =>
  new CommandFailure(`Index ${wanted} is no longer retained (oldest: ${floor})`, NO_LONGER_RETAINED);

/** Ends a connection that sends nothing for SILENCE_MS. */
class SilenceTimer {
  private readonly controller = new AbortController();
  private timer: NodeJS.Timeout | undefined;

  constructor() {
    this.arm();
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  get expired(): boolean {
    return this.controller.signal.aborted;
  }

  async *watched(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    this.arm();
    for await (const chunk of body) {
      // The timer is off while lines are printed, because a slow reader is not a silent server (CL-1009).
      clearTimeout(this.timer);
      yield chunk;
      this.arm();
    }
  }

  stop(): void {
    clearTimeout(this.timer);
    this.controller.abort();
  }

  private arm(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.controller.abort(), SILENCE_MS);
  }
}
