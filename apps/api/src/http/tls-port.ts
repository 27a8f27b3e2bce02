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
/** One that was answered and does not go away is cut off after this long, ms. */
const LINGER_MS = 1_000;

export interface TlsPortOptions {
  /** Callers without a certificate of the authorities are cut off in the handshake (OP-222). */
  readonly verifyClient: boolean;
  /** 0: for ever (OP-226). */
  readonly handshakeTimeoutMs: number;
}

/** Longest that node's timer can wait; as good as for ever. */
const FOR_EVER_MS = 2 ** 31 - 1;

/** What an HTTPS server is made with. */
export const tlsServerOptions = (current: TlsOptions, options: TlsPortOptions): ServerOptions => ({
  ...current,
  requestCert: options.verifyClient,
  rejectUnauthorized: options.verifyClient,
  handshakeTimeout: options.handshakeTimeoutMs || FOR_EVER_MS,
});

/**
 * Has the server use what replaces its certificate, for new connections; those that stand go on with what they have agreed
 * on (OP-223). Sessions of before cannot be resumed, so every new connection sees the new certificate.
 * @returns how to end it
 */
export const followIdentity = (server: Server, identity: TlsIdentity): (() => void) =>
  identity.onChange((options) => server.setSecureContext(options));

/**
 * Looks at the first byte of each connection: one that speaks plain HTTP is told so in words that every client shows, where
 * a broken handshake would say nothing. To be called before anything else listens to connections of the server.
 * @returns how to cut off those that have said nothing yet
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

/** What still comes is read and dropped, as a reset could overtake the answer. */
function refuse(socket: Socket): void {
  socket.resume();
  socket.end(ANSWER);
  socket.setTimeout(LINGER_MS, () => socket.destroy());
}
