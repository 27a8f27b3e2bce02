import type { Pool, PoolClient } from 'pg';
import { columnTypes } from '../database/column-types.js';
import { inTransaction } from '../database/transaction.js';
import { READ_APPLIED } from '../writing/statements.js';

/** A block of consecutive transactions of the log, and the result of their last read. */
export interface HashedBlock {
  readonly first: number;
  /** Last index of the digest. */
  readonly last: number;
  /** SHA-256 of `first` to `last` in hexadecimal, as first read. Empty if not all of them could be read yet. */
  readonly digest: string;
  /** Number of transactions that could not be read. */
  readonly unreadable: number;
  /** Whether the transactions had another digest than at the first read. */
  readonly isChanged: boolean;
}

/** Progress of reading the log again. */
export interface ScrubStanding {
  /** First index of the next block. */
  readonly next: number;
  /** Number of completed passes. */
  readonly pass: number;
  /** End of the last pass in unix milliseconds. 0 during a pass. */
  readonly endedAtMs: number;
}

/** Known damage of the log. */
export interface LogDamage {
  readonly unreadable: number;
  readonly changedBlocks: number;
}

const SAVE_BLOCK = `insert into log_hashes (first, last, digest, unreadable, is_changed) values ($1, $2, $3, $4, $5)
  on conflict (first) do update
  set last = excluded.last, digest = excluded.digest, unreadable = excluded.unreadable, is_changed = excluded.is_changed`;

/**
 * The hashes of the log in PostgreSQL. Stateless. They belong to the history that PostgreSQL has projected. If an
 * operator decides for another history, those of the lost part are removed with its records (`BatchWriter.rewrite`).
 */
export class LogHashes {
  constructor(private readonly pool: Pool) {}

  /** Returns the applied index of PostgreSQL. Later transactions may still be lost without being missed. */
  async appliedIndex(): Promise<number> {
    const { rows } = await this.pool.query<{ applied: number }>({ ...READ_APPLIED, types: columnTypes });
    return rows[0]?.applied ?? 0;
  }

  async standing(): Promise<ScrubStanding> {
    const { rows } = await this.pool.query<ScrubStanding>({
      text: 'select next, pass, ended_at_ms as "endedAtMs" from log_scrub where id = 1',
      types: columnTypes,
    });
    return rows[0] ?? { next: 1, pass: 0, endedAtMs: 0 };
  }

  /** Removes blocks before `first`, where the log now starts, and stores the progress. */
  begin(first: number, standing: ScrubStanding): Promise<void> {
    return inTransaction(this.pool, 'write', async (client) => {
      await client.query('delete from log_hashes where last < $1', [first]);
      await saveStanding(client, standing);
    });
  }

  async block(first: number): Promise<HashedBlock | undefined> {
    const { rows } = await this.pool.query<HashedBlock>({
      text: 'select first, last, digest, unreadable, is_changed as "isChanged" from log_hashes where first = $1',
      values: [first],
      types: columnTypes,
    });
    return rows[0];
  }

  save({ first, last, digest, unreadable, isChanged }: HashedBlock, standing: ScrubStanding): Promise<void> {
    return inTransaction(this.pool, 'write', async (client) => {
      await client.query(SAVE_BLOCK, [first, last, digest, unreadable, isChanged]);
      await saveStanding(client, standing);
    });
  }

  async end(standing: ScrubStanding): Promise<void> {
    await inTransaction(this.pool, 'write', (client) => saveStanding(client, standing));
  }

  async damage(): Promise<LogDamage> {
    const { rows } = await this.pool.query<LogDamage>({
      text: `select coalesce(sum(unreadable), 0)::bigint as unreadable,
        count(*) filter (where is_changed) as "changedBlocks" from log_hashes`,
      types: columnTypes,
    });
    return rows[0] ?? { unreadable: 0, changedBlocks: 0 };
  }
}

async function saveStanding(client: PoolClient, { next, pass, endedAtMs }: ScrubStanding): Promise<void> {
  await client.query(
    `insert into log_scrub (id, next, pass, ended_at_ms) values (1, $1, $2, $3)
      on conflict (id) do update set next = excluded.next, pass = excluded.pass, ended_at_ms = excluded.ended_at_ms`,
    [next, pass, endedAtMs],
  );
}
