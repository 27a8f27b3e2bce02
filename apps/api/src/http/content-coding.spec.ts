import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { acceptsGzip, Packed } from './content-coding.js';

describe('who wants compressed answers', () => {
  it.each([
    ['gzip', true],
    ['deflate, GZIP;q=0.5', true],
    ['gzip; q=0', false],
    ['gzip;q=0.000, identity', false],
    ['identity', false],
    ['x-gzip', false],
    ['', false],
    [undefined, false],
  ])('API-23: %s: %s', (header, wanted) => {
    expect(acceptsGzip(header)).toBe(wanted);
  });
});

describe('compressed answers', () => {
  it('API-23: are made once for an answer that is sent again, and are that answer', async () => {
    const packed = new Packed();
    const answer = Buffer.from('[{"ID":"a"}]');
    const [first, second] = await Promise.all([packed.of(answer), packed.of(answer)]);
    expect(second).toBe(first);
    expect(gunzipSync(first)).toEqual(answer);
    expect(gunzipSync(await packed.of(Buffer.from('[]'))).toString()).toBe('[]');
  });
});
