import { readFile } from 'node:fs/promises';
import { type IncomingMessage, request as plainRequest } from 'node:http';
import { request as tlsRequest } from 'node:https';
import { bytesWithin, errorText, TooManyBytesError } from '@waybill/model';
import { CALL_TIMEOUT_MS, type CallServer, MAX_ANSWER_BYTES, ServerAwayError, type ServerCall } from './server-call.js';

/** ServerAddress is the address of Vault or Consul, with the files of its TLS. Empty texts are unset. */
export interface ServerAddress {
  /** The scheme is `https:`, or `http:` for this machine. */
  readonly address: string;
  readonly ca_file: string;
  readonly cert_file: string;
  readonly key_file: string;
  readonly tls_server_name: string;
}

interface TlsOptions {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly servername?: string;
}

/**
 * Returns calls to a server. Redirects count as answers and are not followed, because a token would go to another
 * server. Files of TLS are read for each call, so that they may be renewed. Limits: the time of the call,
 * MAX_ANSWER_BYTES.
 * @param product the name in errors
 */
export function callsTo(server: ServerAddress, product: string): CallServer {
  const base = new URL(server.address);
  const where = `${product} at ${base.origin}`;
  return async (call) => {
    const timeoutMs = call.timeoutMs ?? CALL_TIMEOUT_MS;
    const timeout = AbortSignal.timeout(timeoutMs);
    const signal = call.signal ? AbortSignal.any([timeout, call.signal]) : timeout;
    try {
      const answer = await answerTo(base, call, await tlsOptionsOf(server), signal);
      const text = (await bytesWithin(answer, MAX_ANSWER_BYTES)).toString('utf8');
      return { status: answer.statusCode ?? 0, text, index: indexOf(answer) };
    } catch (error) {
      const reason = timeout.aborted ? `no answer within ${timeoutMs} ms` : reasonOf(error);
      throw new ServerAwayError(`${where} cannot be reached (${reason})`, { cause: error });
    }
  };
}

async function tlsOptionsOf({
  address,
  ca_file,
  cert_file,
  key_file,
  tls_server_name,
}: ServerAddress): Promise<TlsOptions> {
  if (!address.startsWith('https:')) return {};
  const [ca, cert, key] = await Promise.all([textIn(ca_file), textIn(cert_file), textIn(key_file)]);
  return {
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
    ...(tls_server_name !== '' && { servername: tls_server_name }),
  };
}

const textIn = (file: string): Promise<string | undefined> =>
  file === '' ? Promise.resolve(undefined) : readFile(file, 'utf8');

function answerTo(base: URL, call: ServerCall, tls: TlsOptions, signal: AbortSignal): Promise<IncomingMessage> {
  const url = new URL(`${base.origin}${base.pathname.replace(/\/+$/, '')}${call.path}`);
  const body = call.body === undefined ? '' : JSON.stringify(call.body);
  const headers = {
    ...(body !== '' && { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) }),
    ...call.headers,
  };
  const options = { method: call.method, headers, signal, ...tls };
  return new Promise((resolve, reject) => {
    const request = url.protocol === 'https:' ? tlsRequest(url, options) : plainRequest(url, options);
    request.once('error', reject);
    request.once('response', resolve);
    request.end(body);
  });
}

const indexOf = ({ headers }: IncomingMessage): number => {
  const index = Number(headers['x-consul-index']);
  return Number.isSafeInteger(index) && index > 0 ? index : 0;
};

/** Returns the code of Node's error if there is one, because its text names addresses. */
function reasonOf(error: unknown): string {
  if (error instanceof TooManyBytesError) return error.message;
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') return error.code;
  return errorText(error);
}
