import { type AuditQuery, isWanted } from './audit-query.js';
import type { AuditRecord } from './audit-record.js';

/** StoredLine is a stored record with the token of the page behind it. */
export interface StoredLine {
  readonly line: string;
  readonly token: string;
}

/** AuditSource reads records. */
export interface AuditSource {
  /**
   * Reads backwards from the newest record, or from the position of a token. @throws Refusal invalid if it is not a
   * token of this source
   */
  backwards(token: string): AsyncIterable<StoredLine>;
}

export interface AuditPage {
  readonly records: readonly AuditRecord[];
  /** The token of the next page. It is empty if there is none. */
  readonly nextToken: string;
}

/**
 * The largest number of records that one request reads. A page that is not full by then ends there, and its token
 * continues.
 */
export const MAX_LOOKED_AT = 5_000;
/**
 * The records of one request may be written up to this time apart, in milliseconds, because clocks of servers differ.
 */
const OUT_OF_ORDER_MS = 60_000;

/**
 * Returns a page of records, the newest first (AU-282). Cost: the records between the newest and the last of the page.
 */
export async function auditPage(source: AuditSource, wanted: AuditQuery): Promise<AuditPage> {
  const records: AuditRecord[] = [];
  let [lookedAt, last] = [0, ''];
  for await (const { line, token } of source.backwards(wanted.nextToken)) {
    if (records.length === wanted.perPage || lookedAt === MAX_LOOKED_AT) return { records, nextToken: last };
    lookedAt++;
    last = token;
    const record = recordIn(line);
    if (!record) continue;
    if (wanted.fromMs !== undefined && Date.parse(record.payload.timestamp) < wanted.fromMs - OUT_OF_ORDER_MS) break;
    if (isWanted(record, wanted)) records.push(record);
  }
  return { records, nextToken: '' };
}

/** Decodes a line. The result is undefined if no API wrote it, or not completely. */
function recordIn(line: string): AuditRecord | undefined {
  try {
    const found = JSON.parse(line) as Partial<AuditRecord> | null;
    const isRecord = found?.event_type === 'audit' && typeof found.payload?.timestamp === 'string';
    return isRecord && found.payload?.request && found.payload.auth ? (found as AuditRecord) : undefined;
  } catch {
    return undefined;
  }
}
