import { describe, expect, it } from 'vitest';
import type { StoredPart } from './event-frame.js';
import { BLOCK_BYTES, batchesOf, readPage } from './event-page.js';
import type { EventStorage } from './event-window.js';

interface Given {
  readonly index: number;
  readonly part?: number;
  readonly parts?: number;
  readonly about?: readonly (readonly string[])[];
  readonly size?: number;
}

/** A stream of these messages, from sequence 1 on. */
function streamOf(given: readonly Given[], first = 1): EventStorage {
  const parts = given.map(
    ({ index, part = 1, parts: of = 1, about = [['Job', 'default', `job-${index}`]], size = 20 }, at): StoredPart => ({
      sequence: first + at,
      index,
      timeNs: index,
      part,
      parts: of,
      about: JSON.stringify(about),
      data: Buffer.alloc(size, String(index % 10)),
    }),
  );
  return {
    bounds: async () => ({ first, last: first + parts.length - 1 }),
    readParts: async (sequence, messages) => parts.filter((part) => part.sequence >= sequence).slice(0, messages),
  };
}

describe('a page of EVENTS', () => {
  it('EV-74: never ends inside a frame, and is as long as one whole frame needs', async () => {
    const stream = streamOf([
      { index: 4 },
      { index: 5, part: 1, parts: 3 },
      { index: 5, part: 2, parts: 3 },
      { index: 5, part: 3, parts: 3 },
      { index: 8 },
    ]);
    const ends = async (from: number, messages: number): Promise<unknown> => {
      const page = await readPage(stream, from, messages);
      return page && [page.to, page.frames.map(({ index }) => index)];
    };
    expect(await ends(1, 2)).toEqual([1, [4]]);
    expect(await ends(2, 2)).toEqual([5, [5, 8]]);
    expect(await ends(2, 3)).toEqual([4, [5]]);
    expect(await ends(1, 9)).toEqual([5, [4, 5, 8]]);
    expect(await ends(3, 9)).toEqual([5, [8]]); // the beginning of its first frame is not asked for
    expect(await ends(6, 9)).toBeUndefined();
  });

  it('EV-74: a frame of which only the beginning is there is not there yet', async () => {
    const stream = streamOf([{ index: 4 }, { index: 9, part: 1, parts: 2 }]);
    expect(await readPage(stream, 1, 9)).toMatchObject({ to: 1 });
    expect(await readPage(stream, 2, 9)).toMatchObject({ begin: 2, to: 1, frames: [] });
  });

  it('EV-72, EV-31: who wants certain events is given their frames, found by name', async () => {
    const page = await readPage(
      streamOf([
        { index: 1 },
        {
          index: 2,
          about: [
            ['Evaluation', 'default', 'e1', 'web'],
            ['Job', 'default', 'web'],
          ],
        },
        { index: 3, about: [['Allocation', 'other', 'a1', 'web']] },
      ]),
      1,
      9,
    );
    const found = (topic: string, key: string, from = 0): unknown =>
      page?.framesConcerning([[topic, key]], from).map(({ index }) => index);
    expect(found('*', '*')).toEqual([1, 2, 3]);
    expect(found('*', '*', 3)).toEqual([3]);
    expect(found('Job', '*')).toEqual([1, 2]);
    expect(found('Job', 'web')).toEqual([2]);
    expect(found('*', 'web')).toEqual([2, 3]);
    expect(found('*', 'web', 3)).toEqual([3]);
    expect(found('Node', '*')).toEqual([]);
    expect(
      page
        ?.framesConcerning(
          [
            ['Allocation', '*'],
            ['Job', '*'],
          ],
          0,
        )
        .map(({ index }) => index),
    ).toEqual([1, 2, 3]);
  });

  it('lines of neighbours lie next to each other, in blocks that are not larger than what is sent at once', async () => {
    const page = await readPage(
      streamOf(Array.from({ length: 100 }, (_, at) => ({ index: at + 1, size: 1_500 }))),
      1,
      256,
    );
    const frames = page?.frames ?? [];
    const blocks = new Set(frames.map(({ line }) => line.buffer));
    expect(blocks.size).toBe(Math.ceil((100 * 1_501) / (Math.floor(BLOCK_BYTES / 1_501) * 1_501)));
    for (const batch of batchesOf(frames)) {
      expect(new Set(batch.map(({ line }) => line.buffer)).size).toBe(1);
      expect(batch.reduce((sum, { line }) => sum + line.length, 0)).toBeLessThanOrEqual(BLOCK_BYTES);
    }
    expect(
      frames.every(({ line, index }) => Buffer.from(line).toString() === `${String(index % 10).repeat(1_500)}\n`),
    ).toBe(true);
  });
});
