import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ARCHIVE_FORMAT, packArchive } from '@waybill/model/snapshot-archive';
import type { TakenArchive } from '@waybill/projection';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DirectoryShelf } from './archive-shelf.store.js';

const AT_MS = 1_800_000_000_123;
let dir: string;
beforeEach(() => void (dir = mkdtempSync(path.join(tmpdir(), 'waybill-shelf-'))));
afterEach(() => rmSync(dir, { recursive: true, force: true }));

async function anArchive(Index: number): Promise<TakenArchive> {
  const of = { Format: ARCHIVE_FORMAT, ID: 'a', Term: 1, Version: '1', Tables: {}, TableIndexes: {}, EventFloor: 1 };
  const meta = { ...of, Index };
  return { meta, bytes: await packArchive(meta, Buffer.from('{"table":"jobs","row":{}}\n')) };
}

describe('a directory of archives', () => {
  it.skipIf(process.platform !== 'linux')('is refused where none can be made (needs /proc)', async () => {
    const shelf = new DirectoryShelf('/proc/nope');
    const text = 'cannot create /proc/nope: choose another directory with WAYBILL_ARCHIVE_DIR';
    await expect(shelf.list()).rejects.toThrow(text);
    await expect(shelf.put(await anArchive(1), AT_MS)).rejects.toThrow(text);
  });

  it('OP-49: an archive has its name only when it is whole; what a crash left is removed, what is not ours stays', async () => {
    const shelf = new DirectoryShelf(path.join(dir, 'made'));
    await shelf.put(await anArchive(12), AT_MS);
    const left = path.join(dir, 'made', 'waybill-1-2.snap.tmp');
    writeFileSync(left, 'half of');
    writeFileSync(path.join(dir, 'made', 'notes.txt'), 'mine');
    expect((await shelf.list()).map(({ index }) => index)).toEqual([12]);
    const archive = await shelf.put(await anArchive(9), AT_MS + 5_000);
    expect(archive).toEqual({ name: 'waybill-1800000005-9.snap', index: 9, takenAtMs: 1_800_000_005_000 });
    expect(readdirSync(path.join(dir, 'made')).toSorted()).toEqual([
      'notes.txt',
      'waybill-1800000000-12.snap',
      'waybill-1800000005-9.snap',
    ]);
    expect((await shelf.list()).map(({ index }) => index)).toEqual([9, 12]);
    expect(statSync(path.join(dir, 'made', archive.name)).mode & 0o777).toBe(0o600);
    expect(await shelf.isWhole(archive)).toBe(true);
    await shelf.remove(archive);
    expect((await shelf.list()).map(({ index }) => index)).toEqual([12]);
  });

  it('OP-45: a damaged one is found', async () => {
    const shelf = new DirectoryShelf(dir);
    const { bytes } = await anArchive(3);
    writeFileSync(path.join(dir, 'waybill-5-3.snap'), bytes.subarray(0, bytes.length - 20));
    const [archive] = await shelf.list();
    expect(await shelf.isWhole(archive!)).toBe(false);
  });
});
