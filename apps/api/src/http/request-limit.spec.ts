import { FakeTime } from '@waybill/model';
import { Metrics } from '@waybill/telemetry';
import Fastify from 'fastify';
import { describe, expect, it } from 'vitest';
import { limitRequests, MAX_ADDRESSES, RequestLimit, TOO_MANY_REQUESTS } from './request-limit.js';

function serverWith(perSecond: number) {
  const time = new FakeTime();
  const metrics = new Metrics('api');
  const fastify = Fastify();
  limitRequests(fastify, new RequestLimit(perSecond, time), metrics);
  fastify.get('/v1/jobs', () => 'jobs');
  fastify.get('/v1/agent/health', () => 'ok');
  const ask = async (remoteAddress = '10.0.0.1', url = '/v1/jobs') => fastify.inject({ url, remoteAddress });
  const statuses = async (count: number, ...of: Parameters<typeof ask>): Promise<number[]> => {
    const seen: number[] = [];
    for (let n = 0; n < count; n++) seen.push((await ask(...of)).statusCode);
    return seen;
  };
  return { time, metrics, ask, statuses };
}

describe('a limit on requests per time', () => {
  it('OP-228: there is none unless it is set', async () => {
    expect(new Set(await serverWith(0).statuses(100))).toEqual(new Set([200]));
  });

  it('OP-228: beyond it 429, with the seconds to wait; other addresses and health checks are not held up', async () => {
    const { time, metrics, ask, statuses } = serverWith(0.5);
    expect(await statuses(7)).toEqual([200, 200, 200, 200, 200, 429, 429]); // ten seconds' worth at once
    const refused = await ask();
    expect([refused.headers['retry-after'], refused.body]).toEqual(['2', TOO_MANY_REQUESTS]);
    expect(refused.headers['content-type']).toBe('text/plain; charset=utf-8');
    expect(await statuses(1, '10.0.0.2')).toEqual([200]);
    expect(await statuses(20, '10.0.0.1', '/v1/agent/health?type=server')).not.toContain(429);
    time.freeze(2_000);
    expect(await statuses(2)).toEqual([200, 429]);
    expect(await metrics.render()).toMatch(/^waybill_http_requests_refused\{.*\} 4$/m);
  });

  it('OP-228: of more addresses than it can know, the one that was quiet the longest begins afresh', () => {
    const limit = new RequestLimit(0.1, new FakeTime());
    const asks = (n: number): boolean => limit.countRequest(`10.0.${n}`) === 0;
    expect([asks(0), asks(1), asks(0), asks(1)]).toEqual([true, true, false, false]);
    for (let n = 2; n < MAX_ADDRESSES; n++) asks(n);
    expect(asks(0)).toBe(false);
    asks(MAX_ADDRESSES);
    expect([asks(0), asks(1)]).toEqual([false, true]);
  });
});
