import { access } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { CsiError, isTransient } from './errors.js';
import type { PluginChannel } from './plugin-channel.js';
import type { CsiService } from './schema.js';
import { checkedSocketPath } from './socket-path.js';
import { status } from './status.js';

/**
 * Time limit of a call (VL-249). A single try may take all of it, because giving up early and repeating only gets
 * ABORTED from a slow plugin (CW-14).
 */
export const CALL_TIMEOUT_MS = 120_000;
/** Most tries of a call if the plugin is unavailable or exhausted (VL-250). */
export const MAX_TRIES = 3;
const FIRST_BACKOFF_MS = 100;
/** Time limit for connecting to the plugin's socket (VL-248). */
export const DIAL_TIMEOUT_MS = 1_000;
/** Wait before a missing socket is checked again. It doubles up to the limit (VL-248). */
const FIRST_SOCKET_POLL_MS = 200;
const MAX_SOCKET_POLL_MS = 5_000;

export interface CallOptions {
  /** Time limit of the call with all its tries. The default is CALL_TIMEOUT_MS. */
  readonly timeoutMs?: number;
  /** Time limit of one try. The default is the remaining time. */
  readonly tryTimeoutMs?: number;
  /** The default is MAX_TRIES. */
  readonly tries?: number;
  /** Ends the wait. The plugin's work goes on (CW-14). */
  readonly signal?: AbortSignal;
}

/**
 * The connection to one plugin over the Unix socket on which it listens (CW-2, CW-28).
 *
 * unopened → open → closed. unopened: the first call connects, and waits for the socket to appear within its deadline.
 * open: one channel, which reconnects by itself to a restarted plugin at the same path (CW-4). closed: calls in flight
 * are cancelled. Limits: CALL_TIMEOUT_MS, MAX_TRIES, DIAL_TIMEOUT_MS. Cost: one socket, and gRPC itself, which the
 * first connection loads.
 */
export class PluginConnection {
  private channel: PluginChannel | undefined;
  private readonly closing = new AbortController();

  /** @throws SocketPathTooLongError */
  constructor(readonly socketPath: string) {
    checkedSocketPath(socketPath);
  }

  /** @throws CsiError */
  async call<Request extends object, Answer>(
    service: CsiService,
    method: string,
    request: Request,
    options: CallOptions = {},
  ): Promise<Answer> {
    const { tries = MAX_TRIES, timeoutMs = CALL_TIMEOUT_MS, tryTimeoutMs = timeoutMs } = options;
    const signal = options.signal ? AbortSignal.any([options.signal, this.closing.signal]) : this.closing.signal;
    const deadlineMs = Date.now() + timeoutMs;
    for (let attempt = 1; ; attempt++) {
      try {
        const channel = await this.reached(method, deadlineMs, signal);
        const tryDeadlineMs = Math.min(deadlineMs, Date.now() + tryTimeoutMs);
        return await channel.call<Answer>({ service, method, request }, tryDeadlineMs, signal);
      } catch (error) {
        const waitMs = FIRST_BACKOFF_MS * 2 ** (attempt - 1);
        if (!isTransient(error) || attempt >= tries || Date.now() + waitMs >= deadlineMs) throw error;
        await pauseUnless(signal, waitMs, method);
      }
    }
  }

  close(): void {
    this.closing.abort();
    this.channel?.close();
  }

  /** @throws CsiError if no process listens on the socket */
  private async reached(method: string, deadlineMs: number, signal: AbortSignal): Promise<PluginChannel> {
    if (this.channel?.isReady) return this.channel;
    for (
      let waitMs = FIRST_SOCKET_POLL_MS;
      !(await exists(this.socketPath));
      waitMs = Math.min(waitMs * 2, MAX_SOCKET_POLL_MS)
    ) {
      const leftMs = deadlineMs - Date.now();
      if (leftMs <= 0) throw new CsiError(method, status.UNAVAILABLE, 'the plugin has made no socket yet');
      await pauseUnless(signal, Math.min(waitMs, leftMs), method);
    }
    const { PluginChannel } = await import('./plugin-channel.js');
    if (signal.aborted) throw cancelled(method);
    const channel = (this.channel ??= new PluginChannel(this.socketPath, {
      firstMs: FIRST_BACKOFF_MS,
      maxMs: MAX_SOCKET_POLL_MS,
    }));
    if (!(await channel.ready(Math.min(deadlineMs, Date.now() + DIAL_TIMEOUT_MS))))
      throw new CsiError(method, status.UNAVAILABLE, 'nobody listens on the socket of the plugin');
    return channel;
  }
}

async function pauseUnless(signal: AbortSignal, ms: number, method: string): Promise<void> {
  await pause(ms, undefined, { signal }).catch(() => {
    throw cancelled(method);
  });
}

const cancelled = (method: string): CsiError => new CsiError(method, status.CANCELLED, 'nobody waits for it any more');

const exists = (file: string): Promise<boolean> =>
  access(file).then(
    () => true,
    () => false,
  );
