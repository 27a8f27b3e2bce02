import type { CredentialFiles } from './nats-credentials.js';
import { existsSync } from 'node:fs';
import path from 'node:path';
import {
  type EmbeddedDataPaths,
  type RunningServer,
  startNats,
  startPostgres,
  type ServerTls,
} from '@waybill/embedded';
import type { Report } from './report.js';

/** Servers says where the services find their servers. */
export interface Servers {
  readonly natsUrl: string;
  readonly databaseUrl: string;
  /**
   * The credentials are absent if the nats-server belongs to somebody else. The environment then has its credentials.
   */
  readonly credentials: CredentialFiles | undefined;
}

/** ServersWish says which servers to start and how. */
export interface ServersWish {
  readonly paths: EmbeddedDataPaths;
  readonly env: NodeJS.ProcessEnv;
  /** The port (0 for any free one), the address, and the time of syncing to disk. */
  readonly nats: { readonly natsPort: number; readonly natsBind: string; readonly sync: string };
  readonly tls: ServerTls | undefined;
}

/** Says whether a start has to create everything, which takes longer. */
export function isFirstStart(dataDir: string): boolean {
  return !existsSync(path.join(dataDir, 'nats'));
}

/**
 * Starts nats-server and PostgreSQL at the same time, unless the environment names them (WAYBILL_NATS_URL,
 * WAYBILL_DATABASE_URL). `onStarted` receives each server that runs, even if the other one fails, so that the caller
 * can stop it.
 */
export async function startServers(
  { paths, env, nats: { natsPort, natsBind, sync }, tls }: ServersWish,
  report: Report,
  onStarted: (server: RunningServer) => void,
): Promise<Servers> {
  const embedded = async (name: string, what: string, start: Promise<RunningServer>): Promise<string> => {
    const server = await report.during(name, what, start);
    onStarted(server);
    report.state({ name, ready: true, detail: new URL(server.url).host });
    return server.url;
  };
  const given = async (name: string, url: string): Promise<string> => {
    const { withoutPasswords } = await import('@waybill/service'); // which has read the environment already
    report.state({ name, ready: true, detail: `yours, ${withoutPasswords(url)}` });
    return url;
  };
  let credentials: CredentialFiles | undefined;
  const guardedNats = async (): Promise<RunningServer> => {
    // This import loads the code of services, which is needed anyway. Here it runs while PostgreSQL starts.
    const { natsCredentials } = await import('./nats-credentials.js');
    const { files, accounts, invitedAtPort } = await natsCredentials(paths);
    credentials = files;
    const port = natsPort || invitedAtPort;
    return await startNats({ dir: paths.nats, host: natsBind, port, syncInterval: sync, accounts, tls, ...options });
  };
  const options = { restart: true, log: report.warn };
  const natsUrl = env['WAYBILL_NATS_URL'];
  const databaseUrl = env['WAYBILL_DATABASE_URL'];
  const [nats, database] = await Promise.allSettled([
    natsUrl ? given('nats', natsUrl) : embedded('nats', 'starting', guardedNats()),
    databaseUrl
      ? given('postgres', databaseUrl)
      : embedded('postgres', 'preparing the database', startPostgres({ dir: paths.postgres, tls, ...options })),
  ]);
  if (nats.status === 'rejected') throw nats.reason;
  if (database.status === 'rejected') throw database.reason;
  return { natsUrl: nats.value, databaseUrl: database.value, credentials };
}
