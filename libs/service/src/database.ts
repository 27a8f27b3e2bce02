import type { Logger } from '@waybill/telemetry';
import pg from 'pg';

/** What a process needs that has to do with Postgres. Loaded only where there is one: machines have none. */
export { migrate, PostgresSnapshots } from '@waybill/projection';

/** Connections of one process to Postgres; the read path of the API and the projector's writer share them. */
const MAX_DATABASE_CONNECTIONS = 10;
/** A query that gets no connection within this fails, so that a database that is down answers quickly. */
const DATABASE_CONNECT_TIMEOUT_MS = 1_500;

export function openPool(url: string | undefined, name: string, logger: Logger): pg.Pool {
  const pool = new pg.Pool({
    connectionString: url,
    max: MAX_DATABASE_CONNECTIONS,
    connectionTimeoutMillis: DATABASE_CONNECT_TIMEOUT_MS,
    application_name: name,
  });
  // An idle connection that breaks is replaced at its next use; without a listener it would end the process.
  pool.on('error', (error) => logger.warn('a connection to Postgres broke', { error }));
  return pool;
}
