import { type IncomingMessage, request as plainRequest } from 'node:http';
import { request as tlsRequest } from 'node:https';
import { bytesWithin } from '@waybill/model';
import { KeyServiceError } from '../key-service-error.js';
import type { TransitAnswer, TransitCall, TransitOperation } from './transit-wrapper.js';

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
  /** Returns the token. It is read for each request, because another program renews it. @throws KeyServiceError */
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
    const token = await at.token();
    const timeout = AbortSignal.timeout(timeoutMs);
    try {
      return await wholeAnswer(await answerTo(at, { operation, token, body: JSON.stringify(body), signal: timeout }));
    } catch (error) {
      const reason = timeout.aborted ? `no answer within ${timeoutMs} ms` : codeOf(error);
      throw new KeyServiceError(`the key management service cannot be reached (${reason})`, { cause: error });
    }
  };
}

interface Sent {
  readonly operation: TransitOperation;
  readonly token: string;
  readonly body: string;
  readonly signal: AbortSignal;
}

function answerTo(at: TransitAddress, { operation, token, body, signal }: Sent): Promise<IncomingMessage> {
  const url = new URL(at.url);
  const parts = [...at.mount.split('/').filter(Boolean), operation, at.key].map(encodeURIComponent);
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/v1/${parts.join('/')}`;
  const headers = {
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    'x-vault-request': 'true',
    'x-vault-token': token,
    ...(at.namespace !== '' && { 'x-vault-namespace': at.namespace }),
  };
  const options = { method: 'POST', headers, signal, ...(at.authorities.length > 0 && { ca: [...at.authorities] }) };
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
