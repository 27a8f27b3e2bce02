// Frames of WebSockets, in whatever pieces they come. The first byte says who sends and how long a piece is.
import { frame, FrameReader, closingOf, OPCODE, WebSocketProtocolError } from '../../../libs/websocket/dist/frames.js';
import { declaring, same, timed } from '../harness.mjs';

const LONGEST = 4_096;

export const fuzz = timed((data) => {
  const [first = 0] = data;
  const sender = (first & 1) === 1 ? 'client' : 'server';
  const whole = framesOf(sender, data.subarray(1), data.length);
  same('the same bytes in pieces', framesOf(sender, data.subarray(1), 1 + (first >> 1)), whole);
  const [mask, payload] = [Buffer.from(data.subarray(0, 4)), Buffer.from(data.subarray(0, LONGEST))];
  if (mask.length < 4) return;
  const written = frame(OPCODE.binary, payload, sender === 'client' ? mask : undefined);
  same('what was framed', framesOf(sender, written, written.length), [{ final: true, opcode: OPCODE.binary, payload }]);
});

/** @param {'client' | 'server'} sender @param {Buffer} bytes @param {number} piece */
function framesOf(sender, bytes, piece) {
  const reader = new FrameReader(sender, LONGEST);
  /** @type {object[]} */
  const frames = [];
  declaring([WebSocketProtocolError], () => {
    for (let at = 0; at < bytes.length; at += piece)
      for (const one of reader.read(Buffer.from(bytes.subarray(at, at + piece)))) {
        frames.push(one);
        if (one.opcode === OPCODE.close) closingOf(one.payload);
      }
  });
  return frames;
}

export const seeds = () => {
  const text = Buffer.from('{"stdin":{"data":"aGVsbG8="}}');
  const mask = Buffer.from([1, 2, 3, 4]);
  return [
    Buffer.concat([Buffer.from([7]), frame(OPCODE.text, text, mask), frame(OPCODE.ping, Buffer.alloc(0), mask)]),
    Buffer.concat([Buffer.from([6]), frame(OPCODE.text, text), frame(OPCODE.close, Buffer.from([3, 232, 111, 107]))]),
    Buffer.concat([Buffer.from([64]), frame(OPCODE.binary, Buffer.alloc(300, 1))]),
    Buffer.from([1, 0x81, 0xff, 0, 0, 0, 0, 0, 0, 0, 1, 9, 9, 9, 9, 8]),
  ];
};
