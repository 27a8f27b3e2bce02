import type { Applied } from '@waybill/state';
import type { Pool, PoolClient } from 'pg';
import { assertConsecutive, type Batch, foldBatch } from './batch.js';
import { columnTypes } from '../database/column-types.js';
import { CopyIn } from './copy-in.js';
import { isDataError, isEncodingError, ProjectionMovedError } from '../errors.js';
import { writeSettingAside } from '../set-aside/careful-write.js';
import { FORGET_SET_ASIDE, rewrittenBy } from '../set-aside/forget-set-aside.js';
import type { SetAsideRow } from '../set-aside/set-aside-row.js';
import { SharedTexts } from './shared-texts.js';
import {
  FORGET_LOG_HASHES,
  FORGET_TXN_OBJECTS,
  FORGET_TXNS,
  INSERT_TXN_OBJECTS,
  INSERT_TXNS,
  isNotMoved,
  LOWER_FLOOR,
  MOVE_APPLIED,
  MOVE_TABLE_INDEXES,
  READ_FRAMED,
  READ_APPLIED,
  READ_STANDING,
  type RowsStatement,
  type Step,
  STORE_ALLOC_JOBS,
  TABLE_STATEMENTS,
} from './statements.js';
import { inTwoTrips, type Outgoing } from '../database/transaction.js';

/** Rows of one statement: small enough that making one and executing the one before take turns, large enough to be worth it. */
export const MAX_ROWS_PER_STATEMENT = 125;

/**
 * Rows that Postgres has been sent and has not answered, beside the statement that is being made: it always finds the
 * next one. More of them keep more memory for nothing.
 */
export const MAX_ROWS_AHEAD = 2 * MAX_ROWS_PER_STATEMENT;

/**
 * Writes consecutive transactions to Postgres: every changed row once, the record of the transactions, the tables'
 * indexes and the applied index, all in one database transaction (ST-7).
 *
 * What PostgreSQL refuses to store is set aside, row by row, and everything else is written (set-aside/): a batch that
 * fails by an error of its data is written a second time, carefully.
 *
 * Stateless between batches, but for a guess whether rows are set aside: what is in Postgres decides. The applied index moves by compare-and-set, so of two
 * projectors the slower one writes nothing. The commit is synchronous: what was announced survives a crash.
 * Rows that are new go by COPY, which is a quarter less work; those that were there replace what was.
 * Cost: two round trips; one or two statements per table and MAX_ROWS_PER_STATEMENT rows, plus three. Those of a small
 * batch go to the server in one write.
 */
export class BatchWriter {
  /** Whether rows are set aside, as far as this writer has seen: then those that a batch writes anew are no longer. */
  private anyAside = false;

  constructor(private readonly pool: Pool) {}

  /**
   * Answers the rows that were set aside.
   * @param texts of what is written elsewhere of the same changes
   * @param framed index of the newest frame in EVENTS by now; 0: nothing is known of it
   * @throws ProjectionMovedError the projection is not at the index before the first transaction; nothing was written
   * @throws RangeError the transactions are not consecutive
   */
  async write(applied: readonly Applied[], texts = new SharedTexts(), framed = 0): Promise<readonly SetAsideRow[]> {
    const from = assertConsecutive(applied) - 1;
    for (;;)
      try {
        await inTwoTrips(this.pool, (outgoing) =>
          sendBatch(outgoing, foldBatch(applied, framed), texts, this.anyAside),
        );
        return [];
      } catch (error) {
        if (isNotMoved(error)) await this.lookAgain(from);
        else if (isDataError(error) || isEncodingError(error)) return await this.writeCarefully(applied, from, framed);
        else throw error;
      }
  }

  private async writeCarefully(
    applied: readonly Applied[],
    from: number,
    framed: number,
  ): Promise<readonly SetAsideRow[]> {
    try {
      const rows = await writeSettingAside(this.pool, foldBatch(applied, framed), applied);
      this.anyAside ||= rows.length > 0;
      return rows;
    } catch (error) {
      if (isNotMoved(error)) throw new ProjectionMovedError(from, await this.appliedIndex());
      throw error;
    }
  }

  /** The guess was wrong, or the projection is elsewhere. @throws ProjectionMovedError */
  private async lookAgain(from: number): Promise<void> {
    const { applied, aside } = await this.standing();
    if (applied !== from || aside === this.anyAside) throw new ProjectionMovedError(from, applied);
    this.anyAside = aside;
  }

  /**
   * Writes what another history of the log makes of the rows: see `rewindProjection`.
   * @param keepsHistoryTo records of transactions above this index are removed first
   * @param framed index of the newest frame in EVENTS up to there, if it is known
   * @throws ProjectionMovedError
   */
  async rewrite(batch: Batch, keepsHistoryTo: number, framed?: number): Promise<void> {
    const { aside } = await this.standing();
    try {
      await inTwoTrips(this.pool, async (outgoing) => {
        const forgotten = [FORGET_TXNS, FORGET_TXN_OBJECTS, FORGET_LOG_HASHES].map((statement) =>
          begun(outgoing.client, { ...statement, values: [keepsHistoryTo] }),
        );
        const lowered = begun(outgoing.client, { ...LOWER_FLOOR, values: [keepsHistoryTo, framed ?? null] });
        return [...forgotten, lowered, ...(await sendBatch(outgoing, batch, new SharedTexts(), aside))];
      });
    } catch (error) {
      if (isNotMoved(error)) throw new ProjectionMovedError(batch.from, await this.appliedIndex());
      throw error;
    }
  }

  private async standing(): Promise<{ readonly applied: number; readonly aside: boolean }> {
    const { rows } = await this.pool.query<{ applied: number; aside: boolean }>({
      ...READ_STANDING,
      types: columnTypes,
    });
    return rows[0] ?? { applied: 0, aside: false };
  }

  /** Index of the newest frame that was in EVENTS at the last write; 0: nothing is known of it. */
  async framedIndex(): Promise<number> {
    const { rows } = await this.pool.query<{ framed: number }>({ ...READ_FRAMED, types: columnTypes });
    return rows[0]?.framed ?? 0;
  }

  /** How far Postgres is. */
  async appliedIndex(): Promise<number> {
    const { rows } = await this.pool.query<{ applied: number }>({ ...READ_APPLIED, types: columnTypes });
    return rows[0]?.applied ?? 0;
  }
}

/** The client makes the values of a statement while Postgres works on those before. */
async function sendBatch(
  outgoing: Outgoing,
  batch: Batch,
  texts: SharedTexts,
  anyAside: boolean,
): Promise<Promise<unknown>[]> {
  const sent: { readonly rows: number; readonly answered: Promise<unknown> }[] = [];
  let ahead = 0;
  let unflushed = 0;
  for (const { step, rows } of stepsOf(batch, texts, anyAside)) {
    sent.push({ rows, answered: begun(outgoing.client, step) });
    ahead += rows;
    unflushed += rows;
    if (unflushed >= MAX_ROWS_PER_STATEMENT) {
      outgoing.flush();
      unflushed = 0;
    }
    for (; ahead > MAX_ROWS_AHEAD && sent[0]; ahead -= sent.shift()?.rows ?? 0) await sent[0].answered;
  }
  return sent.map(({ answered }) => answered);
}

function begun(client: PoolClient, step: Step): Promise<unknown> {
  const running = step instanceof CopyIn ? client.query(step).done : client.query(step);
  running.catch(() => {}); // thrown where it is awaited
  return running;
}

/** A statement and how many rows are in it. */
interface Sendable {
  readonly step: Step;
  readonly rows: number;
}

function* stepsOf(batch: Batch, texts: SharedTexts, anyAside: boolean): Generator<Sendable> {
  yield { step: { ...MOVE_APPLIED, values: [batch.from, batch.to, anyAside, batch.framed] }, rows: 1 };
  if (anyAside) yield* chunks(FORGET_SET_ASIDE, rewrittenBy(batch), texts);
  yield* chunks(STORE_ALLOC_JOBS, batch.allocJobs, texts);
  for (const { table, inserts, updates, removes } of batch.tables) {
    yield* chunks(TABLE_STATEMENTS[table].remove, removes, texts);
    yield* chunks(TABLE_STATEMENTS[table].insert, inserts, texts);
    yield* chunks(TABLE_STATEMENTS[table].upsert, updates, texts);
  }
  yield* chunks(INSERT_TXN_OBJECTS, batch.objects, texts);
  yield* chunks(INSERT_TXNS, batch.txns, texts);
  yield* chunks(MOVE_TABLE_INDEXES, batch.tableIndexes, texts);
}

/** Rows and values of a statement are made when it is asked for. */
function* chunks<Row>(statement: RowsStatement<Row>, rows: Iterable<Row>, texts: SharedTexts): Generator<Sendable> {
  let chunk: Row[] = [];
  for (const row of rows) {
    chunk.push(row);
    if (chunk.length < MAX_ROWS_PER_STATEMENT) continue;
    yield { step: statement.of(chunk, texts), rows: chunk.length };
    chunk = [];
  }
  if (chunk.length > 0) yield { step: statement.of(chunk, texts), rows: chunk.length };
}
