import { once } from 'node:events';
import type { AllocFileInfo } from '@waybill/rpc';
import { Parser } from 'tar';
import { describe, expect, it } from 'vitest';
import { type DiskFiles, MAX_TAR_DEPTH, tarOfDisk } from './disk-tar.js';

const info = (Name: string, FileMode: string, Size = 0): AllocFileInfo => ({
  Name,
  IsDir: FileMode.startsWith('d'),
  Size,
  FileMode,
  ModTime: '2026-01-02T03:04:05.000Z',
});

/** What a tar program makes of it: path, mode and content. */
async function unpacked(disk: DiskFiles, roots: readonly string[]): Promise<[string, number, string][]> {
  const found: [string, number, string][] = [];
  const parser = new Parser({
    strict: true,
    onReadEntry: (entry) => {
      const chunks: Buffer[] = [];
      entry.on('data', (chunk: Buffer) => chunks.push(chunk));
      entry.on('end', () => found.push([entry.path, entry.mode ?? 0, Buffer.concat(chunks).toString()]));
    },
  });
  const ended = once(parser, 'end');
  for await (const piece of tarOfDisk('a1', roots, disk)) parser.write(piece);
  parser.end();
  await ended;
  return found;
}

const diskOf = (directories: Record<string, AllocFileInfo[]>, files: Record<string, string> = {}): DiskFiles => ({
  list: (path) => Promise.resolve(directories[path]),
  read: async function* (path, size) {
    const text = files[path];
    if (text === undefined) throw new Error(`${path} cannot be read`);
    for (let at = 0; at < size && at < text.length; at += 400) yield Buffer.from(text.slice(at, at + 400));
  },
});

describe('the disk of an allocation as a tar', () => {
  it('has its directories and files with their modes; links stay behind, and what a task never had', async () => {
    const long = 'n'.repeat(180);
    const disk = diskOf(
      {
        'alloc/data': [info('empty', '-rw-r-----'), info('sub', 'drwxr-x---'), info('link', 'Lrwxrwxrwx', 5)],
        'alloc/data/sub': [info(long, '-rwxr-xr-x', 1_000)],
      },
      { [`alloc/data/sub/${long}`]: 'x'.repeat(1_000) },
    );
    expect(await unpacked(disk, ['alloc/data', 'web/local'])).toEqual([
      ['alloc/data/', 0o777, ''],
      ['alloc/data/empty', 0o640, ''],
      ['alloc/data/sub/', 0o750, ''],
      [`alloc/data/sub/${long}`, 0o755, 'x'.repeat(1_000)],
    ]);
  });

  it('is a whole tar although files change under it', async () => {
    const files = [info('grew', '-rw-------', 3), info('shrank', '-rw-------', 900), info('z', '-rw-------', 1)];
    const disk = diskOf({ d: files }, { 'd/grew': 'abcdef', 'd/shrank': 'ab', 'd/z': 'z' });
    expect(await unpacked(disk, ['d'])).toEqual([
      ['d/', 0o777, ''],
      ['d/grew', 0o600, 'abc'],
      ['d/shrank', 0o600, `ab${'\0'.repeat(898)}`],
      ['d/z', 0o600, 'z'],
    ]);
  });

  it('AG-224: one that breaks off says so in a file of its own', async () => {
    const broken = diskOf({ d: [info('bad', '-rw-------', 0), info('gone', '-rw-------', 700)] });
    const found = await unpacked(broken, ['d']);
    expect(found[1]?.[0]).toBe('d/bad');
    expect(found.at(-1)).toEqual(['NOMAD-a1-ERROR.log', 0o666, 'd/gone cannot be read']);
    const endless: DiskFiles = { ...broken, list: () => Promise.resolve([info('d', 'drwx------')]) };
    const deep = await unpacked(endless, ['d']);
    expect(deep).toHaveLength(MAX_TAR_DEPTH + 2);
    expect(deep.at(-1)?.[2]).toContain('deeper');
  });
});
