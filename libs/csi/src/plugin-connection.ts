import { access } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { Client, connectivityState, credentials, Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { CsiError, isTransient } from './errors.js';
import { type CsiService, csiMethod } from './schema.js';
import { checkedSocketPath } from './socket-path.js';

/** VL-249. A try may take all of it: whoever gives up earlier and repeats only meets ABORTED at a slow plugin (CW-14). */
export const CALL_TIMEOUT_MS = 120_000;
/** VL-250. */
export const MAX_TRIES = 3;
const FIRST_BACKOFF_MS = 100;
/** VL-248. */
export const DIAL_TIMEOUT_MS = 1_000;
/** A socket that is not there yet is looked for after this, doubled up to the limit (VL-248). */
const FIRST_SOCKET_POLL_MS = 200;
const MAX_SOCKET_POLL_MS = 5_000;

export interface CallOptions {
  /** For the call with all its tries; default CALL_TIMEOUT_MS. */
  readonly timeoutMs?: number;
  /** For one try; default: what is left. */
  readonly tryTimeoutMs?: number;
  /** Default MAX_TRIES. */
  readonly tries?: number;
  /** Ends the wait; the plugin's work goes on (CW-14). */
  readonly signal?: AbortSignal;
}

/**
 * The connection to one plugin, over the Unix socket that it listens on (CW-2, CW-28).
 *
 * unopened → open → closed. unopened: nothing is dialled before the first call, which waits for the socket to appear
 * within its deadline. open: one channel, which finds a restarted plugin at the same path by itself (CW-4). closed: calls
 * in flight end as cancelled.
 * Limits: CALL_TIMEOUT_MS, MAX_TRIES, DIAL_TIMEOUT_MS. Cost: one socket.
 */
export class PluginConnection {
  private client: Client | undefined;
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
        const client = await this.reached(method, deadlineMs, signal);
        return await unary<Answer>(
          client,
          service,
          method,
          request,
          Math.min(deadlineMs, Date.now() + tryTimeoutMs),
          signal,
        );
      } catch (error) {
        const waitMs = FIRST_BACKOFF_MS * 2 ** (attempt - 1);
        if (!isTransient(error) || attempt >= tries || Date.now() + waitMs >= deadlineMs) throw error;
        await pauseUnless(signal, waitMs, method);
      }
    }
  }

  close(): void {
    this.closing.abort();
    this.client?.close();
  }

  /** @throws CsiError nobody listens there */
  private async reached(method: string, deadlineMs: number, signal: AbortSignal): Promise<Client> {
    if (this.client?.getChannel().getConnectivityState(false) === connectivityState.READY) return this.client;
    for (
      let waitMs = FIRST_SOCKET_POLL_MS;
      !(await exists(this.socketPath));
      waitMs = Math.min(waitMs * 2, MAX_SOCKET_POLL_MS)
    ) {
      const leftMs = deadlineMs - Date.now();
      if (leftMs <= 0) throw new CsiError(method, status.UNAVAILABLE, 'the plugin has made no socket yet');
      await pauseUnless(signal, Math.min(waitMs, leftMs), method);
    }
    if (signal.aborted) throw cancelled(method);
    const client = (this.client ??= dialled(this.socketPath));
    await new Promise<void>((resolve, reject) => {
      client.waitForReady(Math.min(deadlineMs, Date.now() + DIAL_TIMEOUT_MS), (error) => {
        if (error) reject(new CsiError(method, status.UNAVAILABLE, 'nobody listens on the socket of the plugin'));
        else resolve();
      });
    });
    return client;
  }
}

function dialled(socketPath: string): Client {
  return new Client(`unix:${socketPath}`, credentials.createInsecure(), {
    'grpc.default_authority': 'localhost',
    'grpc.enable_http_proxy': 0,
    'grpc.initial_reconnect_backoff_ms': FIRST_BACKOFF_MS,
    'grpc.max_reconnect_backoff_ms': MAX_SOCKET_POLL_MS,
  });
}

function unary<Answer>(
  client: Client,
  service: CsiService,
  method: string,
  request: object,
  deadlineMs: number,
  signal: AbortSignal,
): Promise<Answer> {
  const { path, requestSerialize, responseDeserialize } = csiMethod(service, method);
  return new Promise((resolve, reject) => {
    const settled = (error: ServiceError | null, answer?: object): void => {
      signal.removeEventListener('abort', cancel);
      if (error) reject(new CsiError(method, error.code, error.details));
      else resolve(answer as Answer); // the schema says so
    };
    const call = client.makeUnaryRequest(
      path,
      requestSerialize,
      responseDeserialize,
      request,
      new Metadata(),
      { deadline: deadlineMs },
      settled,
    );
    const cancel = (): void => call.cancel();
    signal.addEventListener('abort', cancel, { once: true });
    if (signal.aborted) cancel();
  });
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
