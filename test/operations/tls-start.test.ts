import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort, wipe } from '@waybill/embedded';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { runCli } from '../support/cli.js';
import { Launcher, nothingRuns, UP_TIMEOUT_MS } from '../support/launcher.js';

const PROGRAM = fileURLToPath(new URL('../../apps/cli/bin/waybill.js', import.meta.url));

let parent: string;
let dataDir: string;
let launcher: Launcher | undefined;
beforeEach(() => {
  parent = mkdtempSync(path.join(tmpdir(), 'waybill-tls-start-'));
  chmodSync(parent, 0o711); // root's PostgreSQL user passes through
  dataDir = path.join(parent, 'data');
});
afterEach(async () => {
  if (launcher?.running) await launcher.interrupt();
  await nothingRuns(parent);
  await wipe(dataDir);
  rmSync(parent, { recursive: true, force: true });
});

it(
  'npm start -- --tls: makes a working set, everything speaks TLS, and the printed lines are all that is needed',
  async () => {
    const port = await freePort();
    launcher = new Launcher({ port, dataDir, args: ['--tls'] });
    await launcher.says('Ctrl-C stops everything', 2 * UP_TIMEOUT_MS);
    const url = `https://127.0.0.1:${port}`;
    const caFile = path.join(dataDir, 'tls', 'ca.pem');
    expect(launcher.stdout).toContain(`export NOMAD_ADDR=${url}\n`);
    expect(launcher.stdout).toContain(`export NOMAD_CACERT=${caFile}\n`);
    expect(launcher.stdout).toContain('CA and certificates made');
    for (const name of ['ca-key.pem', 'server-key.pem', 'cli-key.pem'])
      expect(statSync(path.join(dataDir, 'tls', name)).mode & 0o777, name).toBe(0o600);
    expect(readFileSync(path.join(dataDir, 'nats', 'nats-server.conf'), 'utf8')).toContain('\ntls {\n');
    const nodes = await runCli(url, ['node', 'status', '-json', `-ca-cert=${caFile}`]);
    expect(JSON.parse(nodes.out)).toMatchObject([{ Status: 'ready' }]);
    const env = { PATH: process.env['PATH'], NOMAD_ADDR: url, NOMAD_CACERT: caFile };
    const exec = spawnSync(process.execPath, [PROGRAM, 'alloc', 'exec', '-job', 'hello', '/bin/echo', 'over TLS'], {
      encoding: 'utf8',
      env,
    });
    expect([exec.stdout, exec.status]).toEqual(['over TLS\n', 0]);
    const invited = spawnSync(process.execPath, [PROGRAM, 'agent', 'invite', `-data-dir=${dataDir}`], {
      encoding: 'utf8',
    });
    expect(invited.status).toBe(0);
    const token = /waybill-join-([\w-]+)/.exec(invited.stdout)?.[1] ?? '';
    expect(JSON.parse(Buffer.from(token, 'base64url').toString())).toMatchObject({
      nats: expect.stringMatching(/^tls:\/\/127\.0\.0\.1:/) as string,
      ca: readFileSync(caFile, 'utf8'),
    });
  },
  3 * UP_TIMEOUT_MS,
);
