import { type Clock, TokenBucket, type TokenRate } from '@waybill/model';
import type { Metrics } from '@waybill/telemetry';
import type { FastifyInstance } from 'fastify';
import { pathOf } from './path.js';

/** The seconds of quiet time whose requests a client may send at once. */
const BURST_S = 10;
/**
 * The largest number of addresses that are known. If there are more, the address that was quiet the longest is
 * forgotten and may begin afresh.
 */
export const MAX_ADDRESSES = 10_000;
/**
 * The path where a load balancer learns that this process is well. Refusing it would take the process out of service.
 */
const HEALTH_PATH = '/v1/agent/health';
const MS_PER_S = 1_000;

export const TOO_MANY_REQUESTS = 'Your IP is issuing too many requests, please rate limit your calls';

/**
 * RequestLimit limits how many requests one address may make per second, if a limit is set (OP-228). A request counts
 * when it begins, however long it waits. Memory: two numbers per address, for at most MAX_ADDRESSES. Cost: O(1) per
 * request.
 */
export class RequestLimit {
  private readonly rate: TokenRate;
  /** The buckets by address. The address with the latest request is last. */
  private readonly buckets = new Map<string, TokenBucket>();

  /** @param perSecond 0 for no limit */
  constructor(
    perSecond: number,
    private readonly clock: Clock,
  ) {
    this.rate = { perSecond, burst: Math.max(1, perSecond * BURST_S) };
  }

  /**
   * Counts a request from an address. @returns whole seconds after which another request may pass; 0 if this one may
   * pass
   */
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

/** Answers 429 to requests beyond the limit, before it reads anything of them. */
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
