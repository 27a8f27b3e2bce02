import { setMaxListeners } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { PluginError, PluginShutDownError } from './errors.js';
import { type PluginAddress, PluginStartError } from './handshake.js';
import type { PluginCall, PluginChannel, PluginDialogue } from './plugin-channel.js';
import type { PluginService } from './schema.js';
import { status } from './status.js';

/** Longest time for connecting to a plugin that has said where it listens. */
export const DIAL_TIMEOUT_MS = 5_000;
/** Longest wait for the end of a process whose connection broke (PG-12). */
export const EXIT_TIMEOUT_MS = 3_000;
const HEALTH_TIMEOUT_MS = 5_000;
/** The deadline of a call without limit, which is a year. */
const UNLIMITED_MS = 365 * 24 * 3_600_000;

export interface CallLimits {
  /** Absent means unlimited. */
  readonly timeoutMs?: number;
  /** Cancels the call. */
  readonly signal?: AbortSignal;
}

/** Receives the method and the duration in seconds of each call with one answer, also of one that failed. */
export type CallObserver = (method: string, seconds: number) => void;

interface HealthAnswer {
  readonly status: string;
}

interface StdioAnswer {
  readonly channel: string;
  readonly data: Uint8Array;
}

/**
 * The connection to one plugin.
 *
 * open → closed. It closes when the plugin's process ends, which ends all calls under way with PluginShutDownError at
 * once (PG-12), or when the agent closes it. Cost: one socket.
 */
export class PluginConnection {
  private readonly closing = new AbortController();

  private constructor(
    private readonly channel: PluginChannel,
    private readonly exited: Promise<unknown>,
    private readonly observe: CallObserver,
  ) {
    setMaxListeners(0, this.closing.signal); // one per call under way
    void exited.then(() => this.close());
  }

  /**
   * Connects and checks the plugin's health (PG-6).
   * @param exited resolves when the plugin's process has ended
   * @param said receives what the plugin prints after the handshake
   * @param observe receives the duration of each call
   * @throws PluginStartError
   */
  static async open(
    address: PluginAddress,
    exited: Promise<unknown>,
    said: (text: string) => void = () => {},
    observe: CallObserver = () => {},
  ): Promise<PluginConnection> {
    const { PluginChannel: Channel } = await import('./plugin-channel.js');
    const connection = new PluginConnection(new Channel(address), exited, observe);
    try {
      if (!(await connection.channel.ready(Date.now() + DIAL_TIMEOUT_MS)))
        throw new PluginStartError(`nothing listens on ${address.address}`);
      const health = { service: 'health', method: 'Check', request: { service: 'plugin' } } as const;
      const answer = await connection.call<HealthAnswer>(health, { timeoutMs: HEALTH_TIMEOUT_MS });
      if (answer.status !== 'SERVING') throw new PluginStartError(`the plugin is not healthy: ${answer.status}`);
    } catch (error) {
      connection.close();
      throw error;
    }
    void connection.readOutput(said);
    return connection;
  }

  get isClosed(): boolean {
    return this.closing.signal.aborted;
  }

  /** @throws PluginError, PluginShutDownError */
  async call<Answer>(call: PluginCall, { timeoutMs = UNLIMITED_MS, signal }: CallLimits = {}): Promise<Answer> {
    if (this.isClosed) throw new PluginShutDownError();
    const ends = signal ? AbortSignal.any([signal, this.closing.signal]) : this.closing.signal;
    const begunMs = performance.now();
    try {
      return await this.unlessShutDown(this.channel.call<Answer>(call, Date.now() + timeoutMs, ends));
    } finally {
      this.observe(call.method, (performance.now() - begunMs) / 1_000);
    }
  }

  /** Returns the answers as they come. @throws PluginError, PluginShutDownError */
  async *stream<Answer>(call: PluginCall, signal?: AbortSignal): AsyncGenerator<Answer> {
    if (this.isClosed) throw new PluginShutDownError();
    const ends = signal ? AbortSignal.any([signal, this.closing.signal]) : this.closing.signal;
    const answers = this.channel.stream<Answer>(call, ends);
    try {
      for (;;) {
        const next = await this.unlessShutDown(answers.next());
        if (next.done) return;
        yield next.value;
      }
    } finally {
      await answers.return(undefined);
    }
  }

  /**
   * Passes on the answers as they come, undecoded. Resolves when the plugin ends the stream.
   * @throws PluginError, PluginShutDownError
   */
  async listen(call: PluginCall, take: (answer: Uint8Array) => void, signal: AbortSignal): Promise<void> {
    if (this.isClosed) throw new PluginShutDownError();
    await this.unlessShutDown(this.channel.listen(call, take, AbortSignal.any([signal, this.closing.signal])));
  }

  /** @throws PluginShutDownError */
  open<Request, Answer>(service: PluginService, method: string, signal: AbortSignal): PluginDialogue<Request, Answer> {
    if (this.isClosed) throw new PluginShutDownError();
    return this.channel.open(service, method, AbortSignal.any([signal, this.closing.signal]));
  }

  close(): void {
    this.closing.abort();
    this.channel.close();
  }

  /** Replaces the error of a broken connection if the process has ended, too. */
  private async unlessShutDown<T>(settled: Promise<T>): Promise<T> {
    try {
      return await settled;
    } catch (error) {
      if (this.isClosed) throw new PluginShutDownError();
      if (!(error instanceof PluginError) || error.code !== status.UNAVAILABLE) throw error;
      const waiting = new AbortController();
      const late = pause(EXIT_TIMEOUT_MS, 'late', { signal: waiting.signal }).catch(() => 'late');
      const how = await Promise.race([this.exited.then(() => 'exited'), late]);
      waiting.abort();
      throw how === 'exited' ? new PluginShutDownError() : error;
    }
  }

  /** Reads the plugin's own prints to the end, because they would block it otherwise (PG-6). Never rejects. */
  private async readOutput(said: (text: string) => void): Promise<void> {
    try {
      const call = { service: 'stdio', method: 'StreamStdio', request: {} } as const;
      for await (const { data } of this.stream<StdioAnswer>(call)) said(Buffer.from(data).toString());
    } catch {
      // Not every plugin has this service, and it ends with the plugin.
    }
  }
}
