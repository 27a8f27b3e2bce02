import { expect, it } from 'vitest';
import { FrameReader } from './frames.js';

const frame = (stream: number, text: string): Buffer => {
  const header = Buffer.alloc(8);
  header[0] = stream;
  header.writeUInt32BE(Buffer.byteLength(text), 4);
  return Buffer.concat([header, Buffer.from(text)]);
};

it.each([1, 3, 8, 9, 1_000])('frames are the same in pieces of %i bytes', (size) => {
  const all = Buffer.concat([frame(1, 'out'), frame(2, 'an error'), frame(1, ''), frame(1, 'last')]);
  const reader = new FrameReader();
  const frames = [];
  for (let at = 0; at < all.length; at += size) frames.push(...reader.push(all.subarray(at, at + size)));
  expect(frames.map(({ stream, data }) => [stream, data.toString()])).toEqual([
    ['stdout', 'out'],
    ['stderr', 'an error'],
    ['stdout', ''],
    ['stdout', 'last'],
  ]);
});
