import { errorText } from '@waybill/model';
import type { Applied } from '@waybill/state';
import type { Pool, PoolClient } from 'pg';
import { inTransaction } from '../database/transaction.js';
import { databaseErrorCode, isDataError, isEncodingError } from '../errors.js';
import type { Batch } from '../writing/batch.js';
import { CopyIn } from '../writing/copy-in.js';
import { SharedTexts } from '../writing/shared-texts.js';
import { MOVE_APPLIED, MOVE_TABLE_INDEXES, type Step } from '../writing/statements.js';
import { storedJson, storedText } from '../writing/stored-text.js';
import { FORGET_SET_ASIDE, rewrittenBy } from './forget-set-aside.js';
import { type Portion, portionsOf } from './portions.js';
import { MAX_SHOWN_CHARS, type SetAsideRow } from './set-aside-row.js';

/** Rows that are written together before the batch is halved. */
const MAX_TRIED_ROWS = 125;

/**
 * Writes a batch that PostgreSQL partly refuses: accepted rows go to their tables and refused ones to `set_aside`, in
 * one database transaction with the applied index. The previous row of a refused object is removed, so that nobody
 * takes it for the new one.
 *
 * Halving finds the refused rows: a chunk that fails by an error of its data is split, and each half is tried behind a
 * savepoint. Cost: three round trips per chunk, and about 3 × log2(125) more per refused row.
 * @throws errors that are not due to the data; then nothing is written
 */
export function writeSettingAside(
  pool: Pool,
  batch: Batch,
  applied: readonly Applied[],
): Promise<readonly SetAsideRow[]> {
  return inTransaction(pool, 'write', (client) => carefulWrite(client, batch, applied));
}

/** Does the same within a started database transaction. @param applied the transactions of the batch */
export async function carefulWrite(
  client: PoolClient,
  batch: Batch,
  applied: readonly Applied[],
): Promise<readonly SetAsideRow[]> {
  const texts = new SharedTexts();
  await client.query('set constraints all immediate'); // what the commit would refuse is refused by its statement
  await client.query({ ...MOVE_APPLIED, values: [batch.from, batch.to, null, batch.framed] });
  const rewritten = [...rewrittenBy(batch)];
  if (rewritten.length > 0) await runStep(client, FORGET_SET_ASIDE.of(rewritten, texts));
  const refused: SetAsideRow[] = [];
  for (const portion of portionsOf(batch, applied, texts))
    for (let from = 0; from < portion.size; from += MAX_TRIED_ROWS)
      for (const item of await stored(client, portion, from, Math.min(from + MAX_TRIED_ROWS, portion.size)))
        refused.push(item);
  if (batch.tableIndexes.length > 0) await runStep(client, MOVE_TABLE_INDEXES.of(batch.tableIndexes, texts));
  return refused;
}

/** Stores the rows of a portion from `from` to before `to`. Sets refused rows aside and returns them. */
async function stored(client: PoolClient, portion: Portion, from: number, to: number): Promise<SetAsideRow[]> {
  const refusal = await refusalOf(client, () => portion.stepOf(from, to));
  if (!refusal) return [];
  if (to - from === 1) {
    const row = { ...portion.rowAt(from), ...refusal };
    const removal = portion.removalOf(from);
    if (removal) await refusalOf(client, removal); // refused too: what is set aside counts
    await client.query(KEEP_ASIDE, valuesOf(row));
    return [row];
  }
  const middle = (from + to) >>> 1;
  const first = await stored(client, portion, from, middle);
  return [...first, ...(await stored(client, portion, middle, to))];
}

const COLUMNS = 'part, key_hash, index, txn_name, time_ns, object, sqlstate, error, job_key, gone, body';

const KEEP_ASIDE = `insert into set_aside (${COLUMNS}) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
  on conflict (part, key_hash) do update set ${COLUMNS.split(', ')
    .map((name) => `${name} = excluded.${name}`)
    .join(', ')}`;

const valuesOf = (row: SetAsideRow): unknown[] => [
  row.part,
  row.keyHash,
  row.index,
  row.txnName,
  row.timeNs,
  storedText(row.object),
  row.sqlstate,
  storedText(row.error),
  row.jobKey,
  row.gone,
  storedJson(row.body),
];

/** The reason why a row was refused. */
export type Refusal = Pick<SetAsideRow, 'sqlstate' | 'error'>;

/**
 * Runs a statement behind a savepoint. Returns undefined if it succeeded.
 * @throws errors that are not due to the data
 */
export async function refusalOf(client: PoolClient, stepOf: () => Step): Promise<Refusal | undefined> {
  let step: Step;
  try {
    step = stepOf();
  } catch (error) {
    if (!isEncodingError(error)) throw error;
    return { sqlstate: '', error: shownError(error) };
  }
  await client.query('savepoint row');
  try {
    await runStep(client, step);
    await client.query('release savepoint row');
    return undefined;
  } catch (error) {
    if (!isDataError(error)) throw error;
    await client.query('rollback to savepoint row; release savepoint row');
    return { sqlstate: databaseErrorCode(error), error: shownError(error) };
  }
}

const shownError = (error: unknown): string => errorText(error).slice(0, MAX_SHOWN_CHARS);

const runStep = (client: PoolClient, step: Step): Promise<unknown> =>
  step instanceof CopyIn ? client.query(step).done : client.query(step);
