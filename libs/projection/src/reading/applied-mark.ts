import type { LogMark } from '@waybill/state';
import type { Pool } from 'pg';
import { columnTypes } from '../database/column-types.js';
import { plainText } from '../writing/stored-text.js';

/** Returns the identity of the last projected transaction in the log (ST-1), or undefined if there is none. */
export async function appliedMark(pool: Pool): Promise<LogMark | undefined> {
  const { rows } = await pool.query<{ index: number; request_id: string; time_ns: number }>({
    name: 'applied_mark',
    text: `select t.index, t.request_id, t.time_ns from projection p join txn t on t.index = p.applied where p.id = 1`,
    types: columnTypes,
  });
  const [last] = rows;
  return last && { index: last.index, requestId: plainText(last.request_id), timeNs: last.time_ns };
}
