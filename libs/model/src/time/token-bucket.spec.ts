import { beforeEach, expect, it } from 'vitest';
import { TokenBucket } from './token-bucket.js';

let nowMs: number;
let bucket: TokenBucket;

beforeEach(() => {
  nowMs = 5_000;
  bucket = new TokenBucket({ nowMs: () => nowMs }, { perSecond: 2, burst: 3 });
});

const taken = (asked: number): number => Array.from({ length: asked }, () => bucket.tryTake()).filter(Boolean).length;

it('gives its burst at once, then as many as time brings, and a burst again after a quiet time', () => {
  expect(taken(10)).toBe(3);
  nowMs += 1_000;
  expect(taken(10)).toBe(2);
  nowMs += 3_600_000;
  expect(taken(10)).toBe(3);
});

it('keeps what is less than a token', () => {
  taken(3);
  nowMs += 400;
  expect(taken(1)).toBe(0);
  nowMs += 100;
  expect(taken(1)).toBe(1);
});

it('says how long the next one takes, and takes none by that', () => {
  taken(3);
  expect(bucket.waitMs()).toBe(500);
  nowMs += 200;
  expect(bucket.waitMs()).toBe(300);
  nowMs += 300;
  expect(bucket.waitMs()).toBe(0);
  expect(taken(2)).toBe(1);
});

it('gives tokens that are yet to come, one after the other', () => {
  expect(Array.from({ length: 5 }, () => bucket.reserve())).toEqual([0, 0, 0, 500, 1_000]);
  nowMs += 1_000;
  expect(bucket.reserve()).toBe(500);
});

it('earns nothing while the clock is set back, and goes on from there', () => {
  taken(3);
  nowMs -= 60_000;
  expect(taken(1)).toBe(0);
  nowMs += 500;
  expect(taken(2)).toBe(1);
});
