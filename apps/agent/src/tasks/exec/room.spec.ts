import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { roomIn } from './room.js';

it('who waits for room again and again leaves nothing behind, and is not left waiting by a stream that closes', async () => {
  const stream = new PassThrough({ highWaterMark: 1 });
  for (let write = 0; write < 20; write++) {
    expect(stream.write('full')).toBe(false);
    const room = roomIn(stream);
    stream.read();
    await room;
  }
  expect([stream.listenerCount('drain'), stream.listenerCount('close')]).toEqual([0, 0]);
  stream.write('full');
  const room = roomIn(stream);
  stream.destroy();
  await room;
});
