import type { Pool, PoolClient } from 'pg';

/** A frozen writer must not keep row locks that its successor waits for, milliseconds. */
export const IDLE_IN_WRITE_MS = 2_000;
/** A reader holds up nobody but the clean-up of old row versions, milliseconds. */
export const IDLE_IN_SNAPSHOT_MS = 60_000;
/** No statement of a transaction may run longer, milliseconds. */
export const STATEMENT_TIMEOUT_MS = 30_000;

const limits = (idleMs: number): string => `set local idle_in_transaction_session_timeout = ${idleMs};
  set local statement_timeout = ${STATEMENT_TIMEOUT_MS}`;

const BEGIN = {
  write: `begin; ${limits(IDLE_IN_WRITE_MS)}`,
  /** Writes what it has to read elsewhere first, while nobody else reads or writes. */
  rebuild: `begin; ${limits(IDLE_IN_SNAPSHOT_MS)}`,
  /** Everything read is as of one index (ST-141). */
  snapshot: `begin isolation level repeatable read read only; ${limits(IDLE_IN_SNAPSHOT_MS)}`,
} as const;

/** Runs `work` in one database transaction: committed when it returns, rolled back when it throws. */
export function inTransaction<T>(
  pool: Pool,
  kind: keyof typeof BEGIN,
  work: (client: PoolClient) => Promise<T>,
): Promise<T> {
  return withClient(pool, async (client) => {
    await client.query(BEGIN[kind]);
    const result = await work(client);
    await client.query('commit');
    return result;
  });
}

/** The way to the server within `inTwoTrips`. */
export interface Outgoing {
  readonly client: PoolClient;
  /** What was given to the client up to now is sent; otherwise it goes with the commit. */
  flush(): void;
}

/**
 * One database transaction that writes, in two round trips: its beginning, then all that `work` gives to the client with
 * the commit behind it. Nobody has to wait in between, for the server answers what follows a failed statement with an
 * error, and the commit with a rollback. So a condition has to be a statement that fails.
 * @param work returns what has not been answered yet
 * @throws what the first statement that failed throws
 */
export function inTwoTrips(
  pool: Pool,
  work: (outgoing: Outgoing) => Promise<readonly Promise<unknown>[]>,
): Promise<void> {
  return withClient(pool, async (client) => {
    await client.query(BEGIN.write);
    const { stream } = client.connection;
    const flush = (): void => {
      stream.uncork();
      stream.cork();
    };
    let answers: readonly Promise<unknown>[];
    stream.cork();
    try {
      const unanswered = await work({ client, flush });
      answers = [...unanswered, client.query('commit')];
    } finally {
      stream.uncork();
    }
    // In their order: of answers that arrive together, one to a statement behind the failure can reject first.
    for (const answer of await Promise.allSettled(answers)) if (answer.status === 'rejected') throw answer.reason;
  });
}

async function withClient<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  client.on('error', ignored); // the query that runs, or the next one, reports it; nobody listening would end the process
  let broken: boolean | undefined;
  try {
    return await work(client);
  } catch (error) {
    broken = !(await rolledBack(client));
    throw error;
  } finally {
    client.off('error', ignored);
    client.release(broken);
  }
}

const ignored = (): void => {};

async function rolledBack(client: PoolClient): Promise<boolean> {
  try {
    await client.query('rollback');
    return true;
  } catch {
    return false; // the connection is gone, and with it the transaction
  }
}
