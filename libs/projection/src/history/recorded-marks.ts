import type { LogMark } from '@waybill/state';
import type { Pool } from 'pg';
import { columnTypes } from '../database/column-types.js';
import { plainText } from '../writing/stored-text.js';

/** The history that PostgreSQL has projected, as far as its records are retained. */
export interface RecordedMarks {
  readonly first: number;
  readonly last: number;
  /**
   * Returns the newest recorded transaction at or below an index, or undefined. After a restore of an archive in place
   * of a lost log, there are no records in between.
   */
  newestUpTo(index: number): Promise<LogMark | undefined>;
}

export async function recordedMarks(pool: Pool): Promise<RecordedMarks> {
  const { rows } = await pool.query<{ first: number | null; last: number }>({
    text: `select (select min(index) from txn) as first, applied as last from projection where id = 1`,
    types: columnTypes,
  });
  const last = rows[0]?.last ?? 0;
  return {
    first: rows[0]?.first ?? last + 1,
    last,
    newestUpTo: async (index) => {
      const found = await pool.query<{ index: number; request_id: string; time_ns: number }>({
        text: 'select index, request_id, time_ns from txn where index <= $1 order by index desc limit 1',
        values: [index],
        types: columnTypes,
      });
      const [row] = found.rows;
      return row && { index: row.index, requestId: plainText(row.request_id), timeNs: row.time_ns };
    },
  };
}
