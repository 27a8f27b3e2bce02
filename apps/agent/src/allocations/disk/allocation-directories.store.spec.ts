import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AllocationDirectoryStore } from './allocation-directories.store.js';
import { unmountBelow } from './mount-table.store.js';
import { UnsafeNameError } from '../../paths/path-name.js';

let root: string;
beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'waybill-allocs-'));
});
afterEach(async () => {
  await unmountBelow(root);
  rmSync(root, { recursive: true, force: true });
});

describe('directories of allocations', () => {
  it('AG-223: removed whole, but what is mounted in them is only unmounted', async (context) => {
    const store = new AllocationDirectoryStore(path.join(root, 'allocs'));
    const { localDir } = await store.build('a', 'web');
    await store.build('b', 'web');
    const [volume, place] = [path.join(root, 'volume'), path.join(localDir, 'a volume')];
    for (const made of [volume, place]) mkdirSync(made);
    writeFileSync(path.join(volume, 'kept'), '');
    try {
      execFileSync('mount', ['--bind', volume, place], { stdio: 'ignore' });
    } catch {
      return context.skip('this machine lets nobody mount here');
    }
    expect(await store.list()).toEqual(['a', 'b']);
    await store.remove('a');
    expect(await store.list()).toEqual(['b']);
    expect(readdirSync(volume)).toEqual(['kept']);
  });

  it.each(['alloc/logs', 'alloc/data', 'web/local', 'web/tmp', 'web/private', 'web/secrets'])(
    'AG-220: a link that a task has put in the place of %s opens nothing of the machine',
    async (replaced) => {
      const store = new AllocationDirectoryStore(path.join(root, 'allocs'));
      await store.build('a', 'web');
      const outside = path.join(root, 'outside');
      mkdirSync(outside, { mode: 0o700 });
      writeFileSync(path.join(outside, 'template.done'), '');
      rmSync(path.join(root, 'allocs/a', replaced), { recursive: true });
      symlinkSync(outside, path.join(root, 'allocs/a', replaced));
      await expect(store.build('a', 'web')).rejects.toThrow(replaced);
      expect(statSync(outside).mode & 0o777).toBe(0o700);
      expect(readdirSync(outside)).toEqual(['template.done']);
    },
  );
});

it.each(['..', '.', '', '../x', 'a/b', 'a\0b', 'a\nb'])(
  'an allocation %j has no directory and gets none',
  async (id) => {
    const store = new AllocationDirectoryStore(path.join(root, 'allocs'));
    await store.build('good', 'web');
    expect(await store.exists(id)).toBe(false);
    await expect(store.build(id, 'web')).rejects.toThrow(UnsafeNameError);
    await expect(store.build('good', id)).rejects.toThrow(UnsafeNameError);
    await expect(store.inheritDisk(id, 'good', ['web'])).rejects.toThrow(UnsafeNameError);
    await expect(store.inheritDisk('good', 'next', [id])).rejects.toThrow(UnsafeNameError);
    await expect(store.remove(id)).rejects.toThrow(UnsafeNameError);
    expect(readdirSync(root)).toEqual(['allocs']);
    expect(readdirSync(path.join(root, 'allocs'))).toEqual(['good']);
    expect(readdirSync(path.join(root, 'allocs', 'good')).toSorted()).toEqual(['alloc', 'web']);
  },
);
