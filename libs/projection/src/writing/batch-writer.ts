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
import { runInTwoTrips, type Outgoing } from '../database/transaction.js';

/**
 * Rows of one statement: few enough that building a statement and executing the previous one alternate, and enough to
 * be worthwhile.
 */
export const MAX_ROWS_PER_STATEMENT = 125;

/**
 * Most rows that were sent to PostgreSQL without a response yet, besides the statement that is being built, so the
 * server never waits. A larger number would only use more memory.
 */
export const MAX_ROWS_AHEAD = 2 * MAX_ROWS_PER_STATEMENT;

/**
 * Writes consecutive transactions to PostgreSQL: every changed row once, the records of the transactions, the tables'
 * indexes and the applied index, all in one database transaction (ST-7).
 *
 * Rows that PostgreSQL refuses are set aside one by one, and all others are written (set-aside/): a batch that fails by
 * an error of its data is written a second time in that way.
 *
 * Stateless between batches, except for a guess whether rows are set aside, which PostgreSQL verifies. The applied
 * index moves by compare-and-set, so the slower of two projectors writes nothing. The commit is synchronous, so
 * announced transactions survive a crash. New rows are written with COPY, which is a quarter less work, and existing
 * rows are replaced. Cost: two round trips, one or two statements per table and MAX_ROWS_PER_STATEMENT rows, plus
 * three. Statements of a small batch are sent in one write.
 */
export class BatchWriter {
  /** Whether rows are set aside, as far as this writer knows. If so, rows that a batch writes are removed from them. */
  private anyAside = false;

  constructor(private readonly pool: Pool) {}

  /**
   * Returns the rows that were set aside.
   * @param texts JSON of the same changes, shared with other writers
   * @param framed index of the newest frame in EVENTS at the commit, 0 if unknown
   * @param condition must resolve before the commit; the statements run meanwhile
   * @throws the error of the condition; nothing was written
   * @throws ProjectionMovedError if the projection is not at the index before the first transaction; nothing was
   * written
   * @throws RangeError if the transactions are not consecutive
   */
  async write(
    applied: readonly Applied[],
    texts = new SharedTexts(),
    framed = 0,
    condition?: Promise<unknown>,
  ): Promise<readonly SetAsideRow[]> {
    const from = assertConsecutive(applied) - 1;
    for (;;)
      try {
        await runInTwoTrips(
          this.pool,
          (outgoing) => sendBatch(outgoing, foldBatch(applied, framed), texts, this.anyAside),
          condition,
        );
        return [];
      } catch (error) {
        await condition; // of two failures the condition's counts
        if (isNotMoved(error)) await this.updateStanding(from);
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

  /** Updates the guess, or finds that the projection was moved. @throws ProjectionMovedError */
  private async updateStanding(from: number): Promise<void> {
    const { applied, aside } = await this.readStanding();
    if (applied !== from || aside === this.anyAside) throw new ProjectionMovedError(from, applied);
    this.anyAside = aside;
  }

  /**
   * Writes the rows of another history of the log. See `rewindProjection`.
   * @param keepsHistoryTo records of transactions above this index are removed first
   * @param framed index of the newest frame in EVENTS up to there, if it is known
   * @throws ProjectionMovedError
   */
  async rewrite(batch: Batch, keepsHistoryTo: number, framed?: number): Promise<void> {
    const { aside } = await this.readStanding();
    try {
      await runInTwoTrips(this.pool, async (outgoing) => {
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

  private async readStanding(): Promise<{ readonly applied: number; readonly aside: boolean }> {
    const { rows } = await this.pool.query<{ applied: number; aside: boolean }>({
      ...READ_STANDING,
      types: columnTypes,
    });
    return rows[0] ?? { applied: 0, aside: false };
  }

  /** Returns the index of the newest frame in EVENTS at the last write, 0 if unknown. */
  async framedIndex(): Promise<number> {
    const { rows } = await this.pool.query<{ framed: number }>({ ...READ_FRAMED, types: columnTypes });
    return rows[0]?.framed ?? 0;
  }

  /** Returns the applied index of PostgreSQL. */
  async appliedIndex(): Promise<number> {
    const { rows } = await this.pool.query<{ applied: number }>({ ...READ_APPLIED, types: columnTypes });
    return rows[0]?.applied ?? 0;
  }
}

/** Sends a batch. The client builds the values of a statement while PostgreSQL executes the previous ones. */
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
      await outgoing.flush();
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

/** A statement and its number of rows. */
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

/** Yields statements. Their rows and values are built on request. */
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
