import { tracerFor } from '@waybill/telemetry';
import fastify from 'fastify';
import { afterAll, describe, expect, it } from 'vitest';
import { fullAccess } from './request.fixture.js';
import { Requester } from './requester.js';
import { traceRequests } from './trace-requests.js';

const server = fastify();
server.decorateRequest('access', { getter: () => fullAccess });
traceRequests(server, () => tracerFor('a service that records nothing'));
server.put<{ Querystring: Record<string, string>; Params: Record<string, string> }>('/v1/jobs', async (request) => {
  await Promise.resolve();
  const { traceparent, reason } = Requester.of(request).author;
  return { traceparent: traceparent ?? null, reason };
});
afterAll(() => server.close());

/** What the transaction says that a request with these headers causes. */
async function saidOf(headers: Record<string, string>): Promise<unknown> {
  return (await server.inject({ method: 'PUT', url: '/v1/jobs', headers })).json();
}
const A_NEW_TRACE: unknown = expect.stringMatching(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);

describe('a server that records no traces', () => {
  it("API-260, CL-1061: hands the caller's trace on, ignores one that is malformed, and cleans the reason", async () => {
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    expect(await saidOf({ traceparent, 'x-waybill-reason': 'more\u0009important' })).toEqual({
      traceparent,
      reason: 'moreimportant',
    });
    for (const malformed of ['00-4bf92f-00f067aa0ba902b7-01', `${traceparent}-x`, 'ff', ''])
      expect(await saidOf({ traceparent: malformed, 'x-waybill-reason': 'x'.repeat(300) })).toEqual({
        traceparent: A_NEW_TRACE,
        reason: 'x'.repeat(256),
      });
    expect(await saidOf({})).toEqual({ traceparent: A_NEW_TRACE, reason: '' });
  });

  it('API-261, CL-1061: answers every write with the trace that its transactions name, refusals too, and no read', async () => {
    const written = await server.inject({ method: 'PUT', url: '/v1/jobs' });
    const { traceparent } = written.json<{ traceparent: string }>();
    expect(traceparent.split('-')[1]).toBe(written.headers['x-waybill-trace-id']);
    const refused = await server.inject({ method: 'DELETE', url: '/v1/nothing' });
    expect([refused.statusCode, refused.headers['x-waybill-trace-id']]).toEqual([
      404,
      expect.stringMatching(/^[0-9a-f]{32}$/),
    ]);
    const read = await server.inject({ method: 'GET', url: '/v1/nothing' });
    expect(read.headers).not.toHaveProperty('x-waybill-trace-id');
  });
});
