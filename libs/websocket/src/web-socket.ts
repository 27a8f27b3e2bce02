import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { createWebSocketStream, WebSocketServer, type ClientOptions, WebSocket as Connection } from 'ws';

/** Codes with which a WebSocket is closed (RFC 6455, 7.4.1). */
export const CLOSE = {
  normal: 1000,
  unsupported: 1003,
  none: 1005,
  broken: 1006,
  policy: 1008,
  internal: 1011,
} as const;

/** A peer that was told goodbye and does not close is cut off after this. */
const GOODBYE_MS = 2_000;

/** What a close frame has room for beside its code, in bytes of UTF-8 (RFC 6455, 5.5). */
const MAX_REASON_BYTES = 123;

/** How the other end closed the connection. */
export interface Closing {
  readonly code: number;
  readonly reason: string;
}

export interface WebSocketOptions {
  /** The longest message that is taken, in bytes. */
  readonly maxMessageBytes: number;
  /** How often a quiet peer is asked whether it is still there; not at all if not given. */
  readonly pingMs?: number;
}

/** A server's answer to a handshake; `answer` is the HTTP answer of a server that refuses. */
export type Opened =
  | { readonly kind: 'open'; readonly socket: WebSocket }
  | { readonly kind: 'refused'; readonly answer: IncomingMessage };

/** No compression: messages are short or already compressed, and compression costs memory for each connection. */
const transport = ({ maxMessageBytes }: WebSocketOptions) =>
  ({ maxPayload: maxMessageBytes, perMessageDeflate: false, closeTimeout: GOODBYE_MS }) as const;

/** A client's request to change the protocol, as the event `upgrade` of `node:http` has it. */
export interface Upgrade {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
}

/**
 * One end of an open WebSocket (RFC 6455, by the library `ws`). Modes: open → closed, by either side. Text messages only.
 *
 * Back-pressure holds both ways: the connection is read only while a message is awaited, and `send` waits while the peer
 * does not read. Memory: the messages of one chunk from the connection, and the text of one `send`.
 */
export class WebSocket {
  private readonly stream: Duplex;
  private readonly pings: NodeJS.Timeout | undefined;
  private readonly left = new AbortController();
  private readonly ended: Promise<void>;
  private readonly incoming = this.readMessages();
  private heard: Closing = { code: CLOSE.none, reason: 'the connection broke off' };

  private constructor(
    private readonly connection: Connection,
    { pingMs }: WebSocketOptions,
  ) {
    this.stream = createWebSocketStream(connection, {
      readableObjectMode: true,
      readableHighWaterMark: 1,
      decodeStrings: false,
    });
    this.stream.on('error', () => {}); // the connection ends with it, and says why
    connection.on('error', ({ message }) => (this.heard = { code: CLOSE.broken, reason: message }));
    this.ended = new Promise((resolve) => {
      connection.on('close', (code, reason) => {
        this.gone(code, reason.toString());
        resolve();
      });
    });
    if (pingMs !== undefined) this.pings = setInterval(() => connection.ping(), pingMs);
  }

  /** Answers the handshake of a client. A request that is no valid handshake is refused by the library. */
  static accept(
    { request, socket, head }: Upgrade,
    options: WebSocketOptions,
    accepted: (peer: WebSocket) => void,
  ): void {
    const server = new WebSocketServer({ noServer: true, clientTracking: false, ...transport(options) });
    server.handleUpgrade(request, socket, head, (connection) => accepted(new WebSocket(connection, options)));
  }

  /**
   * Asks a server for a WebSocket.
   * @param url of the schemes http and https
   * @param options of the request, as `node:http` takes them
   * @throws what the connection fails with
   */
  static open(url: URL, options: WebSocketOptions & ClientOptions): Promise<Opened> {
    const connection = new Connection(url, { ...options, ...transport(options) });
    return new Promise((resolve, reject) => {
      connection.once('unexpected-response', (_, answer) => resolve({ kind: 'refused', answer }));
      connection.once('open', () => resolve({ kind: 'open', socket: new WebSocket(connection, options) }));
      connection.once('error', reject);
    });
  }

  /** Aborted when the peer has left, or was sent away. */
  get closed(): AbortSignal {
    return this.left.signal;
  }

  /** How the peer ended it; as long as it did not, as if it had broken off. */
  get closing(): Closing {
    return this.heard;
  }

  /** The next message, or "" when the peer has left. The ones after it are given by `messages` as if it were the first. */
  async first(): Promise<string> {
    const { value } = await this.incoming.next();
    return value ?? '';
  }

  /** Ends when the connection has ended, so that `closing` is final. A peer that breaks the protocol is told so. */
  messages(): AsyncIterable<string> {
    return this.incoming;
  }

  /** Resolves when there is room for more, or when the connection has ended. */
  send(text: string): Promise<void> {
    if (this.connection.readyState !== Connection.OPEN) return this.ended;
    return new Promise((resolve) => void this.stream.write(text, () => resolve()));
  }

  /**
   * After all that was sent.
   * @param reason any text: it is cut after its last whole character within MAX_REASON_BYTES
   */
  close(code: number, reason: string): void {
    const { read } = new TextEncoder().encodeInto(reason, new Uint8Array(MAX_REASON_BYTES));
    this.connection.close(code, reason.slice(0, read));
    this.left.abort();
  }

  /** Ends the connection at once, and drops what is still to be sent. */
  destroy(): void {
    this.connection.terminate();
  }

  private async *readMessages(): AsyncGenerator<string, undefined> {
    try {
      // A caller that stops reading may still send.
      for await (const message of this.stream.iterator({ destroyOnReturn: false }) as AsyncIterable<unknown>) {
        if (typeof message !== 'string') break;
        yield message;
      }
      if (!this.closed.aborted) this.connection.close(CLOSE.unsupported, 'messages are text');
    } catch {
      // The reason is in `closing`, once the connection has ended.
    }
    await this.ended;
    return undefined;
  }

  private gone(code: number, reason: string): void {
    clearInterval(this.pings);
    if (code !== CLOSE.broken) this.heard = { code, reason };
    this.left.abort();
  }
}
