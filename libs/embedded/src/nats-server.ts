import { existsSync } from 'node:fs';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import path from 'node:path';
import { makeDirectory } from '@waybill/processes';
import { asDataDirectoryFailure } from './data-directory-failure.js';
import { type DiskFullError, NotRunningError, PortTakenError } from './failures.js';
import { awaitLeftoverServer, runningServer, type ServerFiles } from './leftover-server.js';
import {
  ACCOUNTS_FILE,
  DEFAULT_HOST,
  type Listening,
  listeningOf,
  type NatsAccounts,
  natsAccountsText,
  natsConfigText,
  reachedAt,
  urlHost,
} from './nats-config.js';
import { natsServerProgram, type NatsServerProgram } from './nats-server-binary.js';
import type { ServerTls } from './server-tls.js';
import { diskSize } from './disk-space.js';
import { SupervisedServer, type UnexpectedExit } from './supervised-server.js';
import { assertPortFree, freePort } from './tcp-port.js';

export interface NatsOptions {
  /** The server's own directory: configuration, log, streams. */
  readonly dir: string;
  /** The address on which the server listens. Default: the loopback. */
  readonly host?: string;
  /** The port. 0 (the default) stands for any free port. */
  readonly port?: number;
  /** The largest size of a message in bytes. The default is 8 MiB, above which the server itself warns. */
  readonly maxPayloadBytes?: number;
  /** JetStream's sync_interval: a duration or `always`. Default `100ms`. */
  readonly syncInterval?: string;
  /**
   * The users that may connect, in the form of the server's configuration. Streams from before there were accounts go
   * to the first account. By default anybody may connect.
   */
  readonly accounts?: NatsAccounts;
  /** The block `authorization`: who decides about connections that `accounts` does not know. By default they are refused. */
  readonly authorization?: object;
  /** By default connections are not encrypted. */
  readonly tls?: ServerTls | undefined;
  /** Starts the server again on the same port whenever it ends by itself. Default false. */
  readonly restart?: boolean;
  readonly onExit?: (exit: UnexpectedExit) => void;
  /** Is called once per run, when nothing can be written any more. */
  readonly onDiskFull?: (error: DiskFullError) => void;
  readonly log?: (line: string) => void;
  /** The program. By default it is the one that NATS_SERVER_BIN names, or the npm package's. */
  readonly program?: NatsServerProgram;
}

export interface RunningServer {
  readonly url: string;
  readonly port: number;
  /** The process ID of the server itself. It is current after a restart too. */
  readonly pid: number;
  stop(): Promise<void>;
}

const DEFAULT_MAX_PAYLOAD_BYTES = 8 * 1024 * 1024;
/** The longest wait in milliseconds for the server to get ready. Recovering large streams takes a while. */
const READY_TIMEOUT_MS = 60_000;
const PROBE_TIMEOUT_MS = 1_000;
/** The number of attempts. A free port may be taken before the server has it. */
const PORT_ATTEMPTS = 5;

/**
 * Starts a nats-server with JetStream and resolves when it answers.
 * Throws NatsServerBinaryError, AlteredProgramError, PortTakenError, DataDirectoryError, DiskFullError or ServerFailedError.
 */
export async function startNats(options: NatsOptions): Promise<RunningServer> {
  const program = options.program ?? (await natsServerProgram({ log: options.log }));
  const wanted = options.port ?? 0;
  for (let attempt = 1; ; attempt++)
    try {
      return await startOn(wanted === 0 ? await freePort() : wanted, program, options);
    } catch (error) {
      if (!(error instanceof PortTakenError) || wanted !== 0 || attempt === PORT_ATTEMPTS) throw error;
    }
}

/** The server's files in its directory. */
export function natsFiles(dir: string): ServerFiles & { readonly configFile: string } {
  const configFile = path.join(dir, 'nats-server.conf');
  return {
    server: 'nats-server',
    configFile,
    pidFile: path.join(dir, 'nats-server.pid'),
    commandLineHolds: [configFile],
    logFile: path.join(dir, 'nats-server.log'),
  };
}

async function startOn(port: number, program: NatsServerProgram, options: NatsOptions): Promise<RunningServer> {
  const dir = path.resolve(options.dir);
  const files = natsFiles(dir);
  const { server: name, configFile, pidFile, logFile } = files;
  const log = options.log ?? (() => {});
  const host = options.host ?? DEFAULT_HOST;
  const reached = reachedAt(host);
  const storeDir = path.join(dir, 'streams');
  const config = async (): Promise<string> =>
    natsConfigText({
      host,
      port,
      storeDir,
      maxFileStoreBytes: (await diskSize(storeDir)) ?? (await diskSize(dir)),
      pidFile,
      maxPayloadBytes: options.maxPayloadBytes ?? DEFAULT_MAX_PAYLOAD_BYTES,
      syncInterval: options.syncInterval ?? '100ms',
      guarded: options.accounts !== undefined,
      tls: options.tls,
    });
  try {
    await makeDirectory(dir, { mode: 0o700 });
    if (options.accounts) await writeAccounts(dir, options.accounts, options.authorization);
    await writeFile(configFile, await config(), { mode: 0o600 });
  } catch (error) {
    throw asDataDirectoryFailure(error, dir);
  }
  const server = new SupervisedServer({
    server: name,
    port,
    dir,
    process: {
      command: program.file,
      args: ['-c', configFile],
      stopSignal: 'TERM',
      cwd: dir,
      env: process.env,
      logFile,
    },
    readyTimeoutMs: READY_TIMEOUT_MS,
    prepare: async () => {
      await Promise.all([program.verify(), awaitLeftoverServer({ ...files, log })]);
      await assertPortFree(port, name, host);
      const [owner] = Object.keys(options.accounts ?? {});
      if (owner !== undefined) await adoptStreams(path.join(dir, 'streams', 'jetstream'), owner);
    },
    isReady: async () => await greetsWithJetStream(reached, port),
    restart: options.restart ?? false,
    brokenByFullDisk: true, // a stream that failed to write once refuses every later message
    onExit: options.onExit ?? (() => {}),
    onDiskFull: options.onDiskFull ?? (() => {}),
    log,
  });
  await server.start();
  return {
    url: `${options.tls ? 'tls' : 'nats'}://${urlHost(reached)}:${port}`,
    port,
    get pid() {
      return server.pid;
    },
    stop: async () => await server.stop(),
  };
}

/**
 * Makes the server that runs in `dir` read anew who may connect. Connections of users that still may connect stay open.
 * @returns where it listens
 * @throws NotRunningError
 */
export async function changeNatsAccounts(dir: string, accounts: NatsAccounts): Promise<Listening> {
  const files = natsFiles(path.resolve(dir));
  const pid = runningServer(files);
  const listening = pid === undefined ? undefined : listeningOf(await readFile(files.configFile, 'utf8'));
  if (pid === undefined || listening === undefined) throw new NotRunningError(dir);
  await writeAccounts(path.resolve(dir), accounts);
  process.kill(pid, 'SIGHUP');
  return listening;
}

/** Writes the accounts. The server may start at any moment, and finds the whole old or the whole new file. */
async function writeAccounts(dir: string, accounts: NatsAccounts, authorization?: object): Promise<void> {
  const file = path.join(dir, ACCOUNTS_FILE);
  await writeFile(`${file}.new`, natsAccountsText(accounts, authorization), { mode: 0o600 });
  await rename(`${file}.new`, file);
}

/** The account in which nats-server keeps streams without accounts. */
const GLOBAL_ACCOUNT = '$G';

async function adoptStreams(streamsDir: string, account: string): Promise<void> {
  const own = path.join(streamsDir, account);
  const unowned = path.join(streamsDir, GLOBAL_ACCOUNT);
  if (existsSync(unowned) && !existsSync(own)) await rename(unowned, own);
}

/**
 * Says whether the server answers. It greets every connection with one INFO line, and listens only when its streams are
 * recovered.
 */
async function greetsWithJetStream(host: string, port: number): Promise<boolean> {
  return await new Promise((resolve, reject) => {
    const socket = connect(port, host);
    let greeting = '';
    socket.setTimeout(PROBE_TIMEOUT_MS, () => socket.destroy(new Error('no greeting')));
    socket.once('error', reject);
    socket.once('close', () => resolve(false));
    socket.on('data', (chunk) => {
      greeting += chunk.toString('latin1');
      if (!greeting.includes('\r\n')) return;
      resolve(/^INFO .*"jetstream":true/.test(greeting));
      socket.destroy();
    });
  });
}
