import { text } from 'node:stream/consumers';
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { fromLastLines, lastLines } from '../terminal/last-lines.js';
import { fileBytes } from './log-frames.js';

const frame = (data: string) =>
  JSON.stringify({ Offset: 1, Data: Buffer.from(data).toString('base64'), File: 'a{b"}.0' });
const forever = () => new Promise<void>(() => undefined);

async function* chunks(...parts: string[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) yield Buffer.from(part);
}

describe('log frames', () => {
  it('CL-415: frames back to back, cut anywhere, empty ones and heartbeats ignored, bytes unchanged', async () => {
    const wire = `{}${frame('one\u001b[31m\n')}{}${frame('')}${frame('zwei ü')}`;
    for (const size of [1, 3, 7, wire.length]) {
      const parts = wire.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? [];
      expect(await text(Readable.from(fileBytes(chunks(...parts))))).toBe('one\u001b[31m\nzwei ü');
    }
  });
});

describe('last lines', () => {
  it('CL-414: an unterminated last line counts, fewer lines than asked are all', () => {
    const of = (given: string, n: number) => lastLines(Buffer.from(given), n).toString();
    expect(of('a\nb\nc\n', 2)).toBe('b\nc\n');
    expect(of('a\nb\nc', 2)).toBe('b\nc');
    expect(of('a\n', 5)).toBe('a\n');
    expect(of('a\n', 0)).toBe('');
    expect(of('', 3)).toBe('');
  });

  it('CL-414: when following, what is there is shown after a silent second, then what comes', async () => {
    let more: (() => void) | undefined;
    async function* source(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('a\nb\nc\n');
      await new Promise<void>((resolve) => (more = resolve));
      yield Buffer.from('d\n');
    }
    let sleeps = 0;
    // The first second is not over when the first bytes come; the second one is silent.
    const sleep = () => (++sleeps === 1 ? forever() : Promise.resolve());
    const shown: string[] = [];
    for await (const chunk of fromLastLines(source(), 1, true, sleep)) {
      shown.push(Buffer.from(chunk).toString());
      more?.();
    }
    expect(shown).toEqual(['c\n', 'd\n']);
  });

  it('CL-414: without following, the end of the answer decides', async () => {
    const shown = await text(Readable.from(fromLastLines(chunks('a\nb', '\nc\n'), 2, false, forever)));
    expect(shown).toBe('b\nc\n');
  });
});
