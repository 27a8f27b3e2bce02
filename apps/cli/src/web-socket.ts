import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import { CommandFailure } from './failure.js';

const TEXT = 1;
const CLOSE = 8;
const PING = 9;
const PONG = 10;
const FINAL = 0x80;
const MASKED = 0x80;
const NORMAL_CLOSURE = 1000;
/** Of one message; output comes in pieces of some tens of kilobytes. */
const MAX_MESSAGE_BYTES = 4 << 20;

/** How the other side ended it: 1000 is a normal end, 1005 none of the ends there are. */
export interface Closed {
  readonly code: number;
  readonly reason: string;
}
const NO_GOODBYE: Closed = { code: 1005, reason: 'the connection broke off' };

/** The headers that ask for a WebSocket. */
export const upgradeHeaders = (): Record<string, string> => ({
  Connection: 'Upgrade',
  Upgrade: 'websocket',
  'Sec-WebSocket-Version': '13',
  'Sec-WebSocket-Key': randomBytes(16).toString('base64'),
});

/**
 * The client's side of one WebSocket with text messages, over a connection that has been upgraded. open → closed, by
 * either side. `send` waits while the server does not read.
 */
export class WebSocket {
  private ended: Closed | undefined;

  /** @param head what came behind the handshake already */
  constructor(
    private readonly socket: Duplex,
    head: Buffer,
  ) {
    if (head.length > 0) socket.unshift(head);
    socket.on('error', () => undefined); // its end tells it
  }

  /** How it ended; before that, as if it had broken off. */
  get closed(): Closed {
    return this.ended ?? NO_GOODBYE;
  }

  /** Resolves when there is room for more, or nobody to read it. */
  async send(text: string): Promise<void> {
    if (!this.socket.writable || this.write(TEXT, Buffer.from(text))) return;
    await Promise.race([once(this.socket, 'drain'), once(this.socket, 'close')]).catch(() => undefined);
  }

  close(): void {
    const code = Buffer.alloc(2);
    code.writeUInt16BE(NORMAL_CLOSURE);
    if (this.socket.writable) this.write(CLOSE, code);
    this.socket.destroy();
  }

  /** All messages until either side closes. @throws CommandFailure when the server breaks the protocol */
  async *messages(): AsyncGenerator<string> {
    let held = Buffer.alloc(0);
    let parts: Buffer[] = [];
    try {
      for await (const chunk of this.socket as AsyncIterable<Buffer>) {
        held = Buffer.concat([held, chunk]);
        for (let frame = firstFrame(held); frame; frame = firstFrame(held)) {
          held = held.subarray(frame.length);
          if (frame.opcode === CLOSE) {
            this.ended = closedBy(frame.payload);
            this.close();
            return;
          }
          if (frame.opcode === PING) this.write(PONG, frame.payload);
          if (frame.opcode >= CLOSE) continue;
          parts.push(frame.payload);
          if (!frame.final) continue;
          yield Buffer.concat(parts).toString('utf8');
          parts = [];
        }
      }
    } catch (error) {
      if (error instanceof CommandFailure) throw error;
      // Broken off: `closed` says so.
    }
  }

  /** Clients mask what they send. */
  private write(opcode: number, payload: Buffer): boolean {
    const mask = randomBytes(4);
    const masked = Buffer.from(payload.map((byte, at) => byte ^ (mask[at % 4] ?? 0)));
    return this.socket.write(Buffer.concat([header(opcode, payload.length), mask, masked]));
  }
}

function header(opcode: number, length: number): Buffer {
  if (length < 126) return Buffer.from([FINAL | opcode, MASKED | length]);
  const long = Buffer.alloc(length < 65_536 ? 4 : 10);
  long[0] = FINAL | opcode;
  long[1] = MASKED | (length < 65_536 ? 126 : 127);
  if (length < 65_536) long.writeUInt16BE(length, 2);
  else long.writeBigUInt64BE(BigInt(length), 2);
  return long;
}

interface Frame {
  readonly opcode: number;
  readonly final: boolean;
  readonly payload: Buffer;
  /** Of the whole frame, in bytes. */
  readonly length: number;
}

/** Undefined: it is not whole yet. @throws CommandFailure */
function firstFrame(bytes: Buffer): Frame | undefined {
  const [first = 0, second = 0] = bytes;
  const short = second & 0x7f;
  const start = short === 126 ? 4 : short === 127 ? 10 : 2;
  if (bytes.length < start) return undefined;
  const size = short === 126 ? bytes.readUInt16BE(2) : short === 127 ? Number(bytes.readBigUInt64BE(2)) : short;
  if (size > MAX_MESSAGE_BYTES) throw new CommandFailure('the server sent a message that is too long');
  if (bytes.length < start + size) return undefined;
  const payload = bytes.subarray(start, start + size);
  return { opcode: first & 0x0f, final: (first & FINAL) !== 0, payload, length: start + size };
}

const closedBy = (payload: Buffer): Closed =>
  payload.length < 2 ? NO_GOODBYE : { code: payload.readUInt16BE(0), reason: payload.subarray(2).toString('utf8') };
