import { type AuditQuery, isWanted } from './audit-query.js';
import type { AuditRecord } from './audit-record.js';

/** A stored record with the token of the page that begins behind it. */
export interface StoredLine {
  readonly line: string;
  readonly token: string;
}

/** Where records are read. */
export interface AuditSource {
  /** From the newest on, or from where a token says. @throws Refusal invalid: it is no token of this source */
  backwards(token: string): AsyncIterable<StoredLine>;
}

export interface AuditPage {
  readonly records: readonly AuditRecord[];
  /** Empty: there is nothing more. */
  readonly nextToken: string;
}

/** Records that one request looks at; a page that has not filled by then ends there, and its token goes on. */
export const MAX_LOOKED_AT = 5_000;
/** Records of one request are written within this time of each other, and clocks of servers differ; ms. */
const OUT_OF_ORDER_MS = 60_000;

/** A page of records, the newest first (AU-282). Cost: the records between the newest and the last of the page. */
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

/** Undefined: a line that no API wrote, or not wholly. */
function recordIn(line: string): AuditRecord | undefined {
  try {
    const found = JSON.parse(line) as Partial<AuditRecord> | null;
    const isRecord = found?.event_type === 'audit' && typeof found.payload?.timestamp === 'string';
    return isRecord && found.payload?.request && found.payload.auth ? (found as AuditRecord) : undefined;
  } catch {
    return undefined;
  }
}
