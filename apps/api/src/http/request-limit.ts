import { type Clock, TokenBucket, type TokenRate } from '@waybill/model';
import type { Metrics } from '@waybill/telemetry';
import type { FastifyInstance } from 'fastify';
import { pathOf } from './path.js';

/** Seconds of quiet that a client may make up for at once. */
const BURST_S = 10;
/** Addresses that are known at a time. Of more, the one that was quiet the longest is forgotten: it may begin afresh. */
export const MAX_ADDRESSES = 10_000;
/** What tells a load balancer that this process is well: refusing it would take the process out of service. */
const HEALTH_PATH = '/v1/agent/health';
const MS_PER_S = 1_000;

export const TOO_MANY_REQUESTS = 'Your IP is issuing too many requests, please rate limit your calls';

/**
 * How many requests one address may make per second, if there is a limit at all (OP-228). Counted when a request begins,
 * however long it waits. Memory: two numbers per address, of MAX_ADDRESSES. Cost: O(1) a request.
 */
export class RequestLimit {
  private readonly rate: TokenRate;
  /** The one that was heard of last is last. */
  private readonly buckets = new Map<string, TokenBucket>();

  /** @param perSecond 0: no limit */
  constructor(
    perSecond: number,
    private readonly clock: Clock,
  ) {
    this.rate = { perSecond, burst: Math.max(1, perSecond * BURST_S) };
  }

  /** Counts a request from an address. @returns whole seconds after which another may pass; 0: this one may */
  countRequest(address: string): number {
    if (this.rate.perSecond === 0) return 0;
    const bucket = this.bucketOf(address);
    return bucket.tryTake() ? 0 : Math.max(1, Math.ceil(bucket.waitMs() / MS_PER_S));
  }

  private bucketOf(address: string): TokenBucket {
    const bucket = this.buckets.get(address) ?? new TokenBucket(this.clock, this.rate);
    this.buckets.delete(address);
    this.buckets.set(address, bucket);
    const [oldest] = this.buckets.size > MAX_ADDRESSES ? this.buckets.keys() : [];
    if (oldest !== undefined) this.buckets.delete(oldest);
    return bucket;
  }
}

/** Answers 429 to what is beyond the limit, before anything of it is read. */
export function limitRequests(fastify: FastifyInstance, limit: RequestLimit, metrics: Metrics): void {
  const refused = metrics.counter('http_requests_refused', 'requests refused by the limit per address and second');
  fastify.addHook('onRequest', (request, reply, done) => {
    const retryAfterS =
      pathOf(request.url) === HEALTH_PATH ? 0 : limit.countRequest(request.socket.remoteAddress ?? '');
    if (retryAfterS === 0) return done();
    refused.inc();
    void reply
      .code(429)
      .header('Retry-After', String(retryAfterS))
      .header('Content-Type', 'text/plain; charset=utf-8')
      .send(TOO_MANY_REQUESTS);
  });
}
