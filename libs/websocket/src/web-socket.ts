import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import {
  CLOSE,
  closePayload,
  type Closing,
  closingOf,
  frame,
  FrameReader,
  OPCODE,
  WebSocketProtocolError,
  type WebSocketRole,
} from './frames.js';

/** Who was told goodbye and does not close is cut off after this. */
const GOODBYE_MS = 2_000;

export interface WebSocketOptions {
  /** Which end this is. */
  readonly role: WebSocketRole;
  /** The longest message that is taken, in bytes. */
  readonly maxMessageBytes: number;
  /** How often a quiet peer is asked whether it is still there; not at all if not given. */
  readonly pingMs?: number;
}

/**
 * One end of a WebSocket, over a connection whose handshake is done. open → closed, by either side. Text messages only, no
 * extensions.
 *
 * Nothing is read while nobody asks for a message, and `send` waits while the peer does not read: both sides are held up
 * by each other. Memory: one message in, what one `send` is given out.
 */
export class WebSocket {
  private readonly frames: FrameReader;
  private readonly pings: NodeJS.Timeout | undefined;
  private readonly left = new AbortController();
  private readonly incoming = this.read();
  private isClosing = false;
  private heard: Closing = { code: CLOSE.none, reason: 'the connection broke off' };

  /** @param head what came behind the handshake already */
  constructor(
    private readonly socket: Duplex,
    head: Buffer,
    private readonly options: WebSocketOptions,
  ) {
    this.frames = new FrameReader(options.role === 'client' ? 'server' : 'client', options.maxMessageBytes);
    if (head.length > 0) socket.unshift(head);
    socket.on('error', () => {}); // its close tells it
    socket.once('close', () => this.gone());
    if (options.pingMs !== undefined)
      this.pings = setInterval(() => this.write(OPCODE.ping, Buffer.alloc(0)), options.pingMs);
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

  /** Until either side closes. A peer that breaks the protocol is told so, and that ends it. */
  messages(): AsyncIterable<string> {
    return this.incoming;
  }

  /** Resolves when there is room for more, or nobody to read it. */
  async send(text: string): Promise<void> {
    if (this.write(OPCODE.text, Buffer.from(text))) return;
    await once(this.socket, 'drain', { signal: this.closed }).catch(() => {});
  }

  /** After all that was sent. */
  close(code: number, reason: string): void {
    if (this.isClosing) return;
    this.write(OPCODE.close, closePayload(code, reason));
    this.isClosing = true;
    this.gone();
    this.socket.end();
    setTimeout(() => this.socket.destroy(), GOODBYE_MS).unref();
  }

  /** At once, whatever is still to be sent. */
  destroy(): void {
    this.socket.destroy();
  }

  private async *read(): AsyncGenerator<string, undefined> {
    let parts: Buffer[] | null = null;
    try {
      // Whoever stops listening may still have something to say.
      for await (const chunk of this.socket.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
        for (const { opcode, payload, final } of this.frames.read(chunk)) {
          if (opcode === OPCODE.close) {
            this.heard = closingOf(payload);
            this.close(CLOSE.normal, '');
            return;
          }
          if (opcode === OPCODE.ping) this.write(OPCODE.pong, payload);
          if (opcode >= OPCODE.close) continue;
          parts = this.nextParts(parts, opcode, payload);
          if (!final) continue;
          const message = Buffer.concat(parts).toString('utf8');
          parts = null;
          yield message;
        }
      }
      this.gone();
      this.socket.destroy(); // half open it would stay for ever: nobody writes to a peer that has left
    } catch (error) {
      if (!(error instanceof WebSocketProtocolError)) return;
      this.heard = { code: error.code, reason: error.message };
      this.close(error.code, error.message);
    }
  }

  /** @throws WebSocketProtocolError */
  private nextParts(parts: Buffer[] | null, opcode: number, payload: Buffer): Buffer[] {
    if (opcode === OPCODE.binary) throw new WebSocketProtocolError(CLOSE.protocol, 'messages are text');
    if ((opcode === OPCODE.continuation) !== (parts !== null))
      throw new WebSocketProtocolError(CLOSE.protocol, 'a message is in pieces that do not belong together');
    const all = [...(parts ?? []), payload];
    if (all.reduce((sum, part) => sum + part.length, 0) > this.options.maxMessageBytes)
      throw new WebSocketProtocolError(CLOSE.tooBig, 'message too big');
    return all;
  }

  private write(opcode: number, payload: Buffer): boolean {
    if (this.isClosing || !this.socket.writable) return true;
    return this.socket.write(frame(opcode, payload, this.options.role === 'client' ? randomBytes(4) : undefined));
  }

  private gone(): void {
    clearInterval(this.pings);
    this.left.abort();
  }
}
