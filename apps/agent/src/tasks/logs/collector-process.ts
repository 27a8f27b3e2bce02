import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { closeSync, existsSync, mkdirSync, openSync } from 'node:fs';
import { unlink } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { isErrno } from '@waybill/processes';
import type { Logger } from '@waybill/telemetry';
import { pause } from '../../drivers/waiting.js';
import { LogCollector } from './log-collector.js';
import { below, ownDirectory, pathName } from '../../paths/path-name.js';

/** How long a collector that was started may take to answer. */
const START_TIMEOUT_MS = 10_000;
const CONNECT_RETRY_MS = 20;
/** Pause before another attempt to have a collector after one that failed. */
const RESTART_PAUSE_MS = 500;
/** How long a busy collector may take to open new streams. */
const SCAN_TIMEOUT_MS = 5_000;
/** A collector without an agent and without a stream ends after this, and at once when its directory is gone. */
const IDLE_EXIT_MS = 30_000;
/** Longest path of a unix socket that every system takes. */
const MAX_SOCKET_PATH = 100;

/** The collector of a directory listens here; only one can. */
export function collectorSocket(dir: string): string {
  const inDir = below(ownDirectory(dir), 'collector.sock');
  if (inDir.length <= MAX_SOCKET_PATH) return inDir;
  const digest = createHash('sha256').update(ownDirectory(dir)).digest('hex').slice(0, 24);
  return below(tmpdir(), pathName(`waybill-collector-${digest}.sock`));
}

/**
 * Keeps the collector process of a directory running, seen from the agent. The process outlives the agent, as tasks do;
 * if it is gone, a new one is started and goes on with every stream.
 *
 * Modes: stopped → connected ⇄ reconnecting → stopped. The open connection is how each knows of the other.
 */
export class CollectorProcess {
  private connection: Socket | undefined;
  /** Asked for and not answered, in order. */
  private readonly scans: (() => void)[] = [];
  private stopped = false;

  constructor(
    private readonly dir: string,
    private readonly logger: Logger,
  ) {}

  /** Resolves when a collector runs. @throws when none can be started */
  async start(): Promise<void> {
    mkdirSync(this.dir, { recursive: true });
    this.use((await tryConnect(collectorSocket(this.dir))) ?? (await this.launch()));
  }

  /** Lets go of it; it goes on until its tasks have ended. */
  stop(): void {
    this.stopped = true;
    this.connection?.destroy();
  }

  /**
   * Resolves when every stream that is there now is being read: until then somebody else must hold it open. After
   * SCAN_TIMEOUT_MS it resolves too: a task is not held up by its logs.
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

  private use(connection: Socket): void {
    if (this.stopped) return void connection.destroy();
    this.connection = connection;
    connection.unref();
    connection.on('error', () => {}); // told by the close that follows
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

  /** Until one runs, or nobody wants it any more: meanwhile tasks wait whose pipes are full. */
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

/** The compiled entry, also when this file is run from source by a test. */
function entryPoint(): string {
  return fileURLToPath(new URL('main.js', import.meta.url)).replace(
    /([/\\])src([/\\]tasks[/\\]logs[/\\]main\.js)$/,
    '$1dist$2',
  );
}

/** What the collector process does. Resolves when it has nothing left to do, at once if another one is there. */
export async function runCollector(dir: string, logger: Logger): Promise<void> {
  mkdirSync(dir, { recursive: true });
  const server = await listenAlone(collectorSocket(dir));
  if (!server) return;
  const collector = new LogCollector(dir, logger);
  await collector.start();
  let agents = 0;
  server.on('connection', (agent) => {
    agents++;
    // One byte per question, one per answer.
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

/** Undefined: somebody listens there already. */
async function listenAlone(socketPath: string): Promise<Server | undefined> {
  for (;;) {
    try {
      return await listen(socketPath);
    } catch (error) {
      if (!isErrno(error, 'EADDRINUSE')) throw error;
      const other = await tryConnect(socketPath);
      if (other) {
        other.destroy();
        return undefined;
      }
      await unlink(socketPath).catch(() => undefined); // left behind by one that was killed
    }
  }
}

function listen(socketPath: string): Promise<Server> {
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
