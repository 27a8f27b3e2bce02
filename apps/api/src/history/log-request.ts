import { HISTORY_TABLES, type ObjectKind, SCHEDULER_CONFIG_ID } from '@waybill/state';
import type { LogQuery } from '@waybill/projection';
import { badRequest } from '../http/api-error.js';
import { namespacesOf } from '../http/list-params.js';
import { boolParam, param, params, perPageParam, type QueryString } from '../http/query-string.js';

/** The number of records on a page unless the request names one; MAX_PER_PAGE is the limit (API-264). */
const DEFAULT_PER_PAGE = 50;
const MAX_PER_PAGE = 1_000;

/** The kinds that clients may request and that have no objects yet. Their history is empty. */
const KINDS_WITHOUT_OBJECTS: ReadonlySet<string> = new Set(['policy', 'role', 'token']);

const isObjectKind = (kind: string): kind is ObjectKind => Object.hasOwn(HISTORY_TABLES, kind);

/** Returns the kind, or `none` for a kind without objects. @throws Refusal invalid */
export function kindOf(given: string): ObjectKind | 'none' {
  if (isObjectKind(given)) return given;
  if (KINDS_WITHOUT_OBJECTS.has(given)) return 'none';
  throw badRequest(`unknown kind ${JSON.stringify(given)}`);
}

/** LogRequest is a request to the log. `id` is the ID as the client sent it, perhaps a prefix. */
export interface LogRequest extends Omit<LogQuery, 'kind'> {
  readonly kind: ObjectKind | 'none' | undefined;
}

/** Decodes the query for transactions (API-264, API-265). @throws Refusal invalid */
export function readLogRequest(query: QueryString): LogRequest {
  const given = param(query, 'kind');
  const kind = given === undefined || given === '' ? undefined : kindOf(given);
  const id = param(query, 'id') || undefined;
  if (kind === undefined && id !== undefined) throw badRequest('id needs a kind');
  const perPage = perPageParam(query) || DEFAULT_PER_PAGE;
  return {
    namespaces: namespacesOf(query),
    kind,
    id: kind === 'scheduler-config' ? (id ?? SCHEDULER_CONFIG_ID) : id,
    related: boolParam(query, 'related'),
    from: numberParam(query, 'from'),
    to: numberParam(query, 'to'),
    sinceNs: timeParam(query, 'since'),
    untilNs: timeParam(query, 'until'),
    types: params(query, 'type').filter((type) => type !== ''),
    actor: param(query, 'actor') || undefined,
    request: param(query, 'request') || undefined,
    trace: traceParam(query),
    reverse: boolParam(query, 'reverse'),
    withStates: boolParam(query, 'diff'),
    perPage: Math.min(perPage, MAX_PER_PAGE),
    nextIndex: numberParam(query, 'next_token'),
  };
}

function numberParam(query: QueryString, name: string): number | undefined {
  const text = param(query, name);
  if (text === undefined || text === '') return undefined;
  if (!/^\d{1,15}$/.test(text)) throw badRequest(`invalid ${name} ${JSON.stringify(text)}: not an index`);
  return Number(text);
}

/** The largest distance from 1970 that the read model can compare, in nanoseconds: the largest number below 2^63. */
const FURTHEST_NS = 2 ** 63 - 1024;

/** Reads a time in RFC 3339 or Unix nanoseconds, and limits it to FURTHEST_NS. */
function timeParam(query: QueryString, name: string): number | undefined {
  const text = param(query, name);
  if (text === undefined || text === '') return undefined;
  if (/^\d{1,19}$/.test(text)) return Math.min(Number(text), FURTHEST_NS);
  const ms = /^\d{4}-\d\d-\d\dT/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(ms))
    throw badRequest(`invalid ${name} ${JSON.stringify(text)}: neither RFC 3339 nor unix nanoseconds`);
  return Math.max(-FURTHEST_NS, Math.min(ms * 1e6, FURTHEST_NS));
}

function traceParam(query: QueryString): string | undefined {
  const text = param(query, 'trace')?.toLowerCase();
  if (text === undefined || text === '') return undefined;
  if (!/^[0-9a-f]{32}$/.test(text)) throw badRequest(`invalid trace ${JSON.stringify(text)}: not 32 hex digits`);
  return text;
}
