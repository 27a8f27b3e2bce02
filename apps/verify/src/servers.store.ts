import { readFileSync } from 'node:fs';
import path from 'node:path';
import {
  DataDirectoryError,
  embeddedDataPaths,
  openDataDirectory,
  startNats,
  startPostgres,
  type EmbeddedDataPaths,
} from '@waybill/embedded';
import { readCredentials } from '@waybill/journal';
import { natsAccounts, serviceUser } from '@waybill/rpc';

/** Where the log and the projection are, and how to leave them. */
export interface Servers {
  readonly natsUrl: string;
  /** File with the key of a service; undefined: the server takes whoever comes. */
  readonly natsCredentials: string | undefined;
  /** Undefined: not asked for. */
  readonly databaseUrl: string | undefined;
  close(): Promise<void>;
}

export interface Wanted {
  readonly env: NodeJS.ProcessEnv;
  /** Of `npm start`; used for what the environment does not name. */
  readonly dataDir: string;
  readonly database: boolean;
}

/** Nothing is there to be checked. */
export class NoServersError extends Error {
  override readonly name = 'NoServersError';
}

/**
 * The servers that the environment names (WAYBILL_NATS_URL, WAYBILL_DATABASE_URL), else those of the data directory of
 * `npm start`: the running ones, or, when nothing runs there, started on it until `close`.
 * @throws NoServersError, and what starting them fails with
 */
export async function reachServers({ env, dataDir, database }: Wanted): Promise<Servers> {
  const { WAYBILL_NATS_URL: natsUrl, WAYBILL_DATABASE_URL: databaseUrl } = env;
  const natsCredentials = env['WAYBILL_NATS_CREDENTIALS'];
  if (natsUrl && (databaseUrl || !database)) return { natsUrl, natsCredentials, databaseUrl, close: async () => {} };
  if (natsUrl)
    throw new NoServersError('WAYBILL_DATABASE_URL is not set: the database that belongs to WAYBILL_NATS_URL');
  const paths = embeddedDataPaths(dataDir);
  if (!exists(path.join(paths.nats, 'nats-server.conf')))
    throw new NoServersError(
      `${paths.root} holds no log: set WAYBILL_NATS_URL, or give the data directory with --data-dir`,
    );
  try {
    return await startOn(paths, database);
  } catch (error) {
    if (!(error instanceof DataDirectoryError) || error.problem !== 'in-use') throw error;
    return {
      natsUrl: `nats://127.0.0.1:${runningNatsPort(paths)}`,
      natsCredentials: serviceKey(paths),
      databaseUrl: database ? runningDatabaseUrl(paths) : undefined,
      close: async () => {},
    };
  }
}

async function startOn(paths: EmbeddedDataPaths, database: boolean): Promise<Servers> {
  const directory = await openDataDirectory(paths.root);
  const stops: (() => Promise<void>)[] = [];
  const close = async (): Promise<void> => {
    for (const stop of stops.toReversed()) await stop();
    await directory.release();
  };
  try {
    const natsCredentials = serviceKey(paths);
    const accounts = natsCredentials && natsAccounts([serviceUser((await readCredentials(natsCredentials)).publicKey)]);
    const nats = await startNats({ dir: paths.nats, ...(accounts && { accounts }) });
    stops.push(() => nats.stop());
    const postgres = database ? await startPostgres({ dir: paths.postgres }) : undefined;
    if (postgres) stops.push(() => postgres.stop());
    return { natsUrl: nats.url, natsCredentials, databaseUrl: postgres?.url, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Of the data directory; one from before there were keys has none. */
function serviceKey({ credentials }: EmbeddedDataPaths): string | undefined {
  const file = path.join(credentials, 'services.seed');
  return exists(file) ? file : undefined;
}

function runningNatsPort({ nats }: EmbeddedDataPaths): number {
  const found = /^port: (\d+)$/m.exec(readFileSync(path.join(nats, 'nats-server.conf'), 'utf8'));
  if (!found) throw new NoServersError(`${nats} does not say where its nats-server listens`);
  return Number(found[1]);
}

/** Line 4 of a PostgreSQL's pid file is its port. */
function runningDatabaseUrl({ postgres, postgresHome }: EmbeddedDataPaths): string {
  const port = readFileSync(path.join(postgresHome, 'data', 'postmaster.pid'), 'utf8').split('\n')[3];
  const password = readFileSync(path.join(postgres, 'password'), 'utf8').trim();
  return `postgresql://waybill:${encodeURIComponent(password)}@127.0.0.1:${port}/waybill`;
}

function exists(file: string): boolean {
  try {
    readFileSync(file);
    return true;
  } catch {
    return false;
  }
}
