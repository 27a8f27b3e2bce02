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

/** Where the services find their servers, and how to end those that are ours. */
export interface Servers {
  readonly natsUrl: string;
  readonly databaseUrl: string;
  /** Absent: the nats-server is somebody else's, and the environment says what he wants. */
  readonly credentials: CredentialFiles | undefined;
}

/** Which servers are to start, and how. */
export interface ServersWish {
  readonly paths: EmbeddedDataPaths;
  readonly env: NodeJS.ProcessEnv;
  /** Port, 0: any free one; address; and when it syncs to disk. */
  readonly nats: { readonly natsPort: number; readonly natsBind: string; readonly sync: string };
  readonly tls: ServerTls | undefined;
}

/** Whether a start has to create everything, which takes longer. */
export function isFirstStart(dataDir: string): boolean {
  return !existsSync(path.join(dataDir, 'nats'));
}

/**
 * Starts the nats-server and the PostgreSQL that the environment does not name (WAYBILL_NATS_URL, WAYBILL_DATABASE_URL),
 * both at once. `onStarted` gets each that runs, also when the other fails: it has to be stopped.
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
    // Loads the code of services, which has to be done anyway: only now, while PostgreSQL starts.
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
