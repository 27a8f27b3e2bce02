import { badRequest } from '../http/api-error.js';
import { param, perPageParam, type QueryString } from '../http/query-string.js';
import { type AuditRecord, type Stage, STAGES } from './audit-record.js';

const DEFAULT_PER_PAGE = 50;
const MAX_PER_PAGE = 1_000;

/** AuditQuery says which records are requested (AU-282). An undefined member matches all. */
export interface AuditQuery {
  readonly fromMs: number | undefined;
  readonly toMs: number | undefined;
  readonly accessor: string | undefined;
  readonly namespace: string | undefined;
  readonly object: string | undefined;
  readonly operation: string | undefined;
  readonly status: number | undefined;
  readonly stage: Stage | undefined;
  readonly request: string | undefined;
  readonly perPage: number;
  /** The token of the page. It is empty for the newest page. */
  readonly nextToken: string;
}

/** @throws Refusal invalid */
export function readAuditQuery(query: QueryString): AuditQuery {
  const namespace = text(query, 'namespace');
  return {
    fromMs: time(query, 'from'),
    toMs: time(query, 'to'),
    accessor: text(query, 'accessor'),
    namespace: namespace === '*' ? undefined : namespace,
    object: text(query, 'object'),
    operation: text(query, 'operation')?.toUpperCase(),
    status: statusOf(query),
    stage: stageOf(query),
    request: text(query, 'request'),
    perPage: Math.min(perPageParam(query) || DEFAULT_PER_PAGE, MAX_PER_PAGE),
    nextToken: param(query, 'next_token') ?? '',
  };
}

/**
 * Says whether a record is requested. `object` is an ID or its beginning. `request` is the ID of a record or of its
 * transaction.
 */
export function isWanted({ payload }: AuditRecord, wanted: AuditQuery): boolean {
  const { request, response, auth } = payload;
  const is = <T>(one: T | undefined, other: T | undefined): boolean => one === undefined || one === other;
  return (
    isInTime(payload.timestamp, wanted) &&
    is(wanted.accessor, auth.accessor_id) &&
    is(wanted.namespace, request.namespace.id) &&
    (wanted.object === undefined || request.object?.id.startsWith(wanted.object) === true) &&
    is(wanted.operation, request.operation) &&
    is(wanted.status, response?.status_code) &&
    is(wanted.stage, payload.stage) &&
    (is(wanted.request, request.id) || is(wanted.request, response?.request_id))
  );
}

function isInTime(timestamp: string, { fromMs, toMs }: AuditQuery): boolean {
  const ms = Date.parse(timestamp);
  return (fromMs === undefined || ms >= fromMs) && (toMs === undefined || ms <= toMs);
}

const text = (query: QueryString, name: string): string | undefined => param(query, name) || undefined;

/** Reads a time in RFC 3339. */
function time(query: QueryString, name: string): number | undefined {
  const given = text(query, name);
  if (given === undefined) return undefined;
  const ms = /^\d{4}-\d\d-\d\dT/.test(given) ? Date.parse(given) : Number.NaN;
  if (Number.isNaN(ms)) throw badRequest(`invalid ${name} ${JSON.stringify(given)}: not RFC 3339`);
  return ms;
}

function statusOf(query: QueryString): number | undefined {
  const given = text(query, 'status');
  if (given === undefined) return undefined;
  if (!/^[1-5]\d\d$/.test(given)) throw badRequest(`invalid status ${JSON.stringify(given)}: not from 100 to 599`);
  return Number(given);
}

function stageOf(query: QueryString): Stage | undefined {
  const given = text(query, 'stage');
  if (given === undefined || given === '*') return undefined;
  const stage = STAGES.find((one) => one === given);
  if (!stage) throw badRequest(`unknown stage ${JSON.stringify(given)}: one of ${STAGES.join(', ')}`);
  return stage;
}
