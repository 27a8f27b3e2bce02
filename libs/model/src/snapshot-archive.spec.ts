import { createHash } from 'node:crypto';
import { gunzipSync, gzipSync } from 'node:zlib';
import { Header } from 'tar';
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

/** As `packArchive` makes it, of these files and the sums of them. */
function tarOf(files: Record<string, string>): Buffer {
  const sums = Object.entries(files).map(
    ([name, text]) => `${createHash('sha256').update(text).digest('hex')}  ${name}\n`,
  );
  const entries = Object.entries({ ...files, SHA256SUMS: sums.join('') }).flatMap(([path, text]) => {
    const content = Buffer.from(text);
    const block = Buffer.alloc(512);
    new Header({ path, size: content.length, mode: 0o600, type: 'File', mtime: new Date(0) }).encode(block, 0);
    return [block, content, Buffer.alloc((512 - (content.length % 512)) % 512)];
  });
  return Buffer.concat([...entries, Buffer.alloc(1024)]);
}

function filesIn(tar: Buffer): Map<string, Buffer> {
  const files = new Map<string, Buffer>();
  for (let at = 0; tar[at] !== 0;) {
    const { path = '', size = 0 } = new Header(tar, at);
    files.set(path, tar.subarray(at + 512, at + 512 + size));
    at += 512 + Math.ceil(size / 512) * 512;
  }
  return files;
}

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

  it('OP-43: an archive of before, whose state is the bare lines, is still read', async () => {
    const tar = gunzipSync(await packArchive(META, STATE));
    const before = { ...META, Format: 'waybill/1' };
    const bare = tarOf({ 'meta.json': `${JSON.stringify(before)}\n`, 'state.bin': STATE.toString() });
    expect(bare.length).toBeLessThan(tar.length);
    expect(await unpackArchive(gzipSync(bare))).toEqual({ meta: before, state: STATE });
  });

  it("OP-43: the reference's inspect can read it: sums, a version that is a number, rows as MessagePack values by kind", async () => {
    const rows = '{"table":"jobs","row":{}}\n{"table":"allocs","row":{"ID":"ü"}}\n{"other":1}\n';
    const files = filesIn(gunzipSync(await packArchive(META, Buffer.from(rows))));
    const [about, state] = [files.get('meta.json')!, files.get('state.bin')!];
    expect(JSON.parse(about.toString())).toMatchObject({
      Version: 1,
      ID: 'one',
      Index: 7,
      Term: 2,
      Size: state.length,
    });
    expect(state[0]).toBe(0x80); // a header without members
    const seen: [kind: number | undefined, text: string][] = [];
    for (let at = 1; at < state.length;) {
      expect(state[at + 1]).toBe(0xdb); // a text, its length in four bytes
      const to = at + 6 + state.readUInt32BE(at + 2);
      seen.push([state[at], state.subarray(at + 6, to).toString()]);
      at = to;
    }
    expect(seen).toEqual([
      [1, '{"table":"jobs","row":{}}\n'],
      [4, '{"table":"allocs","row":{"ID":"ü"}}\n'],
      [127, '{"other":1}\n'],
    ]);
  });

  it('OP-45: a state that is none is refused, though its sums are right', async () => {
    const about = `${JSON.stringify({ ...META, Version: 1, Waybill: '1', Size: 1 })}\n`;
    const whyNot = async (state: string) => why(gzipSync(tarOf({ 'meta.json': about, 'state.bin': state })));
    expect(await whyNot('')).toContain('state.bin is damaged');
    expect(await whyNot('{}')).toContain('state.bin is damaged');
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
