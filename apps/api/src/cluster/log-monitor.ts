import type { Clock, Timers } from '@waybill/model';
import { agentLine, type LogFeed, RANK } from '@waybill/telemetry';
import type { FilePiece } from '../client/frames.js';

/** Lines kept for a reader who is slower than the log (OP-83). */
export const MAX_KEPT_LINES = 512;
/** Lines are gathered for this long, or until there are so many bytes of them. */
const GATHER_MS = 200;
const GATHER_BYTES = 1_024;
/** A reader hears this often that the connection is up, ms. */
const HEARTBEAT_MS = 1_000;
/** And no more often than this that it lost lines, ms. */
const DROP_NOTICE_MS = 3_000;

/** The log itself has ended, before its reader wanted that; the message says why (OP-274). */
export class LogEndedError extends Error {
  override readonly name = 'LogEndedError';
}

export interface MonitorWish {
  readonly level: keyof typeof RANK;
  /** As the machines' JSON, instead of lines for people. */
  readonly json: boolean;
}

/**
 * The log of a process as one reader sees it, in pieces for frames; null is a heartbeat.
 * Modes: waiting (nothing to say) → gathering (a line has come) → handing over → waiting. Ends with the signal; where that
 * is a LogEndedError, with all that came and its text as the last line.
 * Holds MAX_KEPT_LINES; what a slow reader loses is counted and told.
 */
export class LogMonitor {
  private readonly lines: string[] = [];
  private bytes = 0;
  private dropped = 0;
  private noticeDueMs = 0;
  private sent = 0;
  private wake: () => void = () => {};

  constructor(
    private readonly feed: Pick<LogFeed, 'subscribe'>,
    private readonly clock: Clock,
    private readonly timers: Timers,
    private readonly wish: MonitorWish,
  ) {}

  async *pieces(signal: AbortSignal): AsyncGenerator<FilePiece> {
    const end = this.feed.subscribe(RANK[this.wish.level], (line) => this.keepLine(line));
    signal.addEventListener('abort', () => this.wake(), { once: true });
    try {
      yield null; // the reader sees at once that it is connected
      while (!signal.aborted) {
        if (this.lines.length === 0) await this.pause(HEARTBEAT_MS, () => this.lines.length > 0 || signal.aborted);
        if (this.lines.length > 0) await this.pause(GATHER_MS, () => this.bytes >= GATHER_BYTES || signal.aborted);
        yield this.handOver();
      }
      if (signal.reason instanceof LogEndedError) yield this.handOver(`[ERROR] ${signal.reason.message}\n`);
    } finally {
      end();
    }
  }

  private keepLine(line: string): void {
    if (this.lines.length === MAX_KEPT_LINES) {
      this.dropped++;
      return;
    }
    const shown = this.wish.json ? line : agentLine(line);
    this.lines.push(shown);
    this.bytes += shown.length;
    this.wake();
  }

  private handOver(last = ''): FilePiece {
    const text = this.notice() + this.lines.splice(0).join('') + last;
    this.bytes = 0;
    if (text === '') return null;
    const data = Buffer.from(text);
    const offset = this.sent;
    this.sent += data.length;
    return { data, offset, file: 'log' };
  }

  private notice(): string {
    const nowMs = this.clock.nowMs();
    if (this.dropped === 0 || nowMs < this.noticeDueMs) return '';
    const text = `[WARN] Monitor dropped ${this.dropped} logs during monitor request\n`;
    this.dropped = 0;
    this.noticeDueMs = nowMs + DROP_NOTICE_MS;
    return text;
  }

  /** Until the condition holds, which is looked at with every line, or the time is over. */
  private pause(ms: number, done: () => boolean): Promise<void> {
    if (done()) return Promise.resolve();
    return new Promise((resolve) => {
      const finish = (): void => {
        cancel();
        this.wake = () => {};
        resolve();
      };
      const cancel = this.timers.after(ms, finish);
      this.wake = () => done() && finish();
    });
  }
}
