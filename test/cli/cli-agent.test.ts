import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '@waybill/embedded';
import { afterEach, expect, it } from 'vitest';
import { runCli } from '../support/cli.js';
import { eventually } from '../support/wait.js';

const PROGRAM = fileURLToPath(new URL('../../apps/cli/bin/waybill.js', import.meta.url));
const UP_MS = 90_000;

let child: ChildProcess | undefined;
afterEach(async () => {
  if (child && child.exitCode === null) {
    child.kill('SIGINT');
    await once(child, 'exit');
  }
});

/** `waybill agent …` as a process, with what it has written so far. */
function agent(...words: string[]) {
  const started = spawn(process.execPath, [PROGRAM, 'agent', ...words], { stdio: ['ignore', 'pipe', 'pipe'] });
  child = started;
  const written = { out: '', err: '' };
  started.stdout.on('data', (data: Buffer) => (written.out += data.toString()));
  started.stderr.on('data', (data: Buffer) => (written.err += data.toString()));
  return { written, pid: started.pid ?? 0, process: started, ended: once(started, 'exit') as Promise<[number | null]> };
}

it(
  'CL-921 CL-923 CL-924 CL-906: -dev brings everything up, shows its log, and leaves nothing behind',
  async () => {
    const port = await freePort();
    const { written, pid, process: started, ended } = agent('-dev', `-http-port=${port}`, '-retry-join=x');
    const url = `http://127.0.0.1:${port}`;
    await eventually('it is up', () => written.out.includes('==> Waybill agent started!'), UP_MS);
    const [configuration] = written.out.split('==> Waybill agent started! Log data will stream in below:');
    expect(configuration).toContain('==> No configuration files loaded\n==> Waybill agent configuration:\n');
    expect(configuration).toContain('        Bind Addrs: HTTP: 127.0.0.1:');
    expect(written.err).toContain('Without effect here: -retry-join');
    expect((await fetch(`${url}/v1/agent/health`)).status).toBe(200);
    await eventually('a node is ready', async () => (await runCli(url, ['node', 'status'])).out.includes('ready'));
    const directory = path.join(tmpdir(), `waybill-dev-${pid}`);
    expect(existsSync(directory)).toBe(true);

    // What happens is in the log of the projector, which is trace.
    const monitor = spawn(process.execPath, [PROGRAM, 'monitor', '-log-level=trace', '-json'], {
      env: { ...process.env, WAYBILL_ADDR: url },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let lines = '';
    monitor.stdout.on('data', (data: Buffer) => (lines += data.toString()));
    await eventually('lines come', async () => {
      await runCli(url, ['namespace', 'apply', '-description', `${Date.now()}`, 'team']);
      return lines.includes('"projected"');
    });
    expect(JSON.parse(lines.slice(0, lines.indexOf('\n')))).toMatchObject({ level: expect.anything() });
    monitor.kill('SIGINT');
    expect(await once(monitor, 'exit')).toEqual([0, null]);

    started.kill('SIGTERM');
    expect((await ended)[0]).toBe(0);
    expect(existsSync(directory)).toBe(false);
    await expect(fetch(`${url}/v1/agent/health`)).rejects.toThrow();
  },
  2 * UP_MS,
);

it(
  'CL-923: a port that is in use is one clear line and exit 1',
  async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as { port: number };
    const { written, ended } = agent('-dev', `-http-port=${port}`);
    expect((await ended)[0]).toBe(1);
    taken.close();
    expect(written.err.trimEnd().split('\n')).toEqual([expect.stringContaining(String(port))]);
  },
  UP_MS,
);

it('CL-921: none of the modes is refused', async () => {
  const { written, ended } = agent();
  expect((await ended)[0]).toBe(1);
  expect(written.err).toContain('Must specify either server, client or dev mode for the agent.');
});
