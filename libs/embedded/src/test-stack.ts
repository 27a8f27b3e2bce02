import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startNats, type RunningServer } from './nats-server.js';
import { startPostgres } from './postgres-server.js';

export interface StackOptions {
  /** The directory. By default it is a temporary directory, which `stop` removes. A given directory stays. */
  readonly dir?: string;
  readonly syncInterval?: string;
  /** Starts killed servers again on their ports. Default false. */
  readonly restart?: boolean;
  /** Copies the data of a stopped PostgreSQL, by its directory. By default the database is empty. */
  readonly copyOf?: string | undefined;
}

export interface Stack {
  readonly natsUrl: string;
  readonly databaseUrl: string;
  readonly nats: RunningServer;
  readonly postgres: RunningServer;
  stop(): Promise<void>;
}

/**
 * Starts a real nats-server and a real PostgreSQL on free ports, for tests and benchmarks. It takes about half a
 * second.
 */
export async function startStack(options: StackOptions = {}): Promise<Stack> {
  const dir = options.dir ?? (await mkdtemp(path.join(tmpdir(), 'waybill-')));
  if (options.dir === undefined) await chmod(dir, 0o711); // root's PostgreSQL user passes through
  const { restart, syncInterval, copyOf } = options;
  const [nats, postgres] = await Promise.allSettled([
    startNats({ dir: path.join(dir, 'nats'), syncInterval, restart }),
    startPostgres({ dir: path.join(dir, 'postgres'), throwaway: true, restart, copyOf }),
  ]);
  const stop = async (): Promise<void> => {
    await Promise.all([nats, postgres].map(async (s) => (s.status === 'fulfilled' ? await s.value.stop() : undefined)));
    if (options.dir === undefined) await rm(dir, { recursive: true, force: true });
  };
  if (nats.status === 'rejected' || postgres.status === 'rejected') {
    await stop();
    throw nats.status === 'rejected' ? nats.reason : postgres.status === 'rejected' ? postgres.reason : undefined;
  }
  return { natsUrl: nats.value.url, databaseUrl: postgres.value.url, nats: nats.value, postgres: postgres.value, stop };
}
