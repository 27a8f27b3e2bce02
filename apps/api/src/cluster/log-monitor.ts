import type { Clock, Timers } from '@waybill/model';
import { agentLine, type LogFeed, RANK } from '@waybill/telemetry';
import type { FilePiece } from '../client/frames.js';

/** The number of lines that are kept for a reader which is slower than the log (OP-83). */
export const MAX_KEPT_LINES = 512;
/** The time in milliseconds for which lines are gathered, unless there are GATHER_BYTES of them before. */
const GATHER_MS = 200;
const GATHER_BYTES = 1_024;
/** The interval in milliseconds of heartbeats that tell a reader that the connection is up. */
const HEARTBEAT_MS = 1_000;
/** The shortest time in milliseconds between two notices of lost lines. */
const DROP_NOTICE_MS = 3_000;

/** LogEndedError says that the log itself has ended before its reader wanted it to. The message says why (OP-274). */
export class LogEndedError extends Error {
  override readonly name = 'LogEndedError';
}

export interface MonitorWish {
  readonly level: keyof typeof RANK;
  /** Selects JSON as on the machines instead of lines for people. */
  readonly json: boolean;
}

/**
 * LogMonitor is the log of a process for one reader, in pieces for frames; null is a heartbeat.
 * Modes: waiting (there is no line) → gathering (a line has arrived) → handing over → waiting. It ends with the signal.
 * If the signal's reason is a LogEndedError, it hands over all lines and ends with the error's text as the last line.
 * It keeps MAX_KEPT_LINES. It counts the lines that a slow reader loses and reports them.
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
        if (this.lines.length === 0) await this.waitUntil(HEARTBEAT_MS, () => this.lines.length > 0 || signal.aborted);
        if (this.lines.length > 0) await this.waitUntil(GATHER_MS, () => this.bytes >= GATHER_BYTES || signal.aborted);
        yield this.nextPiece();
      }
      if (signal.reason instanceof LogEndedError) yield this.nextPiece(`[ERROR] ${signal.reason.message}\n`);
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

  private nextPiece(last = ''): FilePiece {
    const text = this.dropNotice() + this.lines.splice(0).join('') + last;
    this.bytes = 0;
    if (text === '') return null;
    const data = Buffer.from(text);
    const offset = this.sent;
    this.sent += data.length;
    return { data, offset, file: 'log' };
  }

  private dropNotice(): string {
    const nowMs = this.clock.nowMs();
    if (this.dropped === 0 || nowMs < this.noticeDueMs) return '';
    const text = `[WARN] Monitor dropped ${this.dropped} logs during monitor request\n`;
    this.dropped = 0;
    this.noticeDueMs = nowMs + DROP_NOTICE_MS;
    return text;
  }

  /** Waits until the condition holds, which every line checks, or the time is over. */
  private waitUntil(ms: number, done: () => boolean): Promise<void> {
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
