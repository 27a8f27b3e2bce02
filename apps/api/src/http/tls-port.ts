import type { Server, ServerOptions } from 'node:https';
import type { Socket } from 'node:net';
import type { TlsIdentity, TlsOptions } from '@waybill/service';

/** The first byte of every TLS connection: a record with a message of the handshake (RFC 8446, 5.1). */
const HANDSHAKE = 22;
const TEXT = 'Client sent an HTTP request to an HTTPS server.\n';
const ANSWER =
  'HTTP/1.0 400 Bad Request\r\n' +
  'Content-Type: text/plain; charset=utf-8\r\n' +
  `Content-Length: ${TEXT.length}\r\n` +
  `Connection: close\r\n\r\n${TEXT}`;
/** The time in milliseconds after which an answered connection that stays open is cut. */
const LINGER_MS = 1_000;

export interface TlsPortOptions {
  /** Says whether the handshake cuts callers without a certificate of the authorities (OP-222). */
  readonly verifyClient: boolean;
  /** The longest time of a handshake in milliseconds; 0 stands for no limit (OP-226). */
  readonly handshakeTimeoutMs: number;
}

/** The longest time of one of node's timers. In practice it is for ever. */
const FOR_EVER_MS = 2 ** 31 - 1;

/** Returns the options of an HTTPS server. */
export const tlsServerOptions = (current: TlsOptions, options: TlsPortOptions): ServerOptions => ({
  ...current,
  requestCert: options.verifyClient,
  rejectUnauthorized: options.verifyClient,
  handshakeTimeout: options.handshakeTimeoutMs || FOR_EVER_MS,
});

/**
 * Makes the server use a replacement of its certificate for new connections; open connections keep theirs (OP-223).
 * Earlier sessions cannot be resumed, so every new connection sees the new certificate.
 * @returns a function that stops it
 */
export const followIdentity = (server: Server, identity: TlsIdentity): (() => void) =>
  identity.onChange((options) => server.setSecureContext(options));

/**
 * Reads the first byte of each connection. It answers a connection that uses plain HTTP with a text that every client
 * shows; a failed handshake would say nothing. Call it before anything else listens to connections of the server.
 * @returns a function that cuts the connections which have sent nothing yet
 */
export function tellPlainHttp(server: Server, { handshakeTimeoutMs }: TlsPortOptions): () => void {
  const silent = new Set<Socket>();
  const toTls = server.listeners('connection');
  server.removeAllListeners('connection');
  server.on('connection', (socket: Socket) => {
    if (socket.destroyed) return;
    silent.add(socket);
    const ignore = (): void => {};
    const late = setTimeout(() => socket.destroy(), handshakeTimeoutMs || FOR_EVER_MS);
    const gone = (): void => {
      clearTimeout(late);
      silent.delete(socket);
    };
    socket.on('error', ignore);
    socket.once('close', gone);
    socket.once('data', (first: Buffer) => {
      gone();
      socket.off('close', gone);
      socket.pause();
      if (first[0] !== HANDSHAKE) return refuse(socket);
      socket.unshift(first);
      socket.off('error', ignore);
      for (const listener of toTls) listener.call(server, socket);
    });
  });
  return () => {
    for (const socket of silent) socket.destroy();
  };
}

/** Answers and closes. Further input is read and dropped, because a reset could overtake the answer. */
function refuse(socket: Socket): void {
  socket.resume();
  socket.end(ANSWER);
  socket.setTimeout(LINGER_MS, () => socket.destroy());
}
