import path from 'node:path';
import { Client } from 'pg';
import { asDataDirectoryFailure } from './data-directory-failure.js';
import { PortTakenError, type DiskFullError } from './failures.js';
import { awaitLeftoverServer, type ServerFiles } from './leftover-server.js';
import type { RunningServer } from './nats-server.js';
import { postgresBinaries, type PostgresBinaries } from './postgres-binaries.js';
import { DATABASE_USER, openCluster, serverEnvironment, type PostgresCluster } from './postgres-cluster.js';
import { unclaimedHomes } from './postgres-location.js';
import { SupervisedServer, type UnexpectedExit } from './supervised-server.js';
import type { ServerTls } from './server-tls.js';
import { placeServerTls, tlsSettings } from './postgres-tls.js';
import { SYSTEM_DIRECTORY } from './system-directory.js';
import { assertPortFree, freePort } from './tcp-port.js';

export interface PostgresOptions {
  /** The server's own directory: password, cluster, log. */
  readonly dir: string;
  /** The port. 0 (the default) stands for any free port. */
  readonly port?: number;
  /** The password. By default it is generated when the cluster is created, and kept in `<dir>/password` (0600). */
  readonly password?: string;
  /**
   * The certificates. If they are set, the URL requires encrypted connections and proof of the server's identity. By
   * default connections are not encrypted.
   */
  readonly tls?: Omit<ServerTls, 'verifyCallers'> | undefined;
  /** Further server settings, `name=value`. */
  readonly settings?: readonly string[];
  /** Starts faster and does not survive a host crash, for data that is thrown away. Default false. */
  readonly throwaway?: boolean;
  /**
   * Copies the data and the password of another server, by its directory, if there are none. The other server must have
   * stopped.
   */
  readonly copyOf?: string | undefined;
  /** Starts the server again on the same port whenever it ends by itself. Default false. */
  readonly restart?: boolean;
  readonly onExit?: (exit: UnexpectedExit) => void;
  /** Is called once per run, when nothing can be written any more. */
  readonly onDiskFull?: (error: DiskFullError) => void;
  readonly log?: (line: string) => void;
}

export const DATABASE = 'waybill';

/**
 * The settings are for a small, durable database on a developer's machine: fsync and synchronous_commit stay on. It
 * listens on the loopback only and has no socket files.
 */
const SETTINGS = [
  'listen_addresses=127.0.0.1',
  'unix_socket_directories=',
  'shared_buffers=64MB',
  'max_connections=100',
  'jit=off',
  'wal_level=minimal',
  'max_wal_senders=0',
  'log_checkpoints=off',
];
const THROWAWAY_SETTINGS = ['fsync=off', 'full_page_writes=off'];
/**
 * The longest wait in milliseconds for the server to get ready. Recovery after a crash reads the whole write-ahead log
 * since the last checkpoint.
 */
const READY_TIMEOUT_MS = 120_000;
const CONNECT_TIMEOUT_MS = 2_000;
/** The number of attempts. A free port may be taken before the server has it. */
const PORT_ATTEMPTS = 5;
/** The largest number of databases without a directory that are named. */
const TOLD_HOMES = 3;

/**
 * Starts a PostgreSQL with the database `waybill` and resolves when it answers queries.
 * Throws UnsupportedPlatformError, AlteredProgramError, PortTakenError, DataDirectoryError, DiskFullError or ServerFailedError.
 */
export async function startPostgres(options: PostgresOptions): Promise<RunningServer> {
  const dir = path.resolve(options.dir);
  const binaries = postgresBinaries();
  const checked = binaries.verify();
  checked.catch(() => {}); // whoever is about to execute something hears of it
  let cluster: PostgresCluster;
  try {
    cluster = await openCluster(binaries, {
      dir,
      password: options.password,
      unsynced: options.throwaway ?? false,
      copyOf: options.copyOf,
      checked,
    });
  } catch (error) {
    throw asDataDirectoryFailure(error, dir);
  }
  tellOfUnclaimedHomes(dir, options.log ?? (() => {}));
  const wanted = options.port ?? 0;
  for (let attempt = 1; ; attempt++)
    try {
      return await startOn(wanted === 0 ? await freePort() : wanted, { binaries, cluster, checked }, options);
    } catch (error) {
      if (!(error instanceof PortTakenError) || wanted !== 0 || attempt === PORT_ATTEMPTS) throw error;
    }
}

/**
 * Reports unclaimed homes. It names homes of this very directory first, because whoever starts here may be looking for
 * them.
 */
function tellOfUnclaimedHomes(dir: string, log: (line: string) => void): void {
  const homes = unclaimedHomes().sort((a, b) => Number(b.owner === dir) - Number(a.owner === dir));
  for (const { home, owner } of homes.slice(0, TOLD_HOMES))
    log(`${home} is the database of ${owner}, which is gone or was moved: remove it if nobody needs it.`);
  if (homes.length > TOLD_HOMES) log(`There are ${homes.length - TOLD_HOMES} more like it in ${SYSTEM_DIRECTORY}.`);
}

/** Returns the server's files in the home of its cluster. */
export function postgresFiles(home: string): ServerFiles & { readonly data: string } {
  const data = path.join(home, 'data');
  return {
    server: 'postgres',
    data,
    pidFile: path.join(data, 'postmaster.pid'),
    commandLineHolds: ['postgres', data],
    logFile: path.join(home, 'postgres.log'),
  };
}

interface OpenedCluster {
  readonly binaries: PostgresBinaries;
  readonly cluster: PostgresCluster;
  /** Resolves when the binaries may be executed. */
  readonly checked: Promise<void>;
}

async function startOn(
  port: number,
  { binaries, cluster, checked }: OpenedCluster,
  options: PostgresOptions,
): Promise<RunningServer> {
  const files = postgresFiles(cluster.home);
  const { server: name, data, logFile } = files;
  const log = options.log ?? (() => {});
  if (options.tls) await placeServerTls(cluster, options.tls);
  const encrypted = options.tls ? tlsSettings(cluster) : [];
  const settings = [
    ...SETTINGS,
    ...encrypted,
    ...(options.throwaway ? THROWAWAY_SETTINGS : []),
    ...(options.settings ?? []),
  ];
  let firstCheck: Promise<void> | undefined = checked;
  const server = new SupervisedServer({
    server: name,
    port,
    dir: cluster.home,
    process: {
      command: binaries.postgres,
      args: ['-D', data, '-p', `${port}`, ...settings.flatMap((setting) => ['-c', setting])],
      stopSignal: 'INT',
      cwd: data,
      env: serverEnvironment(),
      logFile,
      ...cluster.user,
    },
    readyTimeoutMs: READY_TIMEOUT_MS,
    prepare: async () => {
      const check = firstCheck ?? binaries.verify();
      firstCheck = undefined;
      await Promise.all([check, awaitLeftoverServer({ ...files, log })]);
      await assertPortFree(port, name);
    },
    isReady: async () => await hasDatabase(port, cluster.password),
    restart: options.restart ?? false,
    brokenByFullDisk: false,
    onExit: options.onExit ?? (() => {}),
    onDiskFull: options.onDiskFull ?? (() => {}),
    log,
  });
  await server.start();
  return {
    url: databaseUrl(port, cluster.password, options.tls?.caFile),
    port,
    get pid() {
      return server.pid;
    },
    stop: async () => await server.stop(),
  };
}

function databaseUrl(port: number, password: string, caFile: string | undefined): string {
  const proof = caFile === undefined ? '' : `?sslmode=verify-full&sslrootcert=${encodeURIComponent(caFile)}`;
  return `postgresql://${DATABASE_USER}:${encodeURIComponent(password)}@127.0.0.1:${port}/${DATABASE}${proof}`;
}

/** Creates the database if it is missing, as after an interrupted first start. */
async function hasDatabase(port: number, password: string): Promise<boolean> {
  const client = new Client({
    host: '127.0.0.1',
    port,
    user: DATABASE_USER,
    password,
    database: 'postgres',
    ssl: false,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  });
  client.on('error', () => {}); // the pending call reports it
  try {
    await client.connect();
    const found = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [DATABASE]);
    if (found.rowCount === 0) await client.query(`CREATE DATABASE ${DATABASE}`);
    return true;
  } finally {
    await client.end().catch(() => {});
  }
}
