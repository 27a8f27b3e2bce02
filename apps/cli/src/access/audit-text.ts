import type { Display } from '../terminal/display.js';
import { shortId } from '../terminal/short-id.js';
import { table } from '../terminal/table.js';
import { absoluteTime } from '../terminal/times.js';

/** A record of the audit log in the form of `/v1/waybill/audit` (AU-273). */
export interface AuditRecord {
  readonly payload: {
    readonly stage: string;
    readonly timestamp: string;
    readonly auth: { readonly accessor_id: string; readonly name?: string };
    readonly request: {
      readonly id: string;
      readonly operation: string;
      readonly endpoint: string;
      readonly namespace: { readonly id: string };
      readonly request_meta: { readonly remote_address: string };
    };
    readonly response?: { readonly status_code: number; readonly error?: string; readonly index?: number };
  };
}

/** Lists audit records, one row each (AU-282). Records of streams and of unanswered requests show their stage. */
export function auditTable(records: readonly AuditRecord[], display: Display): string {
  return table([
    ['Time', 'Who', 'From', 'Request', 'Namespace', 'Status', 'Index', 'ID'],
    ...records.map(({ payload: { stage, timestamp, auth, request, response } }) => [
      absoluteTime(timestamp),
      auth.name || nameOf(auth.accessor_id, display),
      request.request_meta.remote_address,
      `${request.operation} ${request.endpoint}`,
      request.namespace.id,
      statusOf(stage, response),
      response?.index === undefined ? '' : String(response.index),
      shortId(request.id, display.verbose),
    ]),
  ]);
}

const UUID_LENGTH = 36;

/** Accessors that are words, such as `anonymous`, are never shortened. */
const nameOf = (accessor: string, { verbose }: Display): string =>
  accessor.length === UUID_LENGTH ? shortId(accessor, verbose) : accessor;

function statusOf(stage: string, response: AuditRecord['payload']['response']): string {
  if (!response) return 'received';
  if (stage === 'OperationClosed') return `${response.status_code} closed`;
  return response.error ? `${response.status_code} ${firstLine(response.error)}` : String(response.status_code);
}

/** Longest text of an error in a table, in characters. */
const MAX_ERROR = 80;

const firstLine = (text: string): string => (text.split('\n', 1)[0] ?? '').slice(0, MAX_ERROR);
