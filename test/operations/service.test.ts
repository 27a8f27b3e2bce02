import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort, type Stack, startNats } from '@waybill/embedded';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startEmptyStack } from '../support/begun-databases.js';
import { eventually } from '../support/wait.js';
import { CONTROL_PLANE } from '../support/waybill-processes.js';

let stack: Stack;
beforeAll(async () => {
  stack = await startEmptyStack();
});
afterAll(() => stack?.stop());

const mainOf = (service: string): string =>
  fileURLToPath(new URL(`../../apps/${service}/dist/main.js`, import.meta.url));
const environment = (extra: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv => ({
  PATH: process.env['PATH'],
  WAYBILL_NATS_URL: stack.natsUrl,
  WAYBILL_DATABASE_URL: stack.databaseUrl,
  WAYBILL_HTTP_PORT: '0',
  ...extra,
});

describe('every service', () => {
  it.each([...CONTROL_PLANE])(
    '%s starts alone, tells how it is, and ends in order on SIGTERM',
    async (service) => {
      const port = await freePort();
      const child = spawn(process.execPath, [mainOf(service)], {
        env: environment({ WAYBILL_OPS_PORT: String(port) }),
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      let log = '';
      child.stdout.on('data', (chunk: Buffer) => (log += chunk.toString()));
      const url = `http://127.0.0.1:${port}`;
      await eventually(`${service} is ready`, async () => (await fetch(`${url}/readyz`)).ok, 60_000);
      expect((await fetch(`${url}/healthz`)).status).toBe(200);
      const metrics = await (await fetch(`${url}/metrics`)).text();
      expect(metrics).toContain(`service="${service}"`);
      expect(metrics).toContain('process_resident_memory_bytes');
      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      expect(await exited, log).toEqual([0, null]);
      const lines = log
        .trim()
        .split('\n')
        .map((line) => (JSON.parse(line) as { msg: string }).msg);
      expect(lines[0]).toBe('running');
      expect(lines.at(-1)).toBe('stopped');
    },
    90_000,
  );
});

it('a service says what it waits for while it starts, and ends at once when it is told to', async () => {
  const silent = createServer();
  await once(silent.listen(0, '127.0.0.1'), 'listening');
  const { port } = silent.address() as AddressInfo;
  const connected = once(silent, 'connection');
  const opsPort = await freePort();
  const child = spawn(process.execPath, [mainOf('broker')], {
    env: environment({ WAYBILL_NATS_URL: `nats://127.0.0.1:${port}`, WAYBILL_OPS_PORT: String(opsPort) }),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let log = '';
  child.stdout.on('data', (chunk: Buffer) => (log += chunk.toString()));
  await connected;
  const [health, readiness] = await Promise.all(
    ['healthz', 'readyz'].map((what) => fetch(`http://127.0.0.1:${opsPort}/${what}`)),
  );
  expect([health?.status, readiness?.status, await readiness?.json()]).toEqual([
    200,
    503,
    { ready: false, reasons: ['starting: connecting to NATS'], role: 'starting' },
  ]);
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  expect(await exited, log).toEqual([0, null]);
  expect(log).toContain('stopped while it started');
  silent.close();
});

it('a service that is told to end again and again ends in order all the same', async () => {
  const child = spawn(process.execPath, [mainOf('api')], { env: environment(), stdio: ['ignore', 'pipe', 'inherit'] });
  let log = '';
  child.stdout.on('data', (chunk: Buffer) => (log += chunk.toString()));
  await eventually('it runs', () => log.includes('"running"'), 20_000);
  const exited = once(child, 'exit');
  const asking = setInterval(() => child.kill('SIGTERM'), 10);
  expect(await exited, log).toEqual([0, null]);
  clearInterval(asking);
  expect(log).toContain('"stopped"');
});

it('a service tells that NATS takes too little, that it is gone, and that it is back', async () => {
  const dir = await mkdtemp(path.join(tmpdir(), 'waybill-test-'));
  let nats = await startNats({ dir, maxPayloadBytes: 1024 * 1024 });
  const child = spawn(process.execPath, [mainOf('broker')], {
    env: environment({ WAYBILL_NATS_URL: nats.url }),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let log = '';
  child.stdout.on('data', (chunk: Buffer) => (log += chunk.toString()));
  await eventually('it runs', () => log.includes('"running"'), 20_000);
  expect(log).toContain('raise its max_payload to 8MB');
  await nats.stop();
  await eventually('it says so', () => log.includes('the connection to NATS is lost'));
  nats = await startNats({ dir, port: nats.port });
  await eventually('it says so', () => log.includes('NATS is there again'));
  child.kill('SIGTERM');
  expect(await once(child, 'exit'), log).toEqual([0, null]);
  await nats.stop();
  await rm(dir, { recursive: true, force: true });
});

describe('a wrong configuration', () => {
  const run = (extra: NodeJS.ProcessEnv, service = 'broker'): { status: number | null; stderr: string } => {
    const { status, stderr } = spawnSync(process.execPath, [mainOf(service)], {
      env: environment(extra),
      encoding: 'utf8',
      timeout: 30_000,
    });
    return { status, stderr };
  };

  it('is one clear line per problem, before anything starts', () => {
    const { status, stderr } = run({
      WAYBILL_LEASE_TTL_MS: 'soon',
      WAYBILL_LOG_LEVEL: 'loud',
      WAYBILL_LEASE_TTLMS: '1',
      WAYBILL_DATABASE_URL: '',
    });
    expect(status).toBe(78);
    const lines = stderr.trim().split('\n');
    expect(lines).toHaveLength(4);
    expect(stderr).toContain('WAYBILL_LEASE_TTLMS is no setting of Waybill; did you mean WAYBILL_LEASE_TTL_MS?');
    expect(stderr).toContain('WAYBILL_LEASE_TTL_MS="soon" is not usable');
    expect(stderr).toContain('WAYBILL_LOG_LEVEL="loud" is not usable');
    expect(stderr).toContain('WAYBILL_DATABASE_URL is not set');
  });

  it('that lets other machines reach an API without access control is refused by the API', () => {
    const { status, stderr } = run({ WAYBILL_HTTP_HOST: '0.0.0.0', WAYBILL_NATS_URL: 'nats://127.0.0.1:1' }, 'api');
    expect(status).toBe(78);
    expect(stderr).toMatch(/^waybill api: WAYBILL_HTTP_HOST=0\.0\.0\.0 .*WAYBILL_HTTP_ALLOW_UNPROTECTED=true.*\n$/);
  });

  it('never shows the password of a database URL', () => {
    const { status, stderr } = run({ WAYBILL_DATABASE_URL: 'mysql://me:hunter2@there/db' });
    expect(status).toBe(78);
    expect(stderr).toContain('WAYBILL_DATABASE_URL');
    expect(stderr).not.toContain('hunter2');
  });

  it('that names a NATS nobody answers at ends with a line that says so, where nothing is to be waited for', () => {
    const { status, stdout } = spawnSync(process.execPath, [mainOf('broker')], {
      env: environment({
        WAYBILL_NATS_URL: 'nats://127.0.0.1:1',
        WAYBILL_START_WAITS: 'false',
        WAYBILL_HTTP_HOST: '0.0.0.0', // where an API would listen is nothing to the broker
      }),
      encoding: 'utf8',
      timeout: 30_000,
    });
    expect(status).toBe(1);
    expect(stdout).toContain('cannot connect to NATS at nats://127.0.0.1:1');
  });

  it.each(['WAYBILL_OPS', 'WAYBILL_HTTP'])(
    'that has a port of somebody else ends with a line that names it: %s_PORT',
    (name) => {
      const port = new URL(stack.natsUrl).port;
      const { status, stdout } = spawnSync(process.execPath, [mainOf('api')], {
        env: environment({ [`${name}_PORT`]: port }),
        encoding: 'utf8',
        timeout: 30_000,
      });
      expect(status).toBe(1);
      expect(stdout).toContain(`cannot listen at ${name}_HOST=127.0.0.1 and ${name}_PORT=${port}: listen EADDRINUSE`);
    },
  );

  it('--help lists every setting', () => {
    const { status, stdout } = spawnSync(process.execPath, [mainOf('api'), '--help'], { env: {}, encoding: 'utf8' });
    expect(status).toBe(0);
    expect(stdout).toContain('WAYBILL_HTTP_PORT');
  });
});
