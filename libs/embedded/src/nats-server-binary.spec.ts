import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { natsServerPath } from './nats-server-binary.js';

async function configured(file: string): Promise<string> {
  return await natsServerPath({ env: { NATS_SERVER_BIN: file } });
}

/** The package is for this platform only; others name their own server. */
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

  it('takes what NATS_SERVER_BIN names as it is, and says so', async () => {
    const own = server('own', '2.12.1');
    const lines: string[] = [];
    expect(await natsServerPath({ env: { NATS_SERVER_BIN: own }, log: (line) => lines.push(line) })).toBe(own);
    expect(lines).toEqual([
      `nats-server 2.12.1 is the one that NATS_SERVER_BIN names, ${own}: its content is not checked`,
    ]);
  });

  it('refuses a NATS_SERVER_BIN that is missing, too old or something else', async () => {
    await expect(configured('/nowhere')).rejects.toThrow('which does not exist');
    await expect(configured(server('old', '2.9.10'))).rejects.toThrow('2.12 or newer');
    await expect(configured(program('other', 'exit 3'))).rejects.toThrow('does not run as a nats-server');
  });

  it.runIf(packaged)('takes the npm package’s, which is in the list (needs linux-x64)', async () => {
    expect(await natsServerPath({ env: {} })).toMatch(
      /node_modules\/@eplightning\/nats-server-linux-x64\/bin\/nats-server$/,
    );
  });

  it('takes none from PATH that nobody chose, and says in one line what to do', async () => {
    const env = { PATH: path.dirname(server('bin-on-path/nats-server', '2.14.0')) };
    const failure = await natsServerPath({ packageDir: root, env }).catch((error: Error) => error.message);
    expect(failure).toMatch(/name it in NATS_SERVER_BIN\.$/);
    expect(failure).not.toContain('\n');
  });
});
