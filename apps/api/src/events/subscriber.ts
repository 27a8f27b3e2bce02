import type { Timers } from '@waybill/model';

/** `{}` this often, and at once at the beginning (EV-24). */
export const HEARTBEAT_MS = 30_000;
/** A write that makes no progress for this long closes the connection (EV-69). */
export const STALLED_WRITE_MS = 40_000;
/** Bytes waiting in one connection before its reader is told to wait: thousands may be slow at once. */
export const MAX_BUFFERED_BYTES = 64 * 1024;

/** The connection of one subscriber. */
export interface LineSink {
  write(line: string | Uint8Array): void;
  /** Bytes not yet taken by the client. */
  readonly bufferedBytes: number;
  /** Resolves when the client has taken what was buffered. */
  drained(): Promise<void>;
  /** @param next the index to go on with, if it is known */
  end(next: number | undefined): void;
}

/**
 * Writes lines to one subscriber, with heartbeats in between.
 *
 * Modes: open → closed (the client went away, stalled, or the server ends). Heartbeats are skipped while lines wait.
 * Memory: at most MAX_BUFFERED_BYTES plus what is sent at once, of which stored lines are shared; the reader waits in `send` until the client has taken them. While
 * anything waits, the client must take at least a byte in STALLED_WRITE_MS, or it is closed and everything is freed.
 */
export class Subscriber {
  private closed = false;
  private cancelHeartbeat: () => void = () => undefined;
  private cancelStall: (() => void) | undefined;
  private giveUp: (() => void) | undefined;
  private written = 0;
  private next: number | undefined;
  private readonly over = new AbortController();

  constructor(
    private readonly sink: LineSink,
    private readonly timers: Timers,
  ) {}

  /** Aborted when the subscriber is closed, by whichever side. */
  get signal(): AbortSignal {
    return this.over.signal;
  }

  open(): void {
    if (this.closed) return;
    this.write(HEARTBEAT);
    this.scheduleHeartbeat();
  }

  /** Nothing before this index is left to be sent. */
  beginAt(index: number): void {
    this.next = index;
  }

  /**
   * Resolves when there is room for more. Does nothing once closed.
   * @param last index of the last line
   */
  async send(lines: string | Uint8Array, last: number): Promise<void> {
    if (this.closed) return;
    this.write(lines);
    this.next = last + 1;
    if (this.sink.bufferedBytes > MAX_BUFFERED_BYTES) await this.room();
  }

  /** Closes it with a heartbeat as the sign that nothing is left to be said. */
  finish(): void {
    if (this.closed) return;
    this.write(HEARTBEAT);
    this.close();
  }

  close(): void {
    if (this.closed) return;
    this.closed = true;
    this.cancelHeartbeat();
    this.cancelStall?.();
    this.over.abort();
    this.giveUp?.();
    this.sink.end(this.next);
  }

  private write(line: string | Uint8Array): void {
    this.sink.write(line);
    this.written += Buffer.byteLength(line);
    if (this.sink.bufferedBytes > 0) this.cancelStall ??= this.expectProgress();
  }

  private expectProgress(): () => void {
    const takenBefore = this.written - this.sink.bufferedBytes;
    return this.timers.after(STALLED_WRITE_MS, () => {
      this.cancelStall = undefined;
      const waiting = this.sink.bufferedBytes;
      if (waiting === 0) return;
      if (this.written - waiting <= takenBefore) this.close();
      else this.cancelStall = this.expectProgress();
    });
  }

  /** The client has taken what waited, or never will. */
  private room(): Promise<void> {
    return new Promise((resolve) => {
      this.giveUp = resolve;
      void this.sink.drained().then(resolve);
    });
  }

  private scheduleHeartbeat(): void {
    this.cancelHeartbeat = this.timers.after(HEARTBEAT_MS, () => {
      if (this.closed) return;
      if (this.sink.bufferedBytes === 0) this.write(HEARTBEAT);
      this.scheduleHeartbeat();
    });
  }
}

/** How clients tell it from a line of events (EV-28). */
const HEARTBEAT = '{}\n';
