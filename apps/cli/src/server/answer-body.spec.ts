import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { text as textOf } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { bodyText, chunksOf } from './answer-body.js';

const TEXT = 'nomad.client.allocs.running 3\n'.repeat(5_000);
const PACKED = gzipSync(TEXT);

const answer = (pieces: readonly Uint8Array[], headers: Record<string, string>): IncomingMessage =>
  Object.assign(Readable.from(pieces), { headers }) as never;
const packed = (pieces: readonly Uint8Array[]) => answer(pieces, { 'content-encoding': 'gzip' });
const broken = () => new Error('the connection broke off');

const allOf = (body: AsyncIterable<Uint8Array>): Promise<string> => textOf(Readable.from(body));

describe('bodies of answers', () => {
  it('CL-123: are unpacked, whole or as they come', async () => {
    const pieces = [PACKED.subarray(0, 100), PACKED.subarray(100)];
    expect(await bodyText(packed(pieces), broken)).toBe(TEXT);
    expect(await allOf(chunksOf(packed(pieces), broken))).toBe(TEXT);
    expect(await allOf(chunksOf(answer([Buffer.from(TEXT)], {}), broken))).toBe(TEXT);
  });

  it('that end too early are not taken for whole', async () => {
    const half = [PACKED.subarray(0, PACKED.length - 20)];
    await expect(bodyText(packed(half), broken)).rejects.toThrow('broke off');
    await expect(allOf(chunksOf(packed(half), broken))).rejects.toThrow('broke off');
  });

  it('are let go of with their reader', async () => {
    const message = packed(Array.from({ length: PACKED.length }, (_, i) => PACKED.subarray(i, i + 1)));
    for await (const chunk of chunksOf(message, broken)) if (chunk.length > 0) break;
    await expect.poll(() => message.destroyed).toBe(true);
  });
});
