import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect as connectNats } from '@nats-io/transport-node';
import { freePort, type Stack } from '@waybill/embedded';
import { appliedMark, openPool } from '@waybill/projection';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startEmptyStack } from '../support/begun-databases.js';
import { NatsCluster } from '../support/nats-cluster.js';
import { eventually } from '../support/wait.js';

/** A start of several processes, on a machine that does much else. */
const LONG_MS = 180_000;
/** One step of it. */
const STEP_MS = 80_000;

let stack: Stack;
beforeAll(async () => {
  stack = await startEmptyStack();
});
afterAll(() => stack?.stop());

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const one of undo.splice(0).toReversed()) await one();
});

/** A server as it is reached, at a port where nobody listens until it is opened. */
class LateServer {
  private server: Server | undefined;
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly target: URL,
    private readonly port: number,
  ) {}

  static async before(url: string): Promise<LateServer> {
    const late = new LateServer(new URL(url), await freePort());
    undo.push(() => late.close());
    return late;
  }

  get url(): string {
    const url = new URL(this.target);
    url.host = `127.0.0.1:${this.port}`;
    return url.href;
  }

  async open(): Promise<void> {
    this.server = createServer((near) => {
      const far = connect(Number(this.target.port), this.target.hostname);
      for (const [from, to] of [
        [near, far],
        [far, near],
      ] as const) {
        this.sockets.add(from);
        from.pipe(to);
        from.on('error', () => to.destroy());
        from.on('close', () => to.destroy());
      }
    });
    await once(this.server.listen(this.port, '127.0.0.1'), 'listening');
  }

  private async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    if (this.server) await new Promise((resolve) => this.server?.close(resolve));
  }
}

class Service {
  log = '';
  private constructor(
    private readonly child: ChildProcess,
    private readonly opsUrl: string,
  ) {
    child.stdout?.on('data', (chunk: Buffer) => (this.log += chunk.toString()));
  }

  static async start(name: string, env: NodeJS.ProcessEnv): Promise<Service> {
    const port = await freePort();
    const main = fileURLToPath(new URL(`../../apps/${name}/dist/main.js`, import.meta.url));
    const child = spawn(process.execPath, [main], {
      env: {
        PATH: process.env['PATH'],
        WAYBILL_NATS_URL: stack.natsUrl,
        WAYBILL_DATABASE_URL: stack.databaseUrl,
        WAYBILL_OPS_PORT: String(port),
        ...env,
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const service = new Service(child, `http://127.0.0.1:${port}`);
    undo.push(() => service.end());
    return service;
  }

  /** What it waits for, as soon as it says this. */
  waitsFor(what: RegExp): Promise<string> {
    return eventually(
      `it waits for ${what}`,
      async () => {
        if (this.child.exitCode !== null) throw new Error(`it ended: ${this.log}`);
        const answer = await fetch(`${this.opsUrl}/readyz`);
        const { reasons } = (await answer.json()) as { reasons: string[] };
        // No step stands around it, whose limit would count all attempts together.
        return reasons.length === 1 ? reasons.find((reason) => what.test(reason)) : undefined;
      },
      STEP_MS,
    );
  }

  async isReady(): Promise<void> {
    await eventually(`it is ready: ${this.log}`, async () => (await fetch(`${this.opsUrl}/readyz`)).ok, STEP_MS);
  }

  async isHealthy(): Promise<boolean> {
    return (await fetch(`${this.opsUrl}/healthz`)).ok;
  }

  /** Warnings that begin so. */
  warnings(begin: string): string[] {
    const lines = this.log
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { level: number; msg: string });
    return lines.map(({ msg }) => msg).filter((text) => text.startsWith(begin));
  }

  async end(): Promise<void> {
    if (this.child.exitCode !== null) return;
    const exited = once(this.child, 'exit');
    this.child.kill('SIGTERM');
    await exited;
  }
}

describe('a service that starts before what it needs', () => {
  it(
    'waits for NATS, then for PostgreSQL, says so in one line each, and becomes ready',
    { timeout: LONG_MS },
    async () => {
      const nats = await LateServer.before(stack.natsUrl);
      const postgres = await LateServer.before(stack.databaseUrl);
      const projector = await Service.start('projector', {
        WAYBILL_NATS_URL: nats.url,
        WAYBILL_DATABASE_URL: postgres.url,
      });
      const natsPort = new URL(nats.url).port;
      await projector.waitsFor(
        new RegExp(`^starting: connecting to NATS: .*127\\.0\\.0\\.1:${natsPort}.*ECONNREFUSED`),
      );
      expect(await projector.isHealthy()).toBe(true);
      await nats.open();
      const postgresPort = new URL(postgres.url).port;
      const schema = 'bringing the schema of PostgreSQL up to date';
      await projector.waitsFor(
        new RegExp(`^starting: ${schema}: connect ECONNREFUSED 127\\.0\\.0\\.1:${postgresPort}`),
      );
      await postgres.open();
      await projector.isReady();
      expect(projector.warnings('waiting, connecting to NATS: ')).toHaveLength(1);
      expect(projector.warnings(`waiting, ${schema}: `)).toHaveLength(1);
      expect(projector.log).not.toContain(new URL(stack.databaseUrl).password);
    },
  );

  it('waits for a name that nobody knows yet', { timeout: LONG_MS }, async () => {
    const agent = await Service.start('agent', {
      WAYBILL_NATS_URL: 'nats://waybill-nats.invalid:4222',
      WAYBILL_AGENT_DIR: await ownDirectory(),
      WAYBILL_NODE_NAME: 'early',
    });
    await agent.waitsFor(/^starting: connecting to NATS: .*waybill-nats\.invalid.*(ENOTFOUND|EAI_AGAIN)/);
    expect(await agent.isHealthy()).toBe(true);
  });

  it('waits for a snapshot when the log has lost its beginning', { timeout: LONG_MS }, async () => {
    const broker = await Service.start('broker', {});
    const projector = await Service.start('projector', {});
    await broker.isReady();
    await projector.isReady();
    const pool = openPool(stack.databaseUrl);
    undo.push(() => pool.end());
    const applied = await eventually('two transactions are applied', async () => {
      const { index } = (await appliedMark(pool)) ?? { index: 0 };
      return index >= 2 && index;
    });
    const nc = await connectNats({ servers: stack.natsUrl });
    undo.push(() => nc.close());
    await (await jetstreamManager(nc)).streams.purge('TXN', { seq: applied });

    const postgres = await LateServer.before(stack.databaseUrl);
    const scheduler = await Service.start('scheduler', { WAYBILL_DATABASE_URL: postgres.url });
    await scheduler.waitsFor(/^starting: loading the state: there is no snapshot to start from.*ECONNREFUSED/);
    await postgres.open();
    await scheduler.isReady();
    expect(scheduler.warnings('no snapshot to start from')).toEqual([]);
  });

  it("waits for JetStream's peers", { timeout: LONG_MS }, async () => {
    const nats = await NatsCluster.startPart(await ownDirectory(), [0, 1]);
    undo.push(() => nats.stop());
    const broker = await Service.start('broker', {
      WAYBILL_NATS_URL: nats.url,
      WAYBILL_STREAM_REPLICAS: '3',
      WAYBILL_DATABASE_URL: (await LateServer.before(stack.databaseUrl)).url,
    });
    await broker.waitsFor(
      /^starting: making the streams of the log: .*cannot create stream TXN: JetStream system temporarily unavailable/,
    );
    nats.startServer(2);
    await broker.isReady();
  });
});

async function ownDirectory(): Promise<string> {
  const dir = await mkdtemp(path.join(tmpdir(), 'waybill-order-'));
  undo.push(() => rm(dir, { recursive: true, force: true }));
  return dir;
}
