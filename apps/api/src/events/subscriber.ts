import type { Timers } from '@waybill/model';

/** The interval of heartbeats (`{}`) in milliseconds. The first one is sent at once. [EV-24] */
export const HEARTBEAT_MS = 30_000;
/** The time in milliseconds after which a write without progress closes the connection (EV-69). */
export const STALLED_WRITE_MS = 40_000;
/** The bytes that may wait in one connection before its reader pauses. Thousands of clients may be slow at once. */
export const MAX_BUFFERED_BYTES = 64 * 1024;

/** LineSink is the connection of one subscriber. */
export interface LineSink {
  write(line: string | Uint8Array): void;
  /** The bytes that the client has not yet taken. */
  readonly bufferedBytes: number;
  /** Resolves when the client has taken the buffered bytes. */
  drained(): Promise<void>;
  /** @param next the index to continue with, if it is known */
  end(next: number | undefined): void;
  /** Breaks the connection off and drops the bytes that the client has not yet taken. */
  destroy(): void;
}

/**
 * Subscriber writes lines to one client, with heartbeats between them.
 *
 * Modes: open → closed (the client disconnects or stalls, or the server ends). It skips heartbeats while lines wait.
 * Memory: at most MAX_BUFFERED_BYTES plus what is sent at once; stored lines of it are shared. The reader waits in
 * `send` until the client has taken the lines. While bytes wait, the client must take at least one in STALLED_WRITE_MS;
 * otherwise the connection is closed and its memory freed.
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

  /** The signal is aborted when either side closes the connection. */
  get signal(): AbortSignal {
    return this.over.signal;
  }

  open(): void {
    if (this.closed) return;
    this.write(HEARTBEAT);
    this.scheduleHeartbeat();
  }

  /** Notes that no event before this index remains to be sent. */
  beginAt(index: number): void {
    this.next = index;
  }

  /**
   * Writes lines and resolves when there is room for more. It does nothing after the close.
   * @param last the index of the last line
   * @returns whether there was a wait, in which the rights of the client may have changed
   */
  async send(lines: string | Uint8Array, last: number): Promise<boolean> {
    if (this.closed) return false;
    this.write(lines);
    this.next = last + 1;
    if (this.sink.bufferedBytes <= MAX_BUFFERED_BYTES) return false;
    await this.awaitRoom();
    return true;
  }

  /** Closes the connection after a heartbeat, which says that no event remains. */
  finish(): void {
    if (this.closed) return;
    this.write(HEARTBEAT);
    this.close();
  }

  close(): void {
    this.closeWith(() => this.sink.end(this.next));
  }

  /**
   * Closes the connection of a client who may see no more events. Lines that the client has not taken are not sent any
   * more (AU-231).
   */
  revoke(): void {
    if (this.sink.bufferedBytes > 0) this.closeWith(() => this.sink.destroy());
    else this.close();
  }

  private closeWith(end: () => void): void {
    if (this.closed) return;
    this.closed = true;
    this.cancelHeartbeat();
    this.cancelStall?.();
    this.over.abort();
    this.giveUp?.();
    end();
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

  /** Resolves when the client has taken the waiting bytes, or never will. */
  private awaitRoom(): Promise<void> {
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

/** The form by which clients distinguish a heartbeat from a line of events (EV-28). */
const HEARTBEAT = '{}\n';
