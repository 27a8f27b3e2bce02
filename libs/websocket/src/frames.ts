/** Kinds of frames (RFC 6455, 5.2). */
export const OPCODE = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

/** Why a connection is closed (RFC 6455, 7.4.1). `none`: nobody said why, which is never sent. */
export const CLOSE = { normal: 1000, protocol: 1002, none: 1005, policy: 1008, tooBig: 1009, internal: 1011 } as const;

/** Of a control frame; also how long a close reason may be, with its two bytes of code. */
const MAX_CONTROL_BYTES = 125;
const MASK_BYTES = 4;

/** Which end of a connection: a client masks what it sends, a server does not (RFC 6455, 5.1). */
export type WebSocketRole = 'client' | 'server';

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

/** Cuts what the other end sends into frames. Memory: one unfinished frame. */
export class FrameReader {
  private rest: Buffer = Buffer.alloc(0);

  /** @param sender who sends what is read @param maxBytes of one frame */
  constructor(
    private readonly sender: WebSocketRole,
    private readonly maxBytes: number,
  ) {}

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
    const isMasked = (second & 0x80) !== 0;
    if (isMasked !== (this.sender === 'client'))
      throw new WebSocketProtocolError(
        CLOSE.protocol,
        `a frame of a ${this.sender} is ${isMasked ? 'masked' : 'not masked'}`,
      );
    const short = second & 0x7f;
    const opcode = first & 0x0f;
    const final = (first & 0x80) !== 0;
    if (opcode >= OPCODE.close && (short > MAX_CONTROL_BYTES || !final))
      throw new WebSocketProtocolError(CLOSE.protocol, 'a control frame is too long, or in pieces');
    const lengthBytes = short === 126 ? 2 : short === 127 ? 8 : 0;
    const head = 2 + lengthBytes + (isMasked ? MASK_BYTES : 0);
    if (rest.length < head) return null;
    const length =
      lengthBytes === 2 ? rest.readUInt16BE(2) : lengthBytes === 8 ? Number(rest.readBigUInt64BE(2)) : short;
    if (length > this.maxBytes) throw new WebSocketProtocolError(CLOSE.tooBig, 'message too big');
    if (rest.length < head + length) return null;
    const bytes = rest.subarray(head, head + length);
    const payload = isMasked ? withMask(bytes, rest.subarray(head - MASK_BYTES, head)) : Buffer.from(bytes);
    this.rest = rest.subarray(head + length);
    return { final, opcode, payload };
  }
}

/** A whole message in one frame. @param mask four random bytes, which a client has to give and a server must not */
export function frame(opcode: number, payload: Buffer, mask?: Buffer): Buffer {
  const { length } = payload;
  const masked = mask ? 0x80 : 0;
  const head =
    length <= MAX_CONTROL_BYTES
      ? Buffer.from([0x80 | opcode, masked | length])
      : length <= 0xffff
        ? Buffer.from([0x80 | opcode, masked | 126, length >> 8, length & 0xff])
        : Buffer.concat([Buffer.from([0x80 | opcode, masked | 127]), bigEndian(length)]);
  return Buffer.concat(mask ? [head, mask, withMask(payload, mask)] : [head, payload]);
}

/** What a close frame says; reasons are cut at whole characters to what a control frame can hold. */
export function closePayload(code: number, reason: string): Buffer {
  let text = Buffer.from(reason);
  if (text.length > MAX_CONTROL_BYTES - 2) {
    let end = MAX_CONTROL_BYTES - 2;
    while (end > 0 && ((text[end] ?? 0) & 0xc0) === 0x80) end--;
    text = text.subarray(0, end);
  }
  return Buffer.concat([Buffer.from([code >> 8, code & 0xff]), text]);
}

/** How a connection was ended. */
export interface Closing {
  readonly code: number;
  readonly reason: string;
}

export const closingOf = (payload: Buffer): Closing =>
  payload.length < 2
    ? { code: CLOSE.none, reason: '' }
    : { code: payload.readUInt16BE(0), reason: payload.subarray(2).toString('utf8') };

function withMask(bytes: Buffer, mask: Buffer): Buffer {
  const found = Buffer.from(bytes);
  for (let at = 0; at < found.length; at++) found[at] = (found[at] ?? 0) ^ (mask[at % MASK_BYTES] ?? 0);
  return found;
}

function bigEndian(length: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(length));
  return bytes;
}
