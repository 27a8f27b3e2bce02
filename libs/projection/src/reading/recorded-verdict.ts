import type { Verdict } from '@waybill/state';
import type { Pool } from 'pg';
import { columnTypes } from '../database/column-types.js';
import { plainText } from '../writing/stored-text.js';

/** What became of a transaction, as it was recorded. */
export interface RecordedVerdict {
  readonly index: number;
  readonly requestId: string;
  readonly verdict: Verdict;
}

interface VerdictColumns {
  readonly request_id: string;
  readonly verdict: Verdict['kind'];
  readonly error: string | null;
  readonly result: unknown;
}

/** Undefined: it is not projected yet, or no longer recorded. */
export async function recordedVerdict(pool: Pool, index: number): Promise<RecordedVerdict | undefined> {
  const { rows } = await pool.query<VerdictColumns>({
    name: 'txn_verdict',
    text: 'select request_id, verdict, error, result from txn where index = $1',
    values: [index],
    types: columnTypes,
  });
  const row = rows[0];
  return row && { index, requestId: plainText(row.request_id), verdict: verdictOf(row) };
}

function verdictOf({ verdict: kind, error, result }: VerdictColumns): Verdict {
  const reason = error === null ? undefined : plainText(error);
  if (kind === 'refused' || kind === 'void') return { kind, error: reason ?? '' };
  return {
    kind,
    ...(reason !== undefined && { error: reason }),
    ...(result !== null && result !== undefined && { result }),
  };
}
