import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';

/** A client that takes longer to send the head of a request is cut off, ms; the rest of it, below. */
export const HEADERS_TIMEOUT_MS = 10_000;
/** And for all of it, ms: a job of MAX_BODY_BYTES over half a megabyte per second. */
export const REQUEST_TIMEOUT_MS = 60_000;
/** How often it is looked after those who send slowly, ms. */
export const SLOW_CHECK_MS = 1_000;

interface Answer {
  readonly status: number;
  readonly text: string;
}

const ANSWERS: Readonly<Record<string, Answer>> = {
  HPE_HEADER_OVERFLOW: { status: 431, text: 'the headers of the request are larger than 16 KiB' },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, text: 'the request was not sent in time' },
};
/** There is no agreement on TLS, and so nothing that could be said. */
const isOfTls = ({ code = '' }: NodeJS.ErrnoException): boolean =>
  code.startsWith('ERR_SSL_') || code.startsWith('ERR_TLS_');

const NO_HTTP: Answer = { status: 400, text: 'this is no HTTP request' };

/** Answers on the bare socket what is no request, in the form of all other refusals (API-35), and hangs up. */
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

/** A target that cannot be routed, because it is no valid encoding or too long, in the form of all other refusals. */
export function refuseUnroutable(error: FastifyError, _request: FastifyRequest, reply: FastifyReply): void {
  const text = error.statusCode === 414 ? 'a part of the path is too long' : 'the path is not valid percent-encoding';
  void reply
    .code(error.statusCode ?? 400)
    .header('Content-Type', 'text/plain; charset=utf-8')
    .send(text);
}
