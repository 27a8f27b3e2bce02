import { Pool, types } from 'pg';
import { parseStored } from './stored-text.js';

const OID_INT8 = 20;
const OID_JSONB = 3802;

/** Connections of one process to the read model. */
export const DEFAULT_POOL_SIZE = 8;
/** How long to wait for a connection, milliseconds: an unreachable database must turn into an answer. */
export const CONNECT_TIMEOUT_MS = 2_000;
/** No statement may run longer, milliseconds. */
export const STATEMENT_TIMEOUT_MS = 30_000;
/** A frozen process must not keep row locks that its successor waits for, milliseconds. */
export const IDLE_IN_TRANSACTION_MS = 5_000;

export interface PoolOptions {
  readonly size?: number;
  /** Shown in pg_stat_activity. */
  readonly applicationName?: string;
  /** A connection broke while nobody used it. The pool goes on; the next query connects anew. */
  readonly onError?: (error: Error) => void;
}

/**
 * Connections whose bigint columns arrive as numbers (indexes and times, which the state keeps as numbers) and whose
 * jsonb columns arrive as the value that was stored.
 */
export function openPool(url: string, options: PoolOptions = {}): Pool {
  const pool = new Pool({
    connectionString: url,
    max: options.size ?? DEFAULT_POOL_SIZE,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
    keepAlive: true,
    application_name: options.applicationName ?? 'waybill',
    types: {
      getTypeParser: (oid: number, format?: 'text' | 'binary') => {
        if (oid === OID_INT8) return Number;
        if (oid === OID_JSONB) return parseStored;
        return format === undefined ? types.getTypeParser(oid) : types.getTypeParser(oid, format as 'text');
      },
    } as typeof types,
  });
  pool.on('error', (error) => options.onError?.(error));
  return pool;
}
