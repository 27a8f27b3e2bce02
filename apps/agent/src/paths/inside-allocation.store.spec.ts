import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { insideAlloc } from './inside-allocation.store.js';
import { EscapesError } from './open-directory.store.js';

let root: string;
let task: string;

beforeAll(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'waybill-inside-'));
  task = path.join(root, 'alloc-1', 'web');
  await mkdir(path.join(task, 'local/there'), { recursive: true });
  await mkdir(path.join(root, 'alloc-1/alloc/data'), { recursive: true });
  await symlink('/etc', path.join(task, 'local/out'));
  await symlink('/nowhere/yet', path.join(task, 'local/dangling'));
  await symlink('there', path.join(task, 'local/inner'));
});
afterAll(() => rm(root, { recursive: true, force: true }));

describe('where a job may have something put', () => {
  it.each(['local/', 'local/there/new/file', 'local/inner/file', '../alloc/data', 'local/../other'])(
    '%s',
    async (wanted) => {
      expect(await insideAlloc(task, wanted)).toBe(path.join(task, wanted));
    },
  );

  it('a path that already names the allocation is taken as it is, and stays in it', async () => {
    expect(await insideAlloc(task, path.join(task, 'local/x'))).toBe(path.join(task, 'local/x'));
    const shared = path.join(root, 'alloc-1/alloc/data/x');
    expect(await insideAlloc(task, shared)).toBe(shared);
    await expect(insideAlloc(task, path.join(task, 'local/out/x'))).rejects.toThrow(EscapesError);
  });

  it.each([
    '../..',
    '../../alloc-2',
    '/../../x',
    'local/out',
    'local/out/passwd',
    'local/dangling',
    'local/dangling/x',
  ])('%s leads out', async (wanted) => {
    await expect(insideAlloc(task, wanted)).rejects.toThrow(EscapesError);
  });
});
