import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import {
  acceptKey,
  CLOSE,
  closeFrame,
  frame,
  FrameReader,
  MAX_MESSAGE_BYTES,
  OPCODE,
  WebSocketProtocolError,
} from './websocket-frames.js';

/** A client that is not there any more is noticed by this; it answers by itself. */
const PING_MS = 10_000;
/** Who was told goodbye and does not close is cut off after this. */
const GOODBYE_MS = 2_000;

/** The text to answer a request with that is no handshake; null: it is one. */
export function handshakeProblem({ headers, method }: IncomingMessage): string | null {
  if (method !== 'GET') return 'a WebSocket begins with GET';
  if (headers['sec-websocket-version'] !== '13') return 'only version 13 of WebSocket is spoken here';
  const key = headers['sec-websocket-key'];
  return key !== undefined && Buffer.from(key, 'base64').length === 16 ? null : 'the key of the WebSocket is missing';
}

/**
 * The server's side of one WebSocket. open → closed, by either side. Text messages only, no extensions.
 *
 * Nothing is read while nobody asks for a message, and `send` waits while the client does not read: both sides are held
 * up by each other. Limits: MAX_MESSAGE_BYTES in, what one `send` is given out.
 */
export class WebSocketPeer {
  private readonly frames = new FrameReader();
  private readonly pings: NodeJS.Timeout;
  private isClosing = false;
  private readonly left = new AbortController();
  private readonly incoming = this.read();

  /** Answers the handshake. @param head what came behind it already */
  constructor(
    request: IncomingMessage,
    private readonly socket: Duplex,
    head: Buffer,
  ) {
    if (head.length > 0) socket.unshift(head);
    socket.on('error', () => {}); // its close tells it
    socket.once('close', () => this.gone());
    const accept = acceptKey(request.headers['sec-websocket-key'] ?? '');
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
    );
    this.pings = setInterval(() => this.write(frame(OPCODE.ping, Buffer.alloc(0))), PING_MS);
  }

  /** Aborted when the client has left, or was sent away. */
  get closed(): AbortSignal {
    return this.left.signal;
  }

  /** The next message, or "" when the client has left. The ones after it are given by `messages` as if it were the first. */
  async first(): Promise<string> {
    const { value } = await this.incoming.next();
    return value ?? '';
  }

  messages(): AsyncIterable<string> {
    return this.incoming;
  }

  /** Until the client leaves. A client that breaks the protocol is told so, and that ends it. */
  private async *read(): AsyncGenerator<string, undefined> {
    let parts: Buffer[] | null = null;
    try {
      // Whoever stops listening may still have something to say.
      for await (const chunk of this.socket.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
        for (const { opcode, payload, final } of this.frames.read(chunk)) {
          if (opcode === OPCODE.close) {
            this.close(CLOSE.normal, '');
            return;
          }
          if (opcode === OPCODE.ping) this.write(frame(OPCODE.pong, payload));
          if (opcode >= OPCODE.close) continue;
          parts = nextParts(parts, opcode, payload);
          if (!final) continue;
          const message = Buffer.concat(parts).toString('utf8');
          parts = null;
          yield message;
        }
      }
      this.gone();
    } catch (error) {
      if (error instanceof WebSocketProtocolError) this.close(error.code, error.message);
    }
  }

  /** Resolves when there is room for more, or nobody to read it. */
  async send(text: string): Promise<void> {
    if (this.write(frame(OPCODE.text, Buffer.from(text)))) return;
    await once(this.socket, 'drain', { signal: this.closed }).catch(() => {});
  }

  /** After all that was sent. */
  close(code: number, reason: string): void {
    if (this.isClosing) return;
    this.write(closeFrame(code, reason));
    this.isClosing = true;
    this.gone();
    this.socket.end();
    setTimeout(() => this.socket.destroy(), GOODBYE_MS).unref();
  }

  destroy(): void {
    this.socket.destroy();
  }

  private write(bytes: Buffer): boolean {
    return this.isClosing || !this.socket.writable || this.socket.write(bytes);
  }

  private gone(): void {
    clearInterval(this.pings);
    this.left.abort();
  }
}

/** @throws WebSocketProtocolError */
function nextParts(parts: Buffer[] | null, opcode: number, payload: Buffer): Buffer[] {
  if (opcode === OPCODE.binary) throw new WebSocketProtocolError(CLOSE.protocol, 'messages are text');
  if ((opcode === OPCODE.continuation) !== (parts !== null))
    throw new WebSocketProtocolError(CLOSE.protocol, 'a message is in pieces that do not belong together');
  const all = [...(parts ?? []), payload];
  if (all.reduce((sum, part) => sum + part.length, 0) > MAX_MESSAGE_BYTES)
    throw new WebSocketProtocolError(CLOSE.tooBig, 'message too big');
  return all;
}
