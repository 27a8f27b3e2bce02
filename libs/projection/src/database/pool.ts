import { Pool } from 'pg';

/** Connections of one process to the read model. */
export const DEFAULT_POOL_SIZE = 8;
/** How long to wait for a connection, milliseconds: an unreachable database must turn into an answer. */
export const CONNECT_TIMEOUT_MS = 2_000;

export interface PoolOptions {
  readonly size?: number;
  /** Shown in pg_stat_activity. */
  readonly applicationName?: string;
  /** A connection broke while nobody used it. The pool goes on; the next query connects anew. */
  readonly onError?: (error: Error) => void;
}

export function openPool(url: string, options: PoolOptions = {}): Pool {
  const pool = new Pool({
    connectionString: url,
    max: options.size ?? DEFAULT_POOL_SIZE,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    application_name: options.applicationName ?? 'waybill',
  });
  pool.on('error', (error) => options.onError?.(error));
  return pool;
}
