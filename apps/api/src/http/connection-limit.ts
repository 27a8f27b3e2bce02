import type { Server, Socket } from 'node:net';
import { type Clock, TokenBucket, type TokenRate } from '@waybill/model';
import type { Metrics } from '@waybill/telemetry';

const TEXT = 'Your IP is issuing too many concurrent connections, please rate limit your calls\n';
const ANSWER =
  'HTTP/1.1 429 Too Many Requests\r\n' +
  'Content-Type: text/plain; charset=utf-8\r\n' +
  `Content-Length: ${TEXT.length}\r\n` +
  `Connection: close\r\n\r\n${TEXT}`;
/** Refusals in words that one process gives per second, and at once after a quiet time (OP-225). */
export const REFUSAL_RATE: TokenRate = { perSecond: 10, burst: 100 };
/** One that has been refused and does not go away is cut off after this long, ms. */
const LINGER_MS = 1_000;

/**
 * Refuses connections beyond `limit` from one address (API-10, OP-225); 0: no limit. A client that opens hundreds, mostly by
 * mistake, must not take the descriptors that all share; nor may it make the server write as many answers: beyond
 * REFUSAL_RATE it is hung up on without a word.
 * Counts what it lets in and what it does not, for the metrics. Memory: one number per connected address.
 */
export function limitConnections(server: Server, limit: number, metrics: Metrics, clock: Clock): void {
  const inWords = new TokenBucket(clock, REFUSAL_RATE);
  const open = new Map<string, number>();
  metrics.gauge('nomad_agent_http_connections', 'open HTTP connections', {
    collect: () => [...open.values()].reduce((sum, count) => sum + count, 0),
  });
  const exceeded = metrics.counter('nomad_agent_http_exceeded', 'HTTP connections refused by the limit');
  server.prependListener('connection', (socket: Socket) => {
    const from = socket.remoteAddress ?? '';
    const count = (open.get(from) ?? 0) + 1;
    open.set(from, count);
    socket.once('close', () => {
      const left = (open.get(from) ?? 1) - 1;
      if (left > 0) open.set(from, left);
      else open.delete(from);
    });
    if (limit > 0 && count > limit) {
      exceeded.inc();
      if (inWords.tryTake()) refuse(socket);
      else socket.destroy();
    }
  });
}

/** Answers without waiting for a request; what still comes is read and dropped, as a reset could overtake the answer. */
function refuse(socket: Socket): void {
  socket.on('error', () => {});
  socket.end(ANSWER);
  socket.setTimeout(LINGER_MS, () => socket.destroy());
}
