import { describe, expect, it } from 'vitest';
import { acceptsGzip } from './content-coding.js';

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
