import { createHash } from 'node:crypto';

/** Kinds of frames (RFC 6455, 5.2). */
export const OPCODE = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

/** Why a connection is closed (RFC 6455, 7.4.1). */
export const CLOSE = { normal: 1000, protocol: 1002, policy: 1008, tooBig: 1009, internal: 1011 } as const;

/** What a client may send in one message: stdin in pieces, as base64 in JSON. */
export const MAX_MESSAGE_BYTES = 256 * 1024;
/** Of a control frame; also how long a close reason may be, with its two bytes of code. */
const MAX_CONTROL_BYTES = 125;

/** The peer does not speak the protocol, or says too much. */
export class WebSocketProtocolError extends Error {
  override readonly name = 'WebSocketProtocolError';
  constructor(
    readonly code: number,
    message: string,
  ) {
    super(message);
  }
}

export interface Frame {
  readonly final: boolean;
  readonly opcode: number;
  readonly payload: Buffer;
}

/** What a server answers to a client's key (RFC 6455, 4.2.2). */
export const acceptKey = (key: string): string =>
  createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');

/** Cuts what a client sends into frames. Memory: one unfinished frame. */
export class FrameReader {
  private rest: Buffer = Buffer.alloc(0);

  /** @throws WebSocketProtocolError */
  *read(chunk: Buffer): Generator<Frame> {
    this.rest = this.rest.length === 0 ? chunk : Buffer.concat([this.rest, chunk]);
    for (let next = this.next(); next; next = this.next()) yield next;
  }

  private next(): Frame | null {
    const { rest } = this;
    if (rest.length < 2) return null;
    const [first, second] = [rest.readUInt8(0), rest.readUInt8(1)];
    if ((first & 0x70) !== 0) throw new WebSocketProtocolError(CLOSE.protocol, 'an extension that was not agreed on');
    if ((second & 0x80) === 0) throw new WebSocketProtocolError(CLOSE.protocol, 'a frame of a client is not masked');
    const short = second & 0x7f;
    const opcode = first & 0x0f;
    const final = (first & 0x80) !== 0;
    if (opcode >= OPCODE.close && (short > MAX_CONTROL_BYTES || !final))
      throw new WebSocketProtocolError(CLOSE.protocol, 'a control frame is too long, or in pieces');
    const lengthBytes = short === 126 ? 2 : short === 127 ? 8 : 0;
    const head = 2 + lengthBytes + 4;
    if (rest.length < head) return null;
    const length =
      lengthBytes === 2 ? rest.readUInt16BE(2) : lengthBytes === 8 ? Number(rest.readBigUInt64BE(2)) : short;
    if (length > MAX_MESSAGE_BYTES) throw new WebSocketProtocolError(CLOSE.tooBig, 'message too big');
    if (rest.length < head + length) return null;
    const mask = rest.subarray(head - 4, head);
    const payload = Buffer.from(rest.subarray(head, head + length));
    for (let at = 0; at < length; at++) payload[at] = (payload[at] ?? 0) ^ (mask[at % 4] ?? 0);
    this.rest = rest.subarray(head + length);
    return { final, opcode, payload };
  }
}

/** A frame of a server, which is not masked. */
export function frame(opcode: number, payload: Buffer): Buffer {
  const { length } = payload;
  const head =
    length <= MAX_CONTROL_BYTES
      ? Buffer.from([0x80 | opcode, length])
      : length <= 0xffff
        ? Buffer.from([0x80 | opcode, 126, length >> 8, length & 0xff])
        : Buffer.concat([Buffer.from([0x80 | opcode, 127]), bigEndian(length)]);
  return Buffer.concat([head, payload]);
}

/** Reasons are cut at whole characters to what a control frame can hold. */
export function closeFrame(code: number, reason: string): Buffer {
  const head = Buffer.from([code >> 8, code & 0xff]);
  let text = Buffer.from(reason);
  if (text.length > MAX_CONTROL_BYTES - 2) {
    let end = MAX_CONTROL_BYTES - 2;
    while (end > 0 && ((text[end] ?? 0) & 0xc0) === 0x80) end--;
    text = text.subarray(0, end);
  }
  return frame(OPCODE.close, Buffer.concat([head, text]));
}

function bigEndian(length: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(length));
  return bytes;
}
