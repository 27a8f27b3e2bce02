import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';

/**
 * The longest time in milliseconds that a client may take to send the head of a request. REQUEST_TIMEOUT_MS is the
 * limit for the whole request.
 */
export const HEADERS_TIMEOUT_MS = 10_000;
/**
 * The longest time in milliseconds for a whole request: enough for a body of MAX_BODY_BYTES at half a megabyte per
 * second.
 */
export const REQUEST_TIMEOUT_MS = 60_000;
/** The interval in milliseconds between checks for clients that send slowly. */
export const SLOW_CHECK_MS = 1_000;

interface Answer {
  readonly status: number;
  readonly text: string;
}

const ANSWERS: Readonly<Record<string, Answer>> = {
  HPE_HEADER_OVERFLOW: { status: 431, text: 'the headers of the request are larger than 16 KiB' },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, text: 'the request was not sent in time' },
};
/** Says whether the handshake of TLS failed. No answer is possible then. */
const isOfTls = ({ code = '' }: NodeJS.ErrnoException): boolean =>
  code.startsWith('ERR_SSL_') || code.startsWith('ERR_TLS_');

const NO_HTTP: Answer = { status: 400, text: 'this is no HTTP request' };

/**
 * Answers a malformed request on the bare socket, in the form of all other refusals (API-35), and closes the
 * connection.
 */
export function refuseMalformed(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || isOfTls(error) || !socket.writable) {
    socket.destroy();
    return;
  }
  const { status, text } = ANSWERS[error.code ?? ''] ?? NO_HTTP;
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Content-Type: text/plain; charset=utf-8',
    `Content-Length: ${text.length}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${text}`);
}

/**
 * Refuses a URL that cannot be routed because its encoding is invalid or it is too long, in the form of all other
 * refusals.
 */
export function refuseUnroutable(error: FastifyError, _request: FastifyRequest, reply: FastifyReply): void {
  const text = error.statusCode === 414 ? 'a part of the path is too long' : 'the path is not valid percent-encoding';
  void reply
    .code(error.statusCode ?? 400)
    .header('Content-Type', 'text/plain; charset=utf-8')
    .send(text);
}
