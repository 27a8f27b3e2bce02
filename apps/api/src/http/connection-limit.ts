import type { Server, Socket } from 'node:net';
import { Server as TlsServer } from 'node:tls';
import { type Clock, TokenBucket, type TokenRate } from '@waybill/model';
import type { Metrics } from '@waybill/telemetry';

const TEXT = 'Your IP is issuing too many concurrent connections, please rate limit your calls\n';
const ANSWER =
  'HTTP/1.1 429 Too Many Requests\r\n' +
  'Content-Type: text/plain; charset=utf-8\r\n' +
  `Content-Length: ${TEXT.length}\r\n` +
  `Connection: close\r\n\r\n${TEXT}`;
/**
 * The number of refusals with a text that one process sends per second, and the number at once after a quiet time
 * (OP-225).
 */
export const REFUSAL_RATE: TokenRate = { perSecond: 10, burst: 100 };
/** The time in milliseconds after which a refused connection that stays open is cut. */
const LINGER_MS = 1_000;

/**
 * Refuses connections beyond `limit` from one address (API-10, OP-225); 0 stands for no limit. A client that opens
 * hundreds, mostly by mistake, must not take the descriptors that all clients share. Nor may it make the server write
 * as many answers: beyond REFUSAL_RATE the server closes a connection without an answer.
 * A connection over TLS counts from the end of its handshake, so that it can be answered. As many more may be in their
 * handshake.
 * Metrics count open and refused connections. Memory: one number per connected address.
 */
export function limitConnections(server: Server, limit: number, metrics: Metrics, clock: Clock): void {
  const inWords = new TokenBucket(clock, REFUSAL_RATE);
  const open = new AddressCounts();
  metrics.gauge('nomad_agent_http_connections', 'open HTTP connections', {
    collect: () => open.total,
  });
  const exceeded = metrics.counter('nomad_agent_http_exceeded', 'HTTP connections refused by the limit');
  const overTls = server instanceof TlsServer;
  server.prependListener(overTls ? 'secureConnection' : 'connection', (socket: Socket) => {
    const count = open.add(socket);
    if (limit === 0 || count <= limit) return;
    exceeded.inc();
    if (inWords.tryTake()) refuse(socket);
    else socket.destroy();
  });
  if (!overTls || limit === 0) return;
  const connected = new AddressCounts();
  server.prependListener('connection', (socket: Socket) => {
    if (connected.add(socket) <= 2 * limit) return;
    exceeded.inc();
    socket.destroy();
  });
}

/** AddressCounts counts the open connections by the address from which they come. */
class AddressCounts {
  private readonly counts = new Map<string, number>();

  get total(): number {
    return [...this.counts.values()].reduce((sum, count) => sum + count, 0);
  }

  /** Counts a connection until it closes. @returns the number of its address, this connection included */
  add(socket: Socket): number {
    const from = socket.remoteAddress ?? '';
    const count = (this.counts.get(from) ?? 0) + 1;
    this.counts.set(from, count);
    socket.once('close', () => {
      const left = (this.counts.get(from) ?? 1) - 1;
      if (left > 0) this.counts.set(from, left);
      else this.counts.delete(from);
    });
    return count;
  }
}

/**
 * Answers without waiting for a request. Further input is read and dropped, because a reset could overtake the answer.
 */
function refuse(socket: Socket): void {
  socket.on('error', () => {});
  socket.end(ANSWER);
  socket.setTimeout(LINGER_MS, () => socket.destroy());
}
