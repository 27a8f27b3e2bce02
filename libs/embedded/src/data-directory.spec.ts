import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { bootId } from '@waybill/processes';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { asDataDirectoryFailure } from './data-directory-failure.js';
import { openDataDirectory, wipe } from './data-directory.js';
import { DataDirectoryError, DiskFullError } from './failures.js';
import { startNats } from './nats-server.js';

describe('the data directory', () => {
  let parent: string;
  let dir: string;
  const at = (...names: string[]) => path.join(dir, ...names);

  beforeEach(() => {
    parent = mkdtempSync(path.join(tmpdir(), 'waybill-dir-'));
    dir = path.join(parent, 'data');
  });
  afterEach(() => rmSync(parent, { recursive: true, force: true }));

  it('is created with its format', async () => {
    const opened = await openDataDirectory(dir);
    expect(JSON.parse(readFileSync(at('version'), 'utf8'))).toEqual({ format: 1 });
    await opened.release();
    expect(readdirSync(dir)).toEqual(['version']);
  });

  it.skipIf(process.platform !== 'linux')('is refused where no directory can be made (needs /proc)', async () => {
    for (const start of [openDataDirectory('/proc/nope'), startNats({ dir: '/proc/nope' })])
      await expect(start).rejects.toMatchObject({
        problem: 'impossible',
        message: 'cannot create /proc/nope: choose another data directory',
      });
  });

  it('belongs to one launcher at a time', async () => {
    const first = await openDataDirectory(dir);
    await expect(openDataDirectory(dir)).rejects.toMatchObject({
      problem: 'in-use',
      message: expect.stringContaining(`in use by process ${process.pid}`),
    });
    await expect(wipe(dir)).rejects.toMatchObject({ problem: 'in-use' });
    await first.release();
    await (await openDataDirectory(dir)).release();
  });

  it.each([
    ['a process that is gone', JSON.stringify({ pid: 2 ** 30, startTicks: '1', bootId: bootId() })],
    ['a process id that was given out again', JSON.stringify({ pid: process.pid, startTicks: '1', bootId: bootId() })],
    ['half a line', '{"pid":'],
    ['nothing', ''],
  ])('is taken over from a lock of %s', async (_, lock) => {
    mkdirSync(dir);
    writeFileSync(at('lock'), lock);
    await (await openDataDirectory(dir)).release();
    expect(existsSync(at('lock'))).toBe(false);
  });

  it('of a newer version is refused and left alone', async () => {
    mkdirSync(dir);
    writeFileSync(at('version'), '{"format":2}');
    await expect(openDataDirectory(dir)).rejects.toMatchObject({ problem: 'newer' });
    expect(readdirSync(dir)).toEqual(['version']);
  });

  it.each(['', '{}', '{"format":"1"}', '{"format":0}', 'null'])(
    'with the version file %j is refused',
    async (content) => {
      mkdirSync(dir);
      writeFileSync(at('version'), content);
      await expect(openDataDirectory(dir)).rejects.toMatchObject({ problem: 'damaged' });
    },
  );

  it('wiped keeps the fetched programs only', async () => {
    await (await openDataDirectory(dir)).release();
    for (const name of ['bin', 'nats', 'postgres', 'agent', 'something']) mkdirSync(at(name));
    await wipe(dir);
    expect(readdirSync(dir).toSorted()).toEqual(['bin', 'version']);
  });

  it('begins with an empty database where that is wanted, and keeps the old one', async () => {
    await (await openDataDirectory(dir)).release();
    for (const name of ['nats', 'postgres']) mkdirSync(at(name));
    writeFileSync(at('postgres', 'password'), 'old');
    const lines: string[] = [];
    await (await openDataDirectory(dir, { freshDatabase: true, log: (line) => lines.push(line) })).release();
    const [aside] = readdirSync(dir).filter((name) => name.startsWith('postgres'));
    expect(readdirSync(dir).toSorted()).toEqual(['nats', aside, 'version']);
    expect(readFileSync(at(aside!, 'password'), 'utf8')).toBe('old');
    expect(lines).toEqual([expect.stringContaining(aside!)]);
    await (await openDataDirectory(dir, { freshDatabase: true })).release();
    expect(readdirSync(dir).toSorted()).toEqual(['nats', aside, 'version']);
  });

  it('is not wiped when it was never ours', async () => {
    mkdirSync(at('Documents'), { recursive: true });
    await expect(wipe(dir)).rejects.toMatchObject({ problem: 'foreign' });
    expect(existsSync(at('Documents'))).toBe(true);
  });

  it('is not wiped by way of a pointer to somewhere else', async () => {
    await (await openDataDirectory(dir)).release();
    const precious = path.join(parent, 'precious');
    mkdirSync(precious);
    mkdirSync(at('postgres'));
    writeFileSync(at('postgres', 'location'), precious);
    await expect(wipe(dir)).rejects.toMatchObject({ problem: 'damaged' });
    expect(existsSync(precious)).toBe(true);
  });

  it('that does not exist has nothing to wipe', async () => {
    await wipe(dir);
    expect(existsSync(dir)).toBe(false);
  });

  it('that is a file is refused', async () => {
    writeFileSync(dir, '');
    await expect(openDataDirectory(dir)).rejects.toThrow(DataDirectoryError);
  });
});

function failure(code: string): unknown {
  return asDataDirectoryFailure(Object.assign(new Error(code), { code }), '/data');
}

describe('a failed file operation in the data directory', () => {
  it('has a name when the disk is full or the permission is missing', () => {
    expect(failure('ENOSPC')).toEqual(new DiskFullError('/data'));
    expect(failure('EDQUOT')).toEqual(new DiskFullError('/data'));
    expect(failure('EACCES')).toMatchObject({ name: 'DataDirectoryError', problem: 'permission' });
    expect(failure('EROFS')).toMatchObject({ name: 'DataDirectoryError', problem: 'permission' });
  });

  it('keeps its own when there is none of ours', () => {
    expect(failure('EMFILE')).toMatchObject({ code: 'EMFILE' });
  });
});
