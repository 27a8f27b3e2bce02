import type { RefusalCode } from '@waybill/model';
import type { Verdict, Rejection } from '@waybill/state';
import type { Pool } from 'pg';
import { columnTypes } from '../database/column-types.js';
import { plainText } from '../writing/stored-text.js';

/** The recorded verdict of a transaction. */
export interface RecordedVerdict {
  readonly index: number;
  readonly requestId: string;
  readonly verdict: Verdict;
}

/** The columns of a verdict in `txn`. */
export interface VerdictColumns {
  readonly verdict: Verdict['kind'];
  /** Null for a refusal that was recorded before codes existed. */
  readonly refusal_code: RefusalCode | null;
  readonly error: string | null;
  readonly result: unknown;
}

/** Returns undefined if the transaction is not projected yet, or no longer recorded. */
export async function recordedVerdict(pool: Pool, index: number): Promise<RecordedVerdict | undefined> {
  const { rows } = await pool.query<VerdictColumns & { readonly request_id: string }>({
    name: 'txn_verdict',
    text: 'select request_id, verdict, refusal_code, error, result from txn where index = $1',
    values: [index],
    types: columnTypes,
  });
  const row = rows[0];
  return row && { index, requestId: plainText(row.request_id), verdict: verdictOf(row) };
}

function verdictOf(columns: VerdictColumns): Verdict {
  const rejection = rejectionOf(columns);
  if (rejection) return rejection;
  const { verdict, error, result } = columns;
  return {
    kind: verdict === 'noop' ? 'noop' : 'accepted',
    ...(error !== null && { error: plainText(error) }),
    ...(result !== null && result !== undefined && { result }),
  };
}

/** Returns null if the transaction was not rejected. */
export function rejectionOf({ verdict, refusal_code: code, error }: VerdictColumns): Rejection | null {
  const reason = error === null ? '' : plainText(error);
  if (verdict === 'refused') return { kind: verdict, code: code ?? 'conflict', error: reason };
  return verdict === 'void' ? { kind: verdict, error: reason } : null;
}
