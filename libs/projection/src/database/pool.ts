import { type DatabaseError, Pool } from 'pg';
import { isDamage } from '../errors.js';

/** Connections of one process to the read model. */
export const DEFAULT_POOL_SIZE = 8;
/**
 * How long to wait for a connection, milliseconds: for one that is free too, when more is asked at once than the pool has.
 * A server that is down refuses at once; one that cannot be reached must turn into an answer while somebody still waits.
 */
export const CONNECT_TIMEOUT_MS = 5_000;

/**
 * How long to wait for an answer, milliseconds: a server that is frozen, or behind a network that swallows everything, never
 * says so. Longer than it works on a statement itself (STATEMENT_TIMEOUT_MS). The connection is given up with it.
 */
export const ANSWER_TIMEOUT_MS = 35_000;

export interface PoolOptions {
  /** Default ANSWER_TIMEOUT_MS; 0: for ever, as a tool may that looks at everything. */
  readonly answerTimeoutMs?: number;
  readonly size?: number;
  /** Shown in pg_stat_activity. */
  readonly applicationName?: string;
  /** A connection broke while nobody used it. The pool goes on; the next query connects anew. */
  readonly onError?: (error: Error) => void;
  /** A statement met damaged files. It fails too, wherever it was asked for. */
  readonly onDamage?: (reason: string) => void;
}

/** @param url undefined: where the environment says, as every client of PostgreSQL */
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
  // Below the client, where every answer of the server passes, whoever asked and however.
  if (onDamage)
    pool.on('connect', ({ connection }) => {
      connection.on('errorMessage', (error: DatabaseError) => {
        if (isDamage(error)) onDamage(error.message);
      });
    });
  return pool;
}
