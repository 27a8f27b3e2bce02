import { type DatabaseError, Pool } from 'pg';
import { isDamage } from '../errors.js';

/** Number of connections of one process to the read model. */
export const DEFAULT_POOL_SIZE = 8;
/**
 * Milliseconds to wait for a connection, also for a free one if all are in use. A stopped server refuses at once. An
 * unreachable one must lead to a response while the client still waits.
 */
export const CONNECT_TIMEOUT_MS = 5_000;

/**
 * Milliseconds to wait for a response. A frozen server, or one behind a network that drops everything, never responds.
 * Longer than the server's own limit of a statement (STATEMENT_TIMEOUT_MS). The connection is closed with it.
 */
export const ANSWER_TIMEOUT_MS = 35_000;

export interface PoolOptions {
  /** The default is ANSWER_TIMEOUT_MS. 0 sets no limit, for a tool that reads everything. */
  readonly answerTimeoutMs?: number;
  readonly size?: number;
  /** Name in pg_stat_activity. */
  readonly applicationName?: string;
  /** Called when an idle connection broke. The pool continues, and the next query connects again. */
  readonly onError?: (error: Error) => void;
  /** Called when a statement met damaged files. The statement fails too. */
  readonly onDamage?: (reason: string) => void;
}

/** @param url undefined for PostgreSQL's own environment variables */
export function openPool(url: string | undefined, options: PoolOptions = {}): Pool {
  const pool = new Pool({
    connectionString: url,
    max: options.size ?? DEFAULT_POOL_SIZE,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: options.answerTimeoutMs ?? ANSWER_TIMEOUT_MS,
    keepAlive: true,
    pipeline: true, // a statement is sent when it is given: the server has it when it is done with the one before
    application_name: options.applicationName ?? 'waybill',
  });
  pool.on('error', (error) => options.onError?.(error));
  const { onDamage } = options;
  // Installed below the client, where every response of the server passes.
  if (onDamage)
    pool.on('connect', ({ connection }) => {
      connection.on('errorMessage', (error: DatabaseError) => {
        if (isDamage(error)) onDamage(error.message);
      });
    });
  return pool;
}
