import type { Caller, WorkloadCaller } from '../access/caller.js';
import { pathOf } from '../http/path.js';
import type { VerifiedSubject } from '../http/request-notes.js';
import { namespaceOf, params, type QueryString } from '../http/query-string.js';
import { EVERYWHERE } from '../openapi/document.js';
import { OPERATIONS } from '../openapi/operations.js';
import { type AddressedObject, addressedObject } from './addressed-object.js';

/**
 * The stages at which a request is recorded: before it is carried out, before its answer is sent, and when a stream has
 * ended (AU-272).
 */
export const STAGES = ['OperationReceived', 'OperationComplete', 'OperationClosed'] as const;
export type Stage = (typeof STAGES)[number];

/** The largest number of characters of a text from a request or an answer. */
const MAX_TEXT = 1_024;
const REMOVED = '[removed]';

/** AuditAuth says who sent the request (AU-274). */
export interface AuditAuth {
  /** The value is `anonymous`, `acls-disabled`, `invalid`, `unchecked`, or the accessor of a token. */
  readonly accessor_id: string;
  readonly name?: string;
  readonly type?: string;
  readonly global?: boolean;
  readonly policies?: readonly string[];
  readonly roles?: readonly { readonly id: string; readonly name: string }[];
  readonly create_time?: string;
  readonly expiration_time?: string;
  readonly credential_hash?: string;
  /** The method of a login whose credential was verified. */
  readonly auth_method?: string;
  readonly issuer?: string;
  readonly subject?: string;
  /** The namespace of a workload. */
  readonly namespace?: string;
  readonly job_id?: string;
  readonly group?: string;
  readonly task?: string;
  readonly identity?: string;
  /** The term of the role `role:<role>` (AU-259). */
  readonly epoch?: number;
  /** The process that held the role. */
  readonly holder?: string;
}

/** AuditRequest says what was requested (AU-275). */
export interface AuditRequest {
  readonly id: string;
  readonly operation: string;
  readonly endpoint: string;
  readonly route?: string;
  readonly namespace: { readonly id: string };
  readonly region: string;
  readonly object?: AddressedObject;
  readonly query?: Readonly<Record<string, readonly string[]>>;
  readonly request_meta: { readonly remote_address: string; readonly user_agent: string };
  readonly node_meta: { readonly ip: string };
  readonly trace_id?: string;
  readonly body_sha256?: string;
}

/** AuditResponse says what was answered (AU-276). */
export interface AuditResponse {
  readonly status_code: number;
  readonly error?: string;
  /** The index of the transaction that was written. */
  readonly index?: number;
  /** The request ID in the envelope of that transaction. */
  readonly request_id?: string;
  /** Absent for what a service did by itself and that took no measured time. */
  readonly duration_ms?: number;
  /** The bytes of an ended stream, its head included. */
  readonly bytes?: number;
}

/** AuditRecord is one line of the audit log (AU-273). */
export interface AuditRecord {
  readonly created_at: string;
  readonly event_type: 'audit';
  readonly payload: {
    readonly id: string;
    readonly stage: Stage;
    readonly type: 'audit';
    readonly timestamp: string;
    readonly version: 1;
    readonly auth: AuditAuth;
    readonly request: AuditRequest;
    readonly response?: AuditResponse;
  };
}

/** SeenRequest is a request as it arrived, before anything was done with it. */
export interface SeenRequest {
  readonly id: string;
  readonly method: string;
  readonly url: string;
  /** The pattern of the route. It is undefined if there is none. */
  readonly route: string | undefined;
  readonly query: QueryString;
  readonly userAgent: string;
  /** The secret with which the request was sent. */
  readonly credential: string | undefined;
  readonly remoteAddress: string;
  readonly localAddress: string;
}

/** The values of these parameters are secrets or may contain one: a command line often contains a password. */
const SECRET = ['token', 'ott', 'code', 'state', 'command'];
const KNOWN: ReadonlySet<string> = new Set(['namespace', ...EVERYWHERE, ...OPERATIONS.flatMap(({ query }) => query)]);
const isShown = (name: string): boolean => KNOWN.has(name) && !SECRET.includes(name);

/**
 * Returns the request of a record. It contains no secret, wherever in the URL its sender has put one (AU-275, AU-277).
 */
export function auditRequest(seen: SeenRequest, region: string): AuditRequest {
  const clean = (text: string): string => withoutSecret(text, seen.credential).slice(0, MAX_TEXT);
  const endpoint = clean(pathOf(seen.url));
  const namespace = clean(namespaceOf(seen.query));
  const object = addressedObject(endpoint, namespace);
  const query = shownQuery(seen.query, clean);
  return {
    id: seen.id,
    operation: seen.method,
    endpoint,
    ...(seen.route !== undefined && { route: seen.route }),
    namespace: { id: namespace },
    region,
    ...(object && { object }),
    ...(query && { query }),
    request_meta: { remote_address: seen.remoteAddress, user_agent: clean(seen.userAgent) },
    node_meta: { ip: seen.localAddress },
  };
}

/**
 * Returns the query. It omits the values of names that no operation uses, because a misspelt parameter may contain a
 * secret.
 */
function shownQuery(
  query: QueryString,
  clean: (text: string) => string,
): Readonly<Record<string, readonly string[]>> | undefined {
  const names = Object.keys(query);
  if (names.length === 0) return undefined;
  return Object.fromEntries(
    names.map((name) => [clean(name), isShown(name) ? params(query, name).map(clean) : [REMOVED]]),
  );
}

/**
 * Returns a text without the secret of the request. Some clients send it as a part of a path, and some errors repeat
 * it.
 */
export function withoutSecret(text: string, credential: string | undefined): string {
  if (credential === undefined || credential === '') return text;
  const [lower, secret] = [text.toLowerCase(), credential.toLowerCase()];
  let clean = '';
  let from = 0;
  for (let at = lower.indexOf(secret); at >= 0; at = lower.indexOf(secret, from)) {
    clean += text.slice(from, at) + REMOVED;
    from = at + secret.length;
  }
  return clean + text.slice(from);
}

/** Returns the text of an error answer without the secret of its request. */
export const auditError = (text: string, credential: string | undefined): string =>
  withoutSecret(text, credential).slice(0, MAX_TEXT);

/** Returns who logged in. The sender of such a request is not known before (AU-274). */
export const loginAuth = ({ method, issuer, subject }: VerifiedSubject): Partial<AuditAuth> => ({
  auth_method: method,
  issuer: issuer.slice(0, MAX_TEXT),
  subject: subject.slice(0, MAX_TEXT),
});

/** Returns a caller whose credential was checked (AU-274). */
export function auditAuth({ grants, actor, workload }: Pick<Caller, 'grants' | 'actor' | 'workload'>): AuditAuth {
  if (workload) return workloadAuth(workload);
  if (!grants) return { accessor_id: actor.Kind };
  const { token, roles } = grants;
  return {
    accessor_id: token.AccessorID,
    name: token.Name,
    type: token.Type,
    global: token.Global,
    policies: token.Policies ?? [],
    roles: roles.map(({ ID, Name }) => ({ id: ID, name: Name })),
    create_time: token.CreateTime,
    ...(token.ExpirationTime !== null && { expiration_time: token.ExpirationTime }),
  };
}

const workloadAuth = (workload: WorkloadCaller): AuditAuth => ({
  accessor_id: `alloc:${workload.allocId}`,
  policies: workload.policies,
  namespace: workload.namespace,
  job_id: workload.jobId,
  group: workload.group,
  ...(workload.task !== '' && { task: workload.task }),
  identity: workload.identity,
  ...(workload.expiresAtMs !== undefined && { expiration_time: new Date(workload.expiresAtMs).toISOString() }),
});

/** Formats a time in RFC 3339 with nanoseconds; the clock has only milliseconds. @param unixMs whole milliseconds */
export const auditTime = (unixMs: number): string => new Date(unixMs).toISOString().replace('Z', '000000Z');
