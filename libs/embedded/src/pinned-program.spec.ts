import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AlteredProgramError, isNamedFailure } from './failures.js';
import { natsServerPath } from './nats-server-binary.js';
import { assertUnaltered, type PinnedProgram } from './pinned-program.js';
import { binariesIn, installedNative } from './postgres-binaries.js';

/** The packages are there on this platform; what is checked is the same on all. */
const packaged = process.platform === 'linux' && process.arch === 'x64';

function flipBit(file: string, at: number): void {
  const content = readFileSync(file);
  content[at] = (content[at] ?? 0) ^ 1;
  writeFileSync(file, content);
}

describe('a program of an npm package', () => {
  let dir: string;
  let program: PinnedProgram;
  const at = (...names: string[]) => path.join(dir, ...names);

  beforeEach(() => {
    dir = mkdtempSync(path.join(tmpdir(), 'waybill-pinned-'));
    mkdirSync(at('lists'));
    mkdirSync(at('root', 'bin'), { recursive: true });
    writeFileSync(at('root', 'bin', 'server'), 'a program');
    writeFileSync(at('root', 'README'), 'not executed, not listed');
    const sha256 = createHash('sha256').update('a program').digest('hex');
    writeFileSync(at('lists', 'somebody-server-1.0.0.sha256'), `${sha256}  bin/server\n`);
    program = {
      what: 'server 1.0.0',
      packageName: '@somebody/server',
      version: '1.0.0',
      root: at('root'),
      closed: ['bin'],
      links: ['bin/alias'],
      repair: 'run npm ci.',
    };
  });
  afterEach(() => rmSync(dir, { recursive: true, force: true }));
  const check = async (changed: Partial<PinnedProgram> = {}) =>
    await assertUnaltered({ ...program, ...changed }, at('lists'));

  it('is let through when every listed file is as listed', async () => {
    symlinkSync('server', at('root', 'bin', 'alias'));
    await check();
  });

  it('with one changed bit is refused: the message names the file and what to do', async () => {
    flipBit(at('root', 'bin', 'server'), 3);
    const error = await check().catch((failure: unknown) => failure);
    expect(error).toBeInstanceOf(AlteredProgramError);
    expect(error).toMatchObject({ file: at('root', 'bin', 'server') });
    expect(isNamedFailure(error) && error.message).toMatch(
      /server 1\.0\.0 was not started: .* has SHA-256 [0-9a-f]{64}, .* run npm ci\.$/,
    );
  });

  it('that lost a file is refused', async () => {
    rmSync(at('root', 'bin', 'server'));
    await expect(check()).rejects.toThrow('is missing');
  });

  it('that got a file or a link is refused', async () => {
    writeFileSync(at('root', 'bin', 'libc.so.6'), 'loaded before the real one');
    await expect(check()).rejects.toThrow('libc.so.6 does not belong to @somebody/server 1.0.0');
    rmSync(at('root', 'bin', 'libc.so.6'));
    symlinkSync('/usr/bin/true', at('root', 'bin', 'other'));
    await expect(check()).rejects.toThrow('other does not belong');
  });

  it('of a version without a list is refused', async () => {
    await expect(check({ version: '1.0.1' })).rejects.toThrow(
      '@somebody/server 1.0.1 is not a version that this Waybill knows',
    );
  });

  it.runIf(packaged)('nats-server with one changed bit is refused (needs linux-x64)', async () => {
    const installed = path.resolve(path.dirname(await natsServerPath({ env: {} })), '..');
    mkdirSync(at('nats', 'bin'), { recursive: true });
    for (const name of ['package.json', 'bin/nats-server']) copyFileSync(path.join(installed, name), at('nats', name));
    expect(await natsServerPath({ env: {}, packageDir: at('nats') })).toBe(at('nats', 'bin', 'nats-server'));
    flipBit(at('nats', 'bin', 'nats-server'), 9_000_000);
    await expect(natsServerPath({ env: {}, packageDir: at('nats') })).rejects.toThrow(
      'nats-server 2.14.0 was not started',
    );
  });

  it.runIf(packaged)('PostgreSQL with one changed bit of a library is refused (needs linux-x64)', async () => {
    const installed = installedNative();
    mkdirSync(at('native'));
    // Links are quicker than copies of 60 MB; the one file that is changed becomes a copy.
    const library = 'lib/libcrypto.so.1.1';
    for (const name of ['bin', 'lib', 'share', 'pg-symlinks.json'])
      execFileSync('cp', ['-rlP', path.join(installed.native, name), at('native')]);
    rmSync(at('native', library));
    copyFileSync(path.join(installed.native, library), at('native', library));
    const binaries = binariesIn(at('native'), installed, 'run npm ci.');
    await binaries.verify();
    flipBit(at('native', library), 1_000_000);
    await expect(binaries.verify()).rejects.toThrow(
      /libcrypto\.so\.1\.1 has SHA-256 .* run npm ci, or set WAYBILL_DATABASE_URL/,
    );
  });
});
