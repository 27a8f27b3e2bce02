import { type ClientRequest, type IncomingMessage, request as plainRequest, STATUS_CODES } from 'node:http';
import { request as tlsRequest } from 'node:https';
import { bytesWithin, errorText } from '@waybill/model';

/** The largest size in bytes of an answer that is read (AU-107). Key sets and user infos have some thousand bytes. */
export const MAX_ANSWER_BYTES = 1_024 * 1_024;
/**
 * The timeout of one call to a provider in milliseconds. A login makes at most five calls, and ends after
 * LOGIN_DEADLINE_MS in any case.
 */
export const CALL_TIMEOUT_MS = 10_000;

/** OutsideCallError says that a call to a provider failed. The text contains neither a secret nor a query. */
export class OutsideCallError extends Error {
  override readonly name = 'OutsideCallError';
}

export interface OutsideRequest {
  readonly method: string;
  readonly headers: Headers | Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly signal?: AbortSignal | null | undefined;
}

/** Calls a provider, as `fetch` does. */
export type OutsideFetch = (url: string, request: OutsideRequest) => Promise<Response>;

/**
 * Returns the calls of one login method. A provider itself says where its keys and tokens are, so each call is checked
 * and not only the address that the method names (AU-108).
 */
export const callsTo =
  (allows: (url: URL) => boolean): ((authorities: readonly string[]) => OutsideFetch) =>
  (authorities) => {
    const call = outsideFetch(authorities);
    return async (text, request) => {
      const url = new URL(text);
      if (!allows(url)) throw new OutsideCallError(`logins may not call the host ${url.hostname}`);
      return call(text, request);
    };
  };

/** The only statuses without a body. */
const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

/**
 * Returns calls to providers of logins (AU-107). A redirect counts as an answer and is never followed. A certificate is
 * valid if one of the given authorities, or without any one of the system's, has signed it. Limits: CALL_TIMEOUT_MS,
 * MAX_ANSWER_BYTES.
 * @param authorities certificates in PEM
 */
export function outsideFetch(authorities: readonly string[]): OutsideFetch {
  return async (text, request) => {
    const url = new URL(text);
    const called = `${request.method} ${url.origin}${url.pathname}`;
    try {
      const answer = await answerTo(url, request, authorities);
      return await wholeAnswer(answer);
    } catch (error) {
      throw new OutsideCallError(`${called}: ${errorText(error)}`);
    }
  };
}

function answerTo(url: URL, request: OutsideRequest, authorities: readonly string[]): Promise<IncomingMessage> {
  const timeout = AbortSignal.timeout(CALL_TIMEOUT_MS);
  const signal = request.signal ? AbortSignal.any([request.signal, timeout]) : timeout;
  const headers = Object.fromEntries(new Headers(request.headers));
  const body = bodyOf(request.body);
  const options = {
    method: request.method,
    headers: { ...headers, ...(body !== undefined && { 'content-length': String(Buffer.byteLength(body)) }) },
    signal,
    ...(authorities.length > 0 && { ca: [...authorities] }),
  };
  return new Promise((resolve, reject) => {
    const call: ClientRequest = url.protocol === 'https:' ? tlsRequest(url, options) : plainRequest(url, options);
    call.once('error', (error) =>
      reject(timeout.aborted ? new Error(`no answer within ${CALL_TIMEOUT_MS} ms`) : error),
    );
    call.once('response', resolve);
    call.end(body);
  });
}

/** Converts the bodies that the libraries send: forms, texts, or nothing. */
function bodyOf(body: unknown): string | undefined {
  if (body === undefined || body === null) return undefined;
  if (typeof body === 'string') return body;
  if (body instanceof URLSearchParams) return body.toString();
  throw new TypeError('a body of this kind is not sent');
}

async function wholeAnswer(answer: IncomingMessage): Promise<Response> {
  const bytes = await bytesWithin(answer, MAX_ANSWER_BYTES);
  const status = answer.statusCode ?? 0;
  const headers = new Headers();
  for (const [name, value] of Object.entries(answer.headersDistinct))
    for (const one of value ?? []) headers.append(name, one);
  const body = WITHOUT_BODY.has(status) ? null : bytes;
  return new Response(body, { status, statusText: STATUS_CODES[status] ?? '', headers });
}
