import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { NotPlainError } from '../../paths/plain-file.store.js';
import { NEW_STATE } from '../task-record.js';
import { readLogChunk } from './log-reader.js';
import { RotatingLog } from './rotating-log.js';
import { TaskLogs } from './task-logs.js';

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

describe('a directory of logs that tasks write to', () => {
  let outside: string;
  let at: string;
  let links: RotatingLog;
  beforeEach(() => {
    outside = path.join(dir, 'outside');
    at = path.join(dir, 'allocation', 'alloc', 'logs');
    mkdirSync(at, { recursive: true });
    writeFileSync(outside, 'own');
    links = new RotatingLog({ dir: at, base: 'web.stdout', maxFiles: 2, maxFileBytes: 20 });
    opened.push(links);
  });
  const read = () =>
    readLogChunk({ logsDir: at, task: 'web', type: 'stdout', origin: 'end', offset: 10, limit: 99, waitMs: 0 });

  it.each([
    ['the file itself', 'web.stdout.0'],
    ['the next file', 'web.stdout.1'],
    ['the count of what is deleted', '.web.stdout.deleted'],
  ])('AG-240: nothing is written through a link: %s', async (_what, name) => {
    symlinkSync('../../../outside', path.join(at, name));
    for (let n = 0; n < 8; n++) await links.write(Buffer.from(line(n)));
    expect(readFileSync(outside, 'utf8')).toBe('own');
    expect((await read())?.data.toString()).toBe(line(7));
  });

  it('AG-240: nor through one in the place of the directory', async () => {
    rmSync(at, { recursive: true });
    mkdirSync(path.join(dir, 'elsewhere'));
    symlinkSync('../../elsewhere', at);
    await expect(links.write(Buffer.from('x'))).rejects.toBeInstanceOf(NotPlainError);
    expect(readdirSync(path.join(dir, 'elsewhere'))).toEqual([]);
  });

  it('AG-302: nothing is read through a link', async () => {
    symlinkSync('../../../outside', path.join(at, 'web.stdout.0'));
    await expect(read()).rejects.toBeInstanceOf(NotPlainError);
    await expect(
      new TaskLogs(
        () => at,
        () => ({ ...NEW_STATE }),
      ).readLog({ AllocID: 'a', Task: 'web', Type: 'stdout', Origin: 'start', Offset: 0, Limit: 99, WaitMs: 0 }),
    ).rejects.toMatchObject({ code: 'invalid', message: 'Path escapes the alloc directory' });
  });

  it('AG-240: a pipe in the place of a file holds nobody up', async () => {
    execFileSync('mkfifo', [path.join(at, 'web.stdout.0'), path.join(at, '.web.stdout.deleted')]);
    await links.write(Buffer.from(line(1)));
    expect(readFileSync(path.join(at, 'web.stdout.1'), 'utf8')).toBe(line(1));
  });

  it('AG-241: what was deleted stays counted when the count cannot be written', async () => {
    for (let n = 0; n < 5; n++) await links.write(Buffer.from(line(n)));
    mkdirSync(path.join(at, '.web.stdout.deleted.new'));
    for (let n = 5; n < 7; n++) await links.write(Buffer.from(line(n))).catch(() => undefined);
    expect(readFileSync(path.join(at, '.web.stdout.deleted'), 'utf8')).toBe('20 0');
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

  it('AG-312: a collector that was killed between counting a file and deleting it leaves nothing twice', async () => {
    const l = log(10, 2);
    for (let n = 0; n < 4; n++) await l.write(Buffer.from(line(n)));
    writeFileSync(path.join(dir, 'web.stdout.1'), line(1)); // as if the deletion had not happened yet
    expect(await read({ offset: 20 })).toMatchObject({ data: Buffer.from(line(2)), nextOffset: 30, available: 40 });
    const next = log(10, 2);
    for (let n = 4; n < 6; n++) await next.write(Buffer.from(line(n)));
    expect(files()).toEqual(['web.stdout.4', 'web.stdout.5']);
    expect(await read({ offset: 40 })).toMatchObject({ data: Buffer.from(line(4)), available: 60 });
  });

  it('AG-240: a task that deletes its log files, or makes some of its own, loses nothing that it says then', async () => {
    const l = log(10, 2);
    for (let n = 0; n < 4; n++) await l.write(Buffer.from(line(n)));
    await l.close();
    for (const name of files()) rmSync(path.join(dir, name));
    writeFileSync(path.join(dir, 'web.stdout.9007199254740991'), '');
    mkdirSync(path.join(dir, 'web.stdout.0'));
    const next = log(10, 2);
    for (let n = 4; n < 8; n++) await next.write(Buffer.from(line(n)));
    expect((await read({ offset: 20 }))?.data.toString()).toBe(line(6));
    expect(readFileSync(path.join(dir, 'web.stdout.5'), 'utf8')).toBe(line(7));
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
