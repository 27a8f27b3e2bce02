import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AllocDirectoryStore } from './alloc-directories.store.js';
import { unmountBelow } from './mount-table.store.js';

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
    const store = new AllocDirectoryStore(path.join(root, 'allocs'));
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
});
