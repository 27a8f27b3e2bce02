import type { Pool, PoolClient } from 'pg';

/**
 * Milliseconds after which an idle transaction of a writer ends, because a frozen writer must not keep row locks from
 * its successor.
 */
export const IDLE_IN_WRITE_MS = 2_000;
/** Milliseconds after which an idle transaction of a reader ends. It only delays the clean-up of old row versions. */
export const IDLE_IN_SNAPSHOT_MS = 60_000;
/** Longest statement in milliseconds. */
export const STATEMENT_TIMEOUT_MS = 30_000;

const limits = (idleMs: number): string => `set local idle_in_transaction_session_timeout = ${idleMs};
  set local statement_timeout = ${STATEMENT_TIMEOUT_MS}`;

const BEGIN = {
  write: `begin; ${limits(IDLE_IN_WRITE_MS)}`,
  /** For a writer that first reads its data elsewhere, while nobody else reads or writes. */
  rebuild: `begin; ${limits(IDLE_IN_SNAPSHOT_MS)}`,
  /** All reads are of one index (ST-141). */
  snapshot: `begin isolation level repeatable read read only; ${limits(IDLE_IN_SNAPSHOT_MS)}`,
} as const;

/** Runs `work` in one database transaction. It is committed when `work` returns and rolled back when it throws. */
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

/** The connection to the server within `runInTwoTrips`. */
export interface Outgoing {
  readonly client: PoolClient;
  /** Sends the queued statements once the transaction has begun. Otherwise they are sent with the commit. */
  flush(): Promise<void>;
}

/**
 * Runs a writing database transaction in two round trips: its begin, then all statements of `work` with the commit. No
 * waits are needed in between, because after a failed statement the server answers all others with an error and the
 * commit with a rollback. So a condition must be a statement that fails. `work` builds its statements while the server
 * begins. None is sent before the server has answered that: outside a transaction each would be committed alone.
 * @param work returns the pending responses
 * @param condition must resolve before the commit; the statements run meanwhile. IDLE_IN_WRITE_MS limits the wait
 * @throws the error of the first failed statement, or of the condition: then nothing is committed
 */
export function runInTwoTrips(
  pool: Pool,
  work: (outgoing: Outgoing) => Promise<readonly Promise<unknown>[]>,
  condition?: Promise<unknown>,
): Promise<void> {
  return withClient(pool, async (client) => {
    const { stream } = client.connection;
    const begun = client.query(BEGIN.write);
    begun.catch(ignored); // thrown where it is awaited
    const flush = async (): Promise<void> => {
      await begun;
      stream.uncork();
      stream.cork();
    };
    let answers: readonly Promise<unknown>[];
    stream.cork();
    try {
      const unanswered = await work({ client, flush });
      await flush();
      await condition;
      answers = [...unanswered, client.query('commit')];
    } catch (error) {
      if (!(await hasBegun(begun))) stream.destroy(); // drops the statements that wait
      throw error;
    } finally {
      stream.uncork();
    }
    // In order, because of responses that arrive together, one after the failure may reject first.
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

/** Resolves with whether the server has begun the transaction. */
const hasBegun = (begun: Promise<unknown>): Promise<boolean> =>
  begun.then(
    () => true,
    () => false,
  );

async function rolledBack(client: PoolClient): Promise<boolean> {
  try {
    await client.query('rollback');
    return true;
  } catch {
    return false; // the connection is gone, and with it the transaction
  }
}
