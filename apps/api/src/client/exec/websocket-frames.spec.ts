import { describe, expect, it } from 'vitest';
import { acceptKey, CLOSE, closeFrame, frame, FrameReader, MAX_MESSAGE_BYTES, OPCODE } from './websocket-frames.js';

/** As a client sends it. */
function masked(firstByte: number, payload: Buffer, mask = Buffer.from([1, 2, 3, 4])): Buffer {
  const head = frame(0, payload);
  head[0] = firstByte;
  const at = head.length - payload.length;
  head[1] = head.readUInt8(1) | 0x80;
  return Buffer.concat([head.subarray(0, at), mask, payload.map((byte, n) => byte ^ mask[n % 4]!)]);
}

const codeOf = (bytes: Buffer): unknown => {
  try {
    return [...new FrameReader().read(bytes)];
  } catch (error) {
    return (error as { code?: number }).code;
  }
};

describe('frames of a WebSocket', () => {
  it('the key is answered as the protocol says', () => {
    expect(acceptKey('dGhlIHNhbXBsZSBub25jZQ==')).toBe('s3pPLMBiTxaQ9kYGzzhZRbK+xOo=');
  });

  it.each([0, 1, 125, 126, 65_535, 65_536, MAX_MESSAGE_BYTES])('%i bytes, however they arrive', (length) => {
    const payload = Buffer.alloc(length, 'ab');
    const bytes = Buffer.concat([masked(0x81, payload), masked(0x89, Buffer.from('?'))]);
    for (const size of [1_000_000, 7_001]) {
      const reader = new FrameReader();
      const found = [];
      for (let at = 0; at < bytes.length; at += size) found.push(...reader.read(bytes.subarray(at, at + size)));
      expect(found).toEqual([
        { final: true, opcode: OPCODE.text, payload },
        { final: true, opcode: OPCODE.ping, payload: Buffer.from('?') },
      ]);
    }
  });

  it.each([
    ['not masked', frame(OPCODE.text, Buffer.from('x')), CLOSE.protocol],
    ['of an extension', masked(0xc1, Buffer.from('x')), CLOSE.protocol],
    ['a control frame in pieces', masked(0x09, Buffer.from('x')), CLOSE.protocol],
    ['a long control frame', masked(0x89, Buffer.alloc(126)), CLOSE.protocol],
    ['too big', masked(0x81, Buffer.alloc(MAX_MESSAGE_BYTES + 1)).subarray(0, 20), CLOSE.tooBig],
  ])('%s is refused', (_what, bytes, code) => {
    expect(codeOf(bytes)).toBe(code);
  });

  it('a reason that is too long is cut between characters', () => {
    const bytes = closeFrame(CLOSE.internal, 'é'.repeat(200));
    expect(bytes.readUInt16BE(2)).toBe(1011);
    expect(bytes.subarray(4).toString()).toBe('é'.repeat(61));
  });
});
