import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readLogChunk } from './log-reader.js';
import { RotatingLog } from './rotating-log.js';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'waybill-logs-'));
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((l) => l.close()));
  rmSync(dir, { recursive: true, force: true });
});

const opened: RotatingLog[] = [];
const log = (maxFileBytes = 100, maxFiles = 10): RotatingLog => {
  const made = new RotatingLog({ dir, base: 'web.stdout', maxFiles, maxFileBytes });
  opened.push(made);
  return made;
};
const file = (n: number) => readFileSync(path.join(dir, `web.stdout.${n}`), 'utf8');
const files = () =>
  readdirSync(dir)
    .filter((name) => !name.startsWith('.'))
    .toSorted();
const line = (n: number) => `${String(n).padStart(9, '0')}\n`;

describe('rotated logs', () => {
  it('AG-241: a full file is followed by the next number, split at a line end', async () => {
    const l = log(105);
    for (let n = 0; n < 25; n++) await l.write(Buffer.from(line(n)));
    expect(files()).toEqual(['web.stdout.0', 'web.stdout.1', 'web.stdout.2']);
    expect(file(0)).toBe(Array.from({ length: 10 }, (_, n) => line(n)).join(''));
    expect(file(1).startsWith(line(10))).toBe(true);
  });

  it('AG-241: one large write is split at line ends too, a line that is longer than a file at its limit', async () => {
    const l = log(105);
    await l.write(Buffer.from(Array.from({ length: 25 }, (_, n) => line(n)).join('')));
    expect([file(0).length, file(1).length, file(2).length]).toEqual([100, 100, 50]);
    await l.write(Buffer.from('x'.repeat(300)));
    const all = files().map((_, n) => file(n));
    expect(Math.max(...all.map((text) => text.length))).toBe(105);
    expect(all.join('')).toBe(Array.from({ length: 25 }, (_, n) => line(n)).join('') + 'x'.repeat(300));
  });

  it('AG-241: with too many files the oldest go, and no number comes again', async () => {
    const l = log(10, 3);
    for (let n = 0; n < 8; n++) await l.write(Buffer.from(line(n)));
    expect(files()).toEqual(['web.stdout.5', 'web.stdout.6', 'web.stdout.7']);
  });

  it('API-635, AG-242: after a restart the file with the highest number is appended to', async () => {
    const first = log(20);
    for (let n = 0; n < 3; n++) await first.write(Buffer.from(line(n)));
    await first.close();
    const second = log(20);
    await second.write(Buffer.from(line(3)));
    expect(files()).toEqual(['web.stdout.0', 'web.stdout.1']);
    expect(file(1)).toBe(line(2) + line(3));
  });
});

describe('reading logs', () => {
  const read = (over: Partial<Parameters<typeof readLogChunk>[0]> = {}) =>
    readLogChunk({
      logsDir: dir,
      task: 'web',
      type: 'stdout',
      origin: 'start',
      offset: 0,
      limit: 65_536,
      waitMs: 0,
      ...over,
    });

  it('AG-312, AG-450: follows over the borders of files, byte-exact', async () => {
    const l = log(33);
    const text = Array.from({ length: 20 }, (_, n) => line(n)).join('');
    await l.write(Buffer.from(text));
    let offset = 0;
    let seen = '';
    for (;;) {
      const chunk = await read({ offset, limit: 7 });
      if (!chunk || chunk.data.length === 0) break;
      seen += chunk.data.toString();
      offset = chunk.nextOffset;
    }
    expect(seen).toBe(text);
  });

  it('AG-452: offsets stay right when old files are deleted; a deleted one goes on with the oldest there is', async () => {
    const l = log(10, 3);
    for (let n = 0; n < 8; n++) await l.write(Buffer.from(line(n)));
    expect((await read({ offset: 60 }))?.data.toString()).toBe(line(6));
    const oldest = await read({ offset: 0 });
    expect(oldest).toMatchObject({ nextOffset: 60, file: 'web.stdout.5' });
    expect(oldest?.data.toString()).toBe(line(5));
  });

  it('counts from the end', async () => {
    await log().write(Buffer.from('abcdef'));
    expect((await read({ origin: 'end', offset: 2 }))?.data.toString()).toBe('ef');
    expect((await read({ origin: 'end', offset: 99 }))?.data.toString()).toBe('abcdef');
  });

  it('API-635, AG-243: a reader that waits gets new bytes as they come, or hears after its time that there are none', async () => {
    const l = log();
    await l.write(Buffer.from('one'));
    const next = read({ offset: 3, waitMs: 5_000 });
    await l.write(Buffer.from('two'));
    expect(await next).toMatchObject({ nextOffset: 6, available: 6 });
    expect(await read({ offset: 6, waitMs: 100 })).toMatchObject({ nextOffset: 6, data: Buffer.alloc(0) });
  });

  it('AG-311: says how much there is, whatever of it is given', async () => {
    await log(4).write(Buffer.from('abcdef'));
    expect(await read({ limit: 1 })).toMatchObject({ nextOffset: 1, available: 6 });
  });

  it('a task without a log', async () => {
    expect(await read()).toBeUndefined();
  });
});
