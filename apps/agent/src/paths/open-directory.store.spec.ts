import { existsSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { chmod, lstat, mkdir, mkdtemp, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EscapesError, OpenDirectory, TakenError } from './open-directory.store.js';
import { pathName } from './path-name.js';

const INSIDE = { make: true, links: 'inside', closesNotes: 'of allocation' } as const;
const NO_LINKS = { ...INSIDE, links: 'none' } as const;

/** The directory has an allocation with one task, and a directory that belongs only to the machine. */
let dir: string;
let root: string;
let outside: string;
let opened: OpenDirectory[];

beforeEach(async () => {
  opened = [];
  dir = await mkdtemp(path.join(tmpdir(), 'waybill-open-'));
  root = path.join(dir, 'alloc-1');
  outside = path.join(dir, 'outside');
  for (const made of ['web/local', 'web/private', 'alloc/data'])
    await mkdir(path.join(root, made), { recursive: true });
  await mkdir(outside);
});
afterEach(async () => {
  for (const one of opened) await one.close();
  await rm(dir, { recursive: true, force: true });
});

async function find(wanted: string, walk: typeof INSIDE | typeof NO_LINKS = INSIDE): Promise<OpenDirectory> {
  const found = await OpenDirectory.find(root, wanted, walk);
  opened.push(found);
  return found;
}
const put = (directory: OpenDirectory, name: string, text: string): Promise<void> =>
  directory.replace(pathName(name), (file) => file.writeFile(text));
const textOf = (below: string): string => readFileSync(path.join(root, below), 'utf8');

describe('a directory that tasks write into too', () => {
  it('is made, found, and written to', async () => {
    await put(await find('web/local/a/b'), 'file', 'one');
    await put(await find('web/local/a/b'), 'file', 'two');
    expect(textOf('web/local/a/b/file')).toBe('two');
    expect(await readdir(path.join(root, 'web/local/a/b'))).toEqual(['file']);
  });

  it.skipIf(process.platform !== 'linux')(
    'what is written goes where it was checked, whatever is linked meanwhile (needs /proc)',
    async () => {
      const found = await find('web/local/dir');
      await rename(path.join(root, 'web/local/dir'), path.join(root, 'web/local/moved'));
      await symlink(outside, path.join(root, 'web/local/dir'));
      await put(found, 'passwd', 'x');
      await found.copyEntry('/etc/hostname', pathName('copied'));
      await (await found.openChild(pathName('made'), true)).close();
      expect(await readdir(outside)).toEqual([]);
      expect((await readdir(path.join(root, 'web/local/moved'))).toSorted()).toEqual(['copied', 'made', 'passwd']);
    },
  );

  it('a link in the place of a file is replaced, and not followed', async () => {
    await symlink(path.join(outside, 'new'), path.join(root, 'web/local/file'));
    await symlink(path.join(outside, 'new'), path.join(root, 'web/local/copied'));
    const local = await find('web/local');
    await put(local, 'file', 'mine');
    await local.copyEntry('/etc/hostname', pathName('copied'));
    expect(await readdir(outside)).toEqual([]);
    for (const name of ['file', 'copied'])
      expect((await lstat(path.join(root, 'web/local', name))).isFile()).toBe(true);
  });

  it.each([
    'web/local/out',
    'web/local/out/x',
    'web/local/dangling/x',
    '..',
    'web/../..',
    'web/local/up/x',
    'web/local/loop',
  ])('%s leads out, and nothing is made there', async (wanted) => {
    await symlink(outside, path.join(root, 'web/local/out'));
    await symlink('/nowhere/yet', path.join(root, 'web/local/dangling'));
    await symlink('../../../outside', path.join(root, 'web/local/up'));
    await symlink('loop', path.join(root, 'web/local/loop'));
    await expect(find(wanted)).rejects.toThrow(EscapesError);
    expect(await readdir(outside)).toEqual([]);
    expect(existsSync('/nowhere')).toBe(false);
  });

  it.each(['to-data', '../../alloc/data'])(
    'a link to %s stays inside and is followed, unless none may be',
    async (target) => {
      await symlink('../../alloc/data', path.join(root, 'web/local/to-data'));
      await symlink(target, path.join(root, 'web/local/link'));
      await symlink(path.join(root, 'alloc/data'), path.join(root, 'web/local/absolute'));
      await put(await find('web/local/link'), 'one', '1');
      await put(await find('web/local/absolute/deep'), 'two', '2');
      expect([textOf('alloc/data/one'), textOf('alloc/data/deep/two')]).toEqual(['1', '2']);
      await expect(find('web/local/link', NO_LINKS)).rejects.toThrow(EscapesError);
    },
  );

  it('AG-220: the notes of the agent about a task are closed, also through links and in a tree', async () => {
    await symlink('../private', path.join(root, 'web/local/notes'));
    for (const wanted of ['web/private', 'web/private/x', 'web/local/notes'])
      await expect(find(wanted)).rejects.toThrow(EscapesError);
    await mkdir(path.join(dir, 'tree/private'), { recursive: true });
    await symlink('/etc/passwd', path.join(dir, 'tree/private/resolv.conf'));
    await expect((await find('web')).copyContents(path.join(dir, 'tree'))).rejects.toThrow(EscapesError);
    expect(await readdir(path.join(root, 'web/private'))).toEqual([]);
    await put(await find('alloc/private'), 'x', 'the tasks may call a directory so');
  });

  it('a file in the place of a directory, and a directory in that of a file, are left alone', async () => {
    await writeFile(path.join(root, 'web/local/file'), 'x');
    await mkdir(path.join(root, 'web/local/dir/full'), { recursive: true });
    await expect(find('web/local/file/x')).rejects.toThrow(TakenError);
    const local = await find('web/local');
    await expect(put(local, 'dir', 'x')).rejects.toThrow(/EISDIR|ENOTEMPTY|EEXIST/);
    await expect(local.copyEntry('/etc/hostname', pathName('dir'))).rejects.toThrow(TakenError);
    expect(textOf('web/local/file')).toBe('x');
  });

  it('a tree is copied with modes and links as they are, onto what is there', async () => {
    const tree = path.join(dir, 'tree');
    await mkdir(path.join(tree, 'bin'), { recursive: true });
    await writeFile(path.join(tree, 'bin/run'), 'new');
    await chmod(path.join(tree, 'bin/run'), 0o750);
    await chmod(path.join(tree, 'bin'), 0o711);
    await symlink('/etc', path.join(tree, 'link'));
    await (await find('web/local/there')).copyContents(tree);
    await writeFile(path.join(root, 'web/local/there/bin/kept'), '');
    await (await find('web/local/there')).copyContents(tree);
    expect((await readdir(path.join(root, 'web/local/there/bin'))).toSorted()).toEqual(['kept', 'run']);
    expect(textOf('web/local/there/bin/run')).toBe('new');
    expect(statSync(path.join(root, 'web/local/there/bin/run')).mode & 0o777).toBe(0o750);
    expect(statSync(path.join(root, 'web/local/there/bin')).mode & 0o777).toBe(0o711);
    expect(readlinkSync(path.join(root, 'web/local/there/link'))).toBe('/etc');
  });

  it('a directory of a tree is not copied through a link that a task has made', async () => {
    await mkdir(path.join(dir, 'tree/etc'), { recursive: true });
    await writeFile(path.join(dir, 'tree/etc/passwd'), 'x');
    await symlink(outside, path.join(root, 'web/local/etc'));
    await expect((await find('web/local')).copyContents(path.join(dir, 'tree'))).rejects.toThrow(TakenError);
    expect(await readdir(outside)).toEqual([]);
  });

  it.skipIf(process.platform !== 'linux')('leaves no directory open (needs /proc)', async () => {
    const before = (await readdir('/proc/self/fd')).length;
    await (await OpenDirectory.find(root, 'web/local/a/../b/c', INSIDE)).close();
    await OpenDirectory.find(root, 'web/local/a/b/../../../../..', INSIDE).catch(() => {});
    await OpenDirectory.find(root, 'web/private/x', INSIDE).catch(() => {});
    expect((await readdir('/proc/self/fd')).length).toBeLessThanOrEqual(before);
  });
});
