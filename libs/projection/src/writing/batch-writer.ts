import type { Applied } from '@waybill/state';
import type { Pool, PoolClient } from 'pg';
import { type Batch, foldBatch } from './batch.js';
import { columnTypes } from '../database/column-types.js';
import { CopyIn } from './copy-in.js';
import { ProjectionMovedError } from '../errors.js';
import { SharedTexts } from './shared-texts.js';
import {
  INSERT_TXN_OBJECTS,
  INSERT_TXNS,
  MOVE_APPLIED,
  MOVE_TABLE_INDEXES,
  READ_APPLIED,
  type RowsStatement,
  type Step,
  STORE_ALLOC_JOBS,
  TABLE_STATEMENTS,
} from './statements.js';
import { inTransaction } from '../database/transaction.js';

/** Rows of one statement: small enough that making one and executing the one before take turns, large enough to be worth it. */
export const MAX_ROWS_PER_STATEMENT = 250;

/**
 * Writes consecutive transactions to Postgres: every changed row once, the record of the transactions, the tables'
 * indexes and the applied index, all in one database transaction (ST-7).
 *
 * Stateless between batches: what is in Postgres decides. The applied index moves by compare-and-set, so of two
 * projectors the slower one writes nothing. The commit is synchronous: what was announced survives a crash.
 * Rows that are new go by COPY, which is a quarter less work; those that were there replace what was.
 * Cost: one or two statements per table and MAX_ROWS_PER_STATEMENT rows, plus three.
 */
export class BatchWriter {
  constructor(private readonly pool: Pool) {}

  /**
   * @param texts of what is written elsewhere of the same changes
   * @throws ProjectionMovedError the projection is not at the index before the first transaction; nothing was written
   * @throws RangeError the transactions are not consecutive
   */
  async write(applied: readonly Applied[], texts = new SharedTexts()): Promise<void> {
    const batch = foldBatch(applied);
    await inTransaction(this.pool, 'write', (client) => writeInto(client, batch, texts));
  }

  /** How far Postgres is. */
  async appliedIndex(): Promise<number> {
    const { rows } = await this.pool.query<{ applied: number }>({ ...READ_APPLIED, types: columnTypes });
    return rows[0]?.applied ?? 0;
  }
}

/** The client makes the values of a statement while Postgres works on the one before. */
async function writeInto(client: PoolClient, batch: Batch, texts: SharedTexts): Promise<void> {
  const steps = stepsOf(batch, texts);
  const moving = client.query({ ...MOVE_APPLIED, values: [batch.from, batch.to] });
  moving.catch(() => {}); // thrown where it is awaited
  let step = steps.next();
  const moved = await moving;
  if (moved.rowCount !== 1) {
    const { rows } = await client.query<{ applied: number }>({ ...READ_APPLIED, types: columnTypes });
    throw new ProjectionMovedError(batch.from, rows[0]?.applied ?? 0);
  }
  while (step.done !== true) {
    const running = begun(client, step.value);
    step = steps.next();
    await running;
  }
}

function begun(client: PoolClient, step: Step): Promise<unknown> {
  const running = step instanceof CopyIn ? client.query(step).done : client.query(step);
  running.catch(() => {}); // thrown where it is awaited
  return running;
}

function* stepsOf(batch: Batch, texts: SharedTexts): Generator<Step> {
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

/** The values of a statement are made when it is asked for. */
function* chunks<Row>(statement: RowsStatement<Row>, rows: readonly Row[], texts: SharedTexts): Generator<Step> {
  for (let at = 0; at < rows.length; at += MAX_ROWS_PER_STATEMENT)
    yield statement.of(rows.slice(at, at + MAX_ROWS_PER_STATEMENT), texts);
}
