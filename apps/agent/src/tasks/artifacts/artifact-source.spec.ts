import { describe, expect, it } from 'vitest';
import { parseArtifactSource } from './artifact-source.js';
import { Checksum } from './checksum.js';

describe('where an artifact comes from', () => {
  it.each([
    ['https://h/a/b.txt', {}, { getter: 'http', location: 'https://h/a/b.txt', fileName: 'b.txt', archive: undefined }],
    ['https://h/b.tar.gz', {}, { archive: 'tar.gz' }],
    ['https://h/b.zip?x=1', {}, { archive: 'zip', location: 'https://h/b.zip?x=1' }],
    ['https://h/b.zip?archive=false', {}, { archive: undefined, location: 'https://h/b.zip' }],
    ['https://h/b', { archive: 'tgz' }, { archive: 'tgz' }],
    ['https://h/b.tar//sub/dir', {}, { location: 'https://h/b.tar', subdirectory: 'sub/dir', fileName: 'b.tar' }],
    ['https://h/b?checksum=md5:0', { checksum: 'sha1:1' }, { checksum: 'sha1:1', location: 'https://h/b' }],
    ['https://h/b', { token: 't', filename: 'c' }, { location: 'https://h/b?token=t', fileName: 'c' }],
    ['git::https://h/r.git?ref=v1', {}, { getter: 'git', location: 'https://h/r.git', ref: 'v1' }],
    ['git::ssh://git@h/r//docs', {}, { getter: 'git', location: 'ssh://git@h/r', subdirectory: 'docs' }],
    ['/srv/a%20b.txt', {}, { getter: 'file', location: '/srv/a b.txt', fileName: 'a b.txt' }],
    ['file:///srv/x', {}, { getter: 'file', location: '/srv/x' }],
  ])('%s %o', (source, options, expected) => {
    expect(parseArtifactSource(source, options)).toMatchObject(expected);
  });

  it.each([
    ['not a url', /is no URL/],
    ['s3::https://h/b', /not supported for scheme "s3"/],
    ['ftp://h/b', /not supported for scheme "ftp"/],
    ['https://h/b.tar.xz', /form "tar.xz" cannot be unpacked.*archive=false/],
  ])('%s is refused', (source, why) => {
    expect(() => parseArtifactSource(source, {})).toThrow(why);
  });
});

describe('checksums', () => {
  const EMPTY = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

  it.each([EMPTY, `sha256:${EMPTY}`, EMPTY.toUpperCase(), 'md5:d41d8cd98f00b204e9800998ecf8427e'])('%s', (text) => {
    expect(() => new Checksum(text).verify()).not.toThrow();
    const other = new Checksum(text);
    other.update(Buffer.from('x'));
    expect(() => other.verify()).toThrow(/checksums did not match/);
  });

  it.each(['', 'sha256:12', `md5:${EMPTY}`, 'sha256:' + 'g'.repeat(64)])('%s is none', (text) => {
    expect(() => new Checksum(text)).toThrow(/is none of md5, sha1, sha256 or sha512/);
  });
});
