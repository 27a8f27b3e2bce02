import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort, natsServerPath } from '@waybill/embedded';
import { eventually } from './wait.js';

const MANIFESTS = fileURLToPath(new URL('../../k8s/base/nats/', import.meta.url));
const SERVERS = [0, 1, 2] as const;
/** They elect leaders, and who was away catches up. */
export const WHOLE_WITHIN_MS = 60_000;

interface Server {
  readonly dir: string;
  readonly port: number;
  readonly monitor: number;
  child: ChildProcess | undefined;
}

/** The three servers that production has, with the configuration it has, on ports of one machine. */
export class NatsCluster {
  private constructor(
    private readonly servers: readonly Server[],
    private readonly binary: string,
  ) {}

  static async start(dir: string): Promise<NatsCluster> {
    const cluster = await NatsCluster.startPart(dir, SERVERS);
    await eventually(`the servers agree (logs: ${dir})`, () => cluster.isWhole(), WHOLE_WITHIN_MS);
    return cluster;
  }

  /** Some of the servers, which may not have found each other yet. */
  static async startPart(dir: string, part: readonly number[]): Promise<NatsCluster> {
    const ports = await Promise.all(SERVERS.flatMap(() => [freePort(), freePort(), freePort()]));
    const port = (server: number, n: number): number => ports[server * SERVERS.length + n] ?? 0;
    const routes = SERVERS.map((n) => `nats://127.0.0.1:${port(n, 2)}`);
    const servers = SERVERS.map((n) => {
      const own = path.join(dir, `nats-${n}`);
      mkdirSync(own, { recursive: true });
      writeFileSync(path.join(own, 'accounts.conf'), readFileSync(path.join(MANIFESTS, 'accounts.conf')));
      const here = {
        '0.0.0.0:4222': `127.0.0.1:${port(n, 0)}`,
        '0.0.0.0:8222': `127.0.0.1:${port(n, 1)}`,
        '0.0.0.0:6222': `127.0.0.1:${port(n, 2)}`,
        '/tmp/nats.pid': path.join(own, 'nats.pid'),
        'store_dir: /data': `store_dir: ${path.join(own, 'data')}`,
        ...Object.fromEntries(routes.map((route, i) => [`nats://waybill-nats-${i}.waybill-nats-peers:6222`, route])),
      };
      writeFileSync(path.join(own, 'nats.conf'), onThisMachine(here));
      return { dir: own, port: port(n, 0), monitor: port(n, 1), child: undefined };
    });
    const cluster = new NatsCluster(servers, await natsServerPath());
    for (const n of part) cluster.startServer(n);
    return cluster;
  }

  get url(): string {
    return this.servers.map(({ port }) => `nats://127.0.0.1:${port}`).join(',');
  }

  startServer(n: number): void {
    const server = this.server(n);
    const log = openSync(path.join(server.dir, 'log'), 'a');
    server.child = spawn(this.binary, ['-c', path.join(server.dir, 'nats.conf')], {
      env: { ...process.env, POD_NAME: nameOf(n), NATS_MAX_FILE_STORE: '9GB' },
      stdio: ['ignore', log, log],
    });
    closeSync(log);
  }

  async kill(n: number, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const { child } = this.server(n);
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill(signal);
    await exited;
  }

  /** All three are there and none lacks anything of any stream: one of them may be lost. */
  async isWhole(): Promise<boolean> {
    const answers = await Promise.all(this.servers.map(({ monitor }) => fetch(`http://127.0.0.1:${monitor}/healthz`)));
    return answers.every(({ ok }) => ok);
  }

  async stop(): Promise<void> {
    for (const n of SERVERS) await this.kill(n);
  }

  private server(n: number): Server {
    const server = this.servers[n];
    if (!server) throw new RangeError(`there is no server ${n}`);
    return server;
  }
}

const nameOf = (n: number): string => `waybill-nats-${n}`;

/** The manifest's configuration with other addresses. @throws if one that is to be replaced is not there */
function onThisMachine(here: Readonly<Record<string, string>>): string {
  let text = readFileSync(path.join(MANIFESTS, 'nats.conf'), 'utf8');
  for (const [there, address] of Object.entries(here)) {
    if (!text.includes(there)) throw new Error(`nats.conf has no ${there}`);
    text = text.replaceAll(there, address);
  }
  return text;
}
