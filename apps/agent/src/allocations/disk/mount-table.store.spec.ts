import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isMountPoint, readMounts } from './mount-table.store.js';

let root: string;
beforeEach(() => (root = mkdtempSync(path.join(tmpdir(), 'waybill-mounts-'))));
afterEach(() => rmSync(root, { recursive: true, force: true }));

describe('the table of mounts', () => {
  it('AG-223: where there is none nothing is mounted; one that cannot be read is no table without mounts', async () => {
    expect(await readMounts(path.join(root, 'nothing'))).toEqual([]);
    await expect(readMounts(root)).rejects.toThrow('EISDIR');
  });

  it('VL-222: a place is found under whatever name its directory goes by', async () => {
    const link = path.join(root, 'link');
    symlinkSync('/', link);
    expect(await isMountPoint(path.join(link, 'proc'))).toBe(true);
    expect(await isMountPoint(path.join(link, 'proc', 'self'))).toBe(false);
    expect(await isMountPoint(path.join(root, 'gone', 'below'))).toBe(false);
  });
});
