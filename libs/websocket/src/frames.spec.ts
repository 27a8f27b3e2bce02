import { describe, expect, it } from 'vitest';
import { CLOSE, closePayload, closingOf, frame, FrameReader, OPCODE, type WebSocketRole } from './frames.js';
import { acceptKey } from './handshake.js';

const MAX_BYTES = 256 * 1024;
const MASK = Buffer.from([1, 2, 3, 4]);

/** As that end sends it. */
const sent = (by: WebSocketRole, opcode: number, payload: Buffer): Buffer =>
  frame(opcode, payload, by === 'client' ? MASK : undefined);

/** As a client sends it, with another first byte. */
function masked(firstByte: number, payload: Buffer): Buffer {
  const bytes = frame(0, payload, MASK);
  bytes[0] = firstByte;
  return bytes;
}

const codeOf = (sender: WebSocketRole, bytes: Buffer): unknown => {
  try {
    return [...new FrameReader(sender, MAX_BYTES).read(bytes)];
  } catch (error) {
    return (error as { code?: number }).code;
  }
};

describe('frames of a WebSocket', () => {
  it('the key is answered as the protocol says', () => {
    expect(acceptKey('dGhlIHNhbXBsZSBub25jZQ==')).toBe('s3pPLMBiTxaQ9kYGzzhZRbK+xOo=');
  });

  it('the examples of the protocol: a masked and an unmasked text', () => {
    const mask = Buffer.from([0x37, 0xfa, 0x21, 0x3d]);
    expect(frame(OPCODE.text, Buffer.from('Hello'), mask).toString('hex')).toBe('818537fa213d7f9f4d5158');
    expect(frame(OPCODE.text, Buffer.from('Hello')).toString('hex')).toBe('810548656c6c6f');
  });

  it.each(['client', 'server'] as const)('frames of a %s of any length, however they arrive', (by) => {
    for (const length of [0, 1, 125, 126, 65_535, 65_536, MAX_BYTES]) {
      const payload = Buffer.alloc(length, 'ab');
      const bytes = Buffer.concat([sent(by, OPCODE.text, payload), sent(by, OPCODE.ping, Buffer.from('?'))]);
      for (const size of [1_000_000, 7_001]) {
        const reader = new FrameReader(by, MAX_BYTES);
        const found = [];
        for (let at = 0; at < bytes.length; at += size) found.push(...reader.read(bytes.subarray(at, at + size)));
        const [text, ping] = found;
        expect(found.map(({ final, opcode }) => [final, opcode])).toEqual([
          [true, OPCODE.text],
          [true, OPCODE.ping],
        ]);
        expect([text?.payload.equals(payload), ping?.payload.toString()]).toEqual([true, '?']);
      }
    }
  });

  it.each([
    ['not masked, by a client', 'client', frame(OPCODE.text, Buffer.from('x')), CLOSE.protocol],
    ['masked, by a server', 'server', frame(OPCODE.text, Buffer.from('x'), MASK), CLOSE.protocol],
    ['of an extension', 'client', masked(0xc1, Buffer.from('x')), CLOSE.protocol],
    ['a control frame in pieces', 'client', masked(0x09, Buffer.from('x')), CLOSE.protocol],
    ['a long control frame', 'client', masked(0x89, Buffer.alloc(126)), CLOSE.protocol],
    ['too big', 'client', masked(0x81, Buffer.alloc(MAX_BYTES + 1)).subarray(0, 20), CLOSE.tooBig],
  ] as const)('%s is refused', (_what, sender, bytes, code) => {
    expect(codeOf(sender, bytes)).toBe(code);
  });

  it('a reason that is too long is cut between characters, and is read as it is sent', () => {
    const payload = closePayload(CLOSE.internal, 'é'.repeat(200));
    expect(closingOf(payload)).toEqual({ code: 1011, reason: 'é'.repeat(61) });
    expect(closingOf(Buffer.alloc(0))).toEqual({ code: 1005, reason: '' });
  });
});
