import { tracerFor } from '@waybill/telemetry';
import fastify from 'fastify';
import { afterAll, describe, expect, it } from 'vitest';
import { Requester } from './requester.js';
import { traceRequests } from './trace-requests.js';

const server = fastify();
traceRequests(server, () => tracerFor('a service that records nothing'));
server.put<{ Querystring: Record<string, string>; Params: Record<string, string> }>('/v1/jobs', async (request) => {
  await Promise.resolve();
  const { traceparent, reason } = Requester.of(request).draftContext(0);
  return { traceparent: traceparent ?? null, reason };
});
afterAll(() => server.close());

/** What the transaction says that a request with these headers causes. */
async function saidOf(headers: Record<string, string>): Promise<unknown> {
  return (await server.inject({ method: 'PUT', url: '/v1/jobs', headers })).json();
}

describe('a server that records no traces', () => {
  it("API-260: hands the caller's trace on, ignores one that is malformed, and cleans the reason", async () => {
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    expect(await saidOf({ traceparent, 'x-waybill-reason': 'more\u0009important' })).toEqual({
      traceparent,
      reason: 'moreimportant',
    });
    for (const malformed of ['00-4bf92f-00f067aa0ba902b7-01', `${traceparent}-x`, 'ff', ''])
      expect(await saidOf({ traceparent: malformed, 'x-waybill-reason': 'x'.repeat(300) })).toEqual({
        traceparent: null,
        reason: 'x'.repeat(256),
      });
    expect(await saidOf({})).toEqual({ traceparent: null, reason: '' });
  });
});
