import { gunzipSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { ARCHIVE_FORMAT, type ArchiveMeta, BadArchiveError, packArchive, unpackArchive } from './snapshot-archive.js';

const META: ArchiveMeta = {
  Format: ARCHIVE_FORMAT,
  ID: 'one',
  Index: 7,
  Term: 2,
  Version: '0.1.0',
  Tables: { jobs: 1 },
  TableIndexes: { jobs: 5 },
  EventFloor: 1,
};
const STATE = Buffer.from('{"table":"jobs","row":{}}\n'.repeat(100));

const why = (bytes: Buffer): Promise<string> =>
  unpackArchive(bytes).then(
    () => 'taken',
    (error: unknown) => (error instanceof BadArchiveError ? error.message : String(error)),
  );

describe('an archive', () => {
  it('OP-43: comes out as it went in', async () => {
    expect(await unpackArchive(await packArchive(META, STATE))).toEqual({ meta: META, state: STATE });
    expect((await unpackArchive(await packArchive(META, Buffer.alloc(0)))).state).toHaveLength(0);
  });

  it('OP-45: any changed byte of what is in it is found', async () => {
    const tar = gunzipSync(await packArchive(META, STATE));
    for (let at = 0; at < tar.length; at += 61) {
      const damaged = Buffer.from(tar);
      damaged[at] = (damaged[at] ?? 0) ^ 0x5a;
      expect([at, await why(gzipSync(damaged))]).not.toEqual([at, 'taken']);
    }
  });

  it('OP-45: it is refused when it is cut, when something follows, and when it is none', async () => {
    const archive = await packArchive(META, STATE);
    const tar = gunzipSync(archive);
    expect(await why(archive.subarray(0, archive.length - 9))).toContain('gzip');
    expect(await why(Buffer.from('a text'))).toContain('gzip');
    expect(await why(gzipSync(Buffer.concat([tar, Buffer.from('more')])))).toContain('follows');
    expect(await why(gzipSync(tar.subarray(0, 700)))).toContain('too early');
    expect(await why(gzipSync(Buffer.alloc(1024)))).toBe('meta.json is missing');
  });

  it('OP-43: that of another program is named as such', async () => {
    expect(await why(await packArchive({ ...META, Format: 'raft' }, STATE))).toContain('not an archive of Waybill');
    expect(await why(await packArchive({ ...META, Index: 0.5 }, STATE))).toContain('names no index');
  });
});
