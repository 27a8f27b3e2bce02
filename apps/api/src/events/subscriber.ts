import type { Timers } from '@waybill/model';

/** `{}` this often, and at once at the beginning (EV-24). */
export const HEARTBEAT_MS = 30_000;
/** A write that makes no progress for this long closes the connection (EV-69). */
export const STALLED_WRITE_MS = 40_000;
/** Bytes waiting in one connection before its reader is told to wait. */
export const MAX_BUFFERED_BYTES = 1024 * 1024;

/** The connection of one subscriber. */
export interface LineSink {
  write(line: string | Uint8Array): void;
  /** Bytes not yet taken by the client. */
  readonly bufferedBytes: number;
  /** Resolves when the client has taken what was buffered. */
  drained(): Promise<void>;
  end(): void;
}

/**
 * Writes lines to one subscriber, with heartbeats in between.
 *
 * Modes: open → closed (the client went away, stalled, or the server ends). Heartbeats are skipped while lines wait.
 * Memory: at most MAX_BUFFERED_BYTES plus one line; the reader waits in `send` until the client has taken them.
 */
export class Subscriber {
  private closed = false;
  private cancelHeartbeat: () => void = () => undefined;
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
    this.sink.write('{}\n');
    this.scheduleHeartbeat();
  }

  /** Resolves when there is room for more. Does nothing once closed. */
  async send(line: string | Uint8Array): Promise<void> {
    if (this.closed) return;
    this.sink.write(line);
    if (this.sink.bufferedBytes <= MAX_BUFFERED_BYTES) return;
    const cancel = this.timers.after(STALLED_WRITE_MS, () => this.close());
    await Promise.race([this.sink.drained(), this.closing()]);
    cancel();
  }

  close(): void {
    if (this.closed) return;
    this.closed = true;
    this.cancelHeartbeat();
    this.over.abort();
    this.sink.end();
  }

  private closing(): Promise<void> {
    return new Promise((resolve) => {
      if (this.closed) resolve();
      else this.over.signal.addEventListener('abort', () => resolve(), { once: true });
    });
  }

  private scheduleHeartbeat(): void {
    this.cancelHeartbeat = this.timers.after(HEARTBEAT_MS, () => {
      if (this.closed) return;
      if (this.sink.bufferedBytes === 0) this.sink.write('{}\n');
      this.scheduleHeartbeat();
    });
  }
}
