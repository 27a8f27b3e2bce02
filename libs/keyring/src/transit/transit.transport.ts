import { type IncomingMessage, request as plainRequest } from 'node:http';
import { request as tlsRequest } from 'node:https';
import { bytesWithin } from '@waybill/model';
import { KeyServiceError } from '../key-service-error.js';
import type { TokenCall } from './token-renewal.js';
import type { TransitAnswer } from './transit-answer.js';
import type { TransitCall } from './transit-wrapper.js';

/** The timeout of one request in milliseconds. The service decrypts about two kilobytes. */
export const REQUEST_TIMEOUT_MS = 3_000;
/** The largest size of an answer in bytes. A wrapped root key has about three thousand. */
const MAX_ANSWER_BYTES = 64 * 1_024;

export interface TransitAddress {
  /** The URL has the scheme `https:`, or `http:` for this machine. */
  readonly url: URL;
  /** The path of the engine. */
  readonly mount: string;
  /** The name of the engine's key. */
  readonly key: string;
  /** The namespace is empty for the root namespace. */
  readonly namespace: string;
  /** Returns the token. It is read for each request, because another program may write a new one. @throws KeyServiceError */
  readonly token: () => Promise<string>;
  /**
   * The certificates in PEM that sign the service's certificate. If the list is empty, the system's certificates count.
   */
  readonly authorities: readonly string[];
}

/**
 * Calls the transit engine at this address. A redirect counts as an answer and is not followed, because it would send
 * the token to another server. Limits: REQUEST_TIMEOUT_MS, MAX_ANSWER_BYTES.
 */
export function transitOverHttp(at: TransitAddress, timeoutMs = REQUEST_TIMEOUT_MS): TransitCall {
  return async (operation, body) => {
    const path = [...at.mount.split('/').filter(Boolean), operation, at.key];
    return answerWithin(at, { method: 'POST', path, token: await at.token(), body: JSON.stringify(body) }, timeoutMs);
  };
}

/** Looks up and renews the token itself, with the same limits. */
export function tokenOverHttp(at: Omit<TransitAddress, 'token'>, timeoutMs = REQUEST_TIMEOUT_MS): TokenCall {
  return (operation, token) => {
    const method = operation === 'lookup-self' ? 'GET' : 'POST';
    const body = method === 'GET' ? '' : '{}';
    return answerWithin(at, { method, path: ['auth', 'token', operation], token, body }, timeoutMs);
  };
}

interface Sent {
  readonly method: 'GET' | 'POST';
  /** The parts of the path behind `/v1/`. */
  readonly path: readonly string[];
  readonly token: string;
  readonly body: string;
}
type Server = Pick<TransitAddress, 'url' | 'namespace' | 'authorities'>;

async function answerWithin(at: Server, sent: Sent, timeoutMs: number): Promise<TransitAnswer> {
  const timeout = AbortSignal.timeout(timeoutMs);
  try {
    return await wholeAnswer(await answerTo(at, sent, timeout));
  } catch (error) {
    const reason = timeout.aborted ? `no answer within ${timeoutMs} ms` : codeOf(error);
    throw new KeyServiceError(`the key management service cannot be reached (${reason})`, { cause: error });
  }
}

function answerTo(at: Server, { method, path, token, body }: Sent, signal: AbortSignal): Promise<IncomingMessage> {
  const url = new URL(at.url);
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/v1/${path.map(encodeURIComponent).join('/')}`;
  const headers = {
    ...(body !== '' && {
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(body)),
    }),
    'x-vault-request': 'true',
    'x-vault-token': token,
    ...(at.namespace !== '' && { 'x-vault-namespace': at.namespace }),
  };
  const options = { method, headers, signal, ...(at.authorities.length > 0 && { ca: [...at.authorities] }) };
  return new Promise((resolve, reject) => {
    const call = url.protocol === 'https:' ? tlsRequest(url, options) : plainRequest(url, options);
    call.once('error', reject);
    call.once('response', resolve);
    call.end(body);
  });
}

async function wholeAnswer(answer: IncomingMessage): Promise<TransitAnswer> {
  const bytes = await bytesWithin(answer, MAX_ANSWER_BYTES);
  return { status: answer.statusCode ?? 0, text: bytes.toString('utf8') };
}

/** Returns the code of Node's error if there is one, because its text names addresses. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  return 'code' in error && typeof error.code === 'string' ? error.code : error.message;
}
