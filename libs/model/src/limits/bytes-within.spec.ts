import { Readable } from 'node:stream';
import { expect, it } from 'vitest';
import { bytesWithin, TooManyBytesError } from './bytes-within.js';

const body = (...chunks: string[]): Readable => Readable.from(chunks.map((chunk) => Buffer.from(chunk)));

it('AU-107: gives a body of exactly so many bytes, and an empty one', async () => {
  expect((await bytesWithin(body('four', 'more'), 8)).toString()).toBe('fourmore');
  expect(await bytesWithin(body(), 8)).toHaveLength(0);
});

it('AU-107: refuses a body of one byte more, and closes it', async () => {
  const endless = body('four', 'more', 'x', 'never read');
  await expect(bytesWithin(endless, 8)).rejects.toThrow(new TooManyBytesError(8));
  expect(endless.destroyed).toBe(true);
});
