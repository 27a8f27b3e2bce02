import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { closeSync, existsSync, openSync } from 'node:fs';
import { unlink } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { isErrno } from '@waybill/processes';
import type { Logger } from '@waybill/telemetry';
import { pause } from '../../drivers/waiting.js';
import { LogCollector, makeCollectDirectory } from './log-collector.js';
import { below, ownDirectory, pathName } from '../../paths/path-name.js';

/** The longest wait in milliseconds for a new collector to answer. */
const START_TIMEOUT_MS = 10_000;
const CONNECT_RETRY_MS = 20;
/** The pause in milliseconds after a failed attempt to start a collector. */
const RESTART_PAUSE_MS = 500;
/** The longest wait in milliseconds for a busy collector to open new streams. */
const SCAN_TIMEOUT_MS = 5_000;
/**
 * A collector without an agent and without streams ends after this time in milliseconds, and at once if its directory
 * is gone.
 */
const IDLE_EXIT_MS = 30_000;
/** The longest path of a unix socket that every system accepts. */
const MAX_SOCKET_PATH = 100;

/** Returns the socket of a directory's collector. Only one collector can listen there. */
export function collectorSocket(dir: string): string {
  const inDir = below(ownDirectory(dir), 'collector.sock');
  if (inDir.length <= MAX_SOCKET_PATH) return inDir;
  const digest = createHash('sha256').update(ownDirectory(dir)).digest('hex').slice(0, 24);
  return below(tmpdir(), pathName(`waybill-collector-${digest}.sock`));
}

/**
 * CollectorProcess keeps the collector process of a directory running, from the agent's side. The process outlives the
 * agent, as tasks do. If it is gone, the agent starts a new one, which continues every stream.
 *
 * States: stopped → connected ⇄ reconnecting → stopped. Each side knows by the open connection that the other is alive.
 */
export class CollectorProcess {
  private connection: Socket | undefined;
  /** The unanswered requests, in order. */
  private readonly scans: (() => void)[] = [];
  private stopped = false;

  constructor(
    private readonly dir: string,
    private readonly logger: Logger,
  ) {}

  /** Resolves when a collector runs. @throws Error if none can be started */
  async start(): Promise<void> {
    makeCollectDirectory(this.dir);
    this.useConnection((await tryConnect(collectorSocket(this.dir))) ?? (await this.launch()));
  }

  /** Disconnects from the collector. It continues until its tasks have ended. */
  stop(): void {
    this.stopped = true;
    this.connection?.destroy();
  }

  /**
   * Resolves when the collector reads all current streams. Until then the caller must keep them open. It also resolves
   * after SCAN_TIMEOUT_MS, because logs must not delay a task.
   */
  async scan(): Promise<void> {
    const { connection } = this;
    if (!connection) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, SCAN_TIMEOUT_MS);
      const done = (): void => {
        clearTimeout(timer);
        resolve();
      };
      this.scans.push(done);
      connection.write('\n');
    });
  }

  private useConnection(connection: Socket): void {
    if (this.stopped) return void connection.destroy();
    this.connection = connection;
    connection.unref();
    connection.on('error', () => {}); // the close event follows and reports it
    connection.on('data', (answers) => {
      for (const done of this.scans.splice(0, answers.length)) done();
    });
    connection.on('close', () => {
      this.connection = undefined;
      for (const done of this.scans.splice(0)) done();
      if (this.stopped) return;
      this.logger.warn('the log collector is gone; starting another one');
      void this.startAgain();
    });
  }

  /** Tries until a collector runs or the agent stops it. Meanwhile, tasks with full pipes wait. */
  private async startAgain(): Promise<void> {
    for (let hasTold = false; !this.stopped; hasTold = true) {
      try {
        return await this.start();
      } catch (error) {
        if (!hasTold) this.logger.error('no log collector: tasks will wait when their pipes are full', { error });
        await pause(RESTART_PAUSE_MS);
      }
    }
  }

  private async launch(): Promise<Socket> {
    const log = openSync(below(this.dir, 'collector.log'), 'a');
    try {
      const child = spawn(process.execPath, [entryPoint(), this.dir], {
        detached: true,
        stdio: ['ignore', 'ignore', log],
        cwd: '/',
      });
      child.on('error', (error) => this.logger.error('the log collector cannot be started', { error }));
      child.unref();
    } finally {
      closeSync(log);
    }
    for (const deadline = performance.now() + START_TIMEOUT_MS; performance.now() < deadline;) {
      const connection = await tryConnect(collectorSocket(this.dir));
      if (connection) return connection;
      await pause(CONNECT_RETRY_MS);
    }
    throw new Error(`the log collector did not answer within ${START_TIMEOUT_MS} ms; see ${this.dir}/collector.log`);
  }
}

/** Returns the path of the compiled entry, also if a test runs this file from its source. */
function entryPoint(): string {
  return fileURLToPath(new URL('main.js', import.meta.url)).replace(
    /([/\\])src([/\\]tasks[/\\]logs[/\\]main\.js)$/,
    '$1dist$2',
  );
}

/** Runs the collector process. Resolves when it has no more work, and at once if another collector is running. */
export async function runCollector(dir: string, logger: Logger): Promise<void> {
  makeCollectDirectory(dir);
  const server = await listenAlone(collectorSocket(dir));
  if (!server) return;
  const collector = new LogCollector(dir, logger);
  await collector.start();
  let agents = 0;
  server.on('connection', (agent) => {
    agents++;
    // Each byte is a question, and each is answered by one byte.
    agent.on('data', (asked) => void collector.scan().then(() => agent.write('\n'.repeat(asked.length))));
    agent.on('error', () => {});
    agent.on('close', () => agents--);
  });
  let idleSince = performance.now();
  await new Promise<void>((resolve) => {
    const look = setInterval(() => {
      if (agents > 0 || collector.open > 0) idleSince = performance.now();
      else if (performance.now() - idleSince >= IDLE_EXIT_MS || !existsSync(dir)) {
        clearInterval(look);
        resolve();
      }
    }, 1_000);
  });
  server.close();
  await collector.stop();
}

/** Listens alone on a socket. Returns undefined if another process listens there already. */
async function listenAlone(socketPath: string): Promise<Server | undefined> {
  for (;;) {
    try {
      return await listenOn(socketPath);
    } catch (error) {
      if (!isErrno(error, 'EADDRINUSE')) throw error;
      const other = await tryConnect(socketPath);
      if (other) {
        other.destroy();
        return undefined;
      }
      await unlink(socketPath).catch(() => undefined); // the socket of a process that was killed
    }
  }
}

function listenOn(socketPath: string): Promise<Server> {
  const server = createServer();
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(socketPath, () => resolve(server));
  });
}

function tryConnect(socketPath: string): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const socket = connect(socketPath);
    socket.once('connect', () => resolve(socket));
    socket.once('error', () => resolve(undefined));
  });
}
